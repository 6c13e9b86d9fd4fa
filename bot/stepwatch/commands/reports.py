"""What `analyse`, `render` and `demo` share: from results to a report, from a file to a report."""

from __future__ import annotations

import dataclasses
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from stepwatch import __version__
from stepwatch.errors import DataError, HistoryNotFound, MalformedFile, UsageError
from stepwatch.history.asv_results import read_machine_results
from stepwatch.history.calibration import read_calibration
from stepwatch.history.campaigns import (
    Comparison,
    find_machine,
    is_release,
    newest_comparison,
    read_campaigns,
    select,
)
from stepwatch.history.traits import read_traits
from stepwatch.policy import judged_metrics
from stepwatch.releases.files import write_atomically
from stepwatch.releases.names import resolve_range, resolve_release
from stepwatch.releases.table import load_tables
from stepwatch.render import render_text
from stepwatch.report import CampaignInfo, Provenance, Report, build_report, decode_report, encode_report
from stepwatch.verdict.calibration import Calibration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stepwatch.config import Config
    from stepwatch.history.campaigns import Selection
    from stepwatch.policy import Policy

_BETWEEN = re.compile(r"\.\.(?=[A-Za-z0-9-]+/)")
"""Between the two ends of a range; the file name of a lock may have two dots of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What `compare` knows of the comparison that it has just measured."""

    budget_seconds: float
    notes: tuple[str, ...]


def parse_comparison(
    spec: str | None, *, a_a: str | None, plant: str = "", config: Config
) -> Comparison | None:
    """What the command line asks for; None: nothing, so the newest comparison is meant.

    Raises:
        UsageError: both a range and `--a-a`; `--plant` without either; an unknown release, a range across
            tracks or backward.
    """
    if spec and a_a:
        raise UsageError(f"give either {spec} or --a-a {a_a}, not both")
    if plant and not a_a and ".." not in (spec or ""):
        raise UsageError(f"--plant {plant} needs the pair it was planted into: a range A..B or --a-a RELEASE")
    if found := _as_results_say(spec, a_a, plant):
        return found
    tables = load_tables(config.releases, [track.package for track in config.tracks])
    if a_a:
        name = resolve_release(a_a, tables).name
        return Comparison(baseline=name, contender=name, plant=plant)
    if not spec:
        return None
    if ".." in spec:
        ends = resolve_range(spec, tables)
        return Comparison(baseline=ends.after.name, contender=ends.through.name, plant=plant)
    return Comparison(baseline=None, contender=resolve_release(spec, tables).name)


def _as_results_say(spec: str | None, a_a: str | None, plant: str) -> Comparison | None:
    """A comparison with a commit or a lock, by the names that results, and errors about them, call them."""
    ends = [a_a, a_a] if a_a else _BETWEEN.split(spec or "", maxsplit=1)
    if len(ends) < 2 or all(end is None or is_release(end) for end in ends):
        return None
    return Comparison(baseline=ends[0], contender=ends[1] or "", plant=plant)


def analyse_results(  # noqa: PLR0913  each is one fact of what is judged, named at the call
    results: Path,
    *,
    machine: str | None,
    comparison: Comparison | None,
    policy: Policy,
    metrics: Sequence[str] = (),
    compared: Compared | None = None,
) -> Report:
    """Judge what lies under `results`.

    Args:
        results: asv's results folder.
        machine: whose sessions; None: the only machine there.
        comparison: what to judge; None: the newest pair campaign.
        policy: margins, error rate and judged metrics.
        metrics: judge these instead of the policy's; empty: the policy's.
        compared: `compare` measured it, so a regression counts only when fresh pairs confirm it.

    Raises:
        HistoryNotFound: nothing was measured here.
        MalformedFile, UnsupportedSchema: a result file or a sidecar cannot be read; names it.
        DataError: no session, or no judged metric, for this comparison.
    """
    if metrics:
        policy = msgspec.structs.replace(policy, metrics=tuple(metrics))
    name = find_machine(results, machine)
    sidecars = read_campaigns(results, name)
    # Read before anything is judged: a truncated file must stop the analysis, not the next `asv publish`.
    read_machine_results(results, name)
    selection = select(sidecars, comparison or newest_comparison(sidecars), read_traits(results))
    evidence = dataclasses.replace(selection.evidence, must_confirm=compared is not None)
    provenance = _provenance(selection, name, compared)
    report = build_report(evidence, policy, provenance, load_calibration(results, name))
    if report.baseline is not None and not report.verdicts:
        judged = ", ".join(judged_metrics(policy, selection.accelerator))
        raise DataError(
            f"{selection.comparison.spec}: no session measured {judged} (measured: {_measured(selection)})"
        )
    return report


def check_readable(results: Path, machine: str) -> None:
    """See that a report of this machine can be made, before hours are spent on measuring for one.

    Raises:
        MalformedFile, UnsupportedSchema: a result file, or what was calibrated, cannot be read; names it.
    """
    read_machine_results(results, machine)
    read_calibration(results, machine)


def deliver(report: Report, output: Path, *, as_json: bool) -> None:
    """Write the report to `output`, and print it: as itself, or as text.

    Raises:
        StorageFailed: it cannot be written.
    """
    data = encode_report(report)
    write_atomically(output, data)
    if as_json:
        click.echo(data, nl=False)
    else:
        click.echo(render_text(report, width=shutil.get_terminal_size().columns), nl=False)


def load_report(path: Path) -> Report:
    """Read a report from a file that need not be trusted.

    Raises:
        HistoryNotFound: no such file.
        MalformedFile, UnsupportedSchema: not a report of this schema.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise HistoryNotFound(path, "make a report with `stepwatch analyse`") from error
    except OSError as error:
        raise MalformedFile(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    return decode_report(data, str(path))


def load_calibration(results: Path, machine: str) -> Calibration:
    """What was calibrated on a machine, to be asked now; empty where nothing was.

    Raises:
        MalformedFile, UnsupportedSchema: the calibrations cannot be read.
    """
    return Calibration(records=read_calibration(results, machine), now=datetime.now(UTC).timestamp())


def _provenance(selection: Selection, machine: str, compared: Compared | None) -> Provenance:
    return Provenance(
        machine=machine,
        campaigns=[
            CampaignInfo(
                name=sidecar.header.campaign, seed=sidecar.header.seed, sessions=len(sidecar.sessions)
            )
            for sidecar in selection.campaigns
        ],
        notes=(*(compared.notes if compared else ()), *selection.notes),
        budget_seconds=compared.budget_seconds if compared else None,
        stepwatch_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _measured(selection: Selection) -> str:
    found = {metric for session in selection.evidence.sessions for metric in session.record.metrics}
    return ", ".join(sorted(found)) or "nothing"
