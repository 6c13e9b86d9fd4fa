"""`stepwatch calibrate`: what this machine can detect, and how often it cries wolf."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwatch.commands.durations import DURATION
from stepwatch.commands.options import bench_option, place_options
from stepwatch.config import load_config
from stepwatch.errors import EXIT_INTERRUPTED, DataError, UsageError

if TYPE_CHECKING:
    from stepwatch.config import Config
    from stepwatch.measure.job import Job, Summary
    from stepwatch.verdict.calibration import CalibrationRecord


@click.command()
@click.argument("subject", metavar="[RELEASE]", required=False)
@bench_option
@click.option("--pairs", type=click.IntRange(1, 10_000), default=16, show_default=True, metavar="N",
              help="A/A pairs per benchmark; six are the fewest that say anything.")  # fmt: skip
@click.option("--budget", type=DURATION, metavar="TIME",
              help="Of the comparison whose MDE is wanted (20m); default: [compare] budget.")  # fmt: skip
@click.option("--fresh", is_flag=True, help="Begin anew, whatever an earlier calibration measured.")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would run and how long; start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@place_options
def command(  # noqa: PLR0913  one parameter per option
    *,
    subject: str | None,
    pairs: int,
    patterns: tuple[str, ...],
    budget: float | None,
    fresh: bool,
    only_plan: bool,
    accelerator: str | None,
    size: str | None,
    results: Path | None,
    machine: str | None,
    allow_large: bool,
    turns: bool | None,
    as_json: bool,
) -> None:
    """Measure a release against itself: what this machine detects, and how often it cries wolf.

    RELEASE is one (jax/0.4.33), the path of a lock, or a commit; it defaults to the newest release compared
    here, else the newest with a lock. Per benchmark: the noise within and between sessions, the rate of
    false alarms, and the smallest change that a comparison of the given budget detects. Every later report
    on this machine prints the last two beside its verdicts. Interrupted, the same command goes on; with other
    margins or another --budget it measures nothing anew.

    \b
    Example:
      stepwatch calibrate
      stepwatch calibrate jax/0.4.33 --bench embed --pairs 24 --budget 10m
    """
    from stepwatch.commands.comparisons import ComparisonRequest, prepare_comparison
    from stepwatch.commands.interrupts import stop_as_ctrl_c_does
    from stepwatch.commands.watching import watch
    from stepwatch.measure.calibration import calibration_job
    from stepwatch.measure.driver import run_campaign
    from stepwatch.measure.forecast import forecast
    from stepwatch.measure.store import open_store

    stop_as_ctrl_c_does()
    config = load_config(Path.cwd())
    environments = open_store(config, allow_large=allow_large)
    name = subject or _default_release(config, accelerator, size, results=results, machine=machine)
    request = ComparisonRequest(
        baseline=name, contender=name, patterns=patterns, accelerator=accelerator, size=size, machine=machine,
        turns=turns, results=results and results.resolve(),
    )  # fmt: skip
    job = prepare_comparison(config, request, config.policy, environments).job
    job = calibration_job(job, pairs=pairs, now=time.time(), fresh=fresh)
    if only_plan:
        plan = forecast(job, environments)
        click.echo(f"{plan.sessions} sessions, about {plan.seconds / 60:.1f} minutes")
        return
    with watch() as progress:
        summary = run_campaign(job, store=environments, progress=progress)
    if summary.interrupted:
        safe = summary.finished_before + summary.finished
        where = f"{safe} of {summary.planned} sessions are in {summary.sidecar}"
        click.echo(f"interrupted: {where}; the same command goes on", err=True)
        raise SystemExit(EXIT_INTERRUPTED)
    _conclude(job, summary, config, budget or config.compare_budget_seconds, as_json=as_json)


def _default_release(
    config: Config, accelerator: str | None, size: str | None, *, results: Path | None, machine: str | None
) -> str:
    """What is measured where nothing is named: the newest release compared here, else the newest with a lock.

    Raises:
        UsageError: no release has a lock.
        MalformedFile: a table or a sidecar cannot be read.
    """
    from stepwatch.commands.campaigns import default_machine
    from stepwatch.history.calibration import is_calibration
    from stepwatch.history.sidecar import find_sidecars, read_sidecar
    from stepwatch.measure.campaign import default_size
    from stepwatch.releases.locks import lock_path
    from stepwatch.releases.table import load_tables

    accelerator = accelerator or config.accelerator
    machine = machine or config.machine or default_machine(accelerator, size or default_size(accelerator))
    tables = load_tables(config.releases, [track.package for track in config.tracks])
    locked = {
        release.name: release
        for releases in tables.values()
        for release in releases
        if lock_path(config.locks, accelerator, release).exists()
    }
    if not locked:
        raise UsageError(
            f"no release has a lock for {accelerator}: run `stepwatch releases sync`, or name a release"
        )
    headers = [read_sidecar(path).header for path in find_sidecars(results or config.results, machine)]
    compared = [header for header in headers if header.baseline and header.contender in locked]
    if compared:
        newest = max(compared, key=lambda header: (not is_calibration(header.campaign), header.created_at))
        return str(newest.contender)
    return max(locked.values(), key=lambda release: release.date).name


def _conclude(job: Job, summary: Summary, config: Config, budget_seconds: float, *, as_json: bool) -> None:
    """Find the figures, store and show them.

    Raises:
        DataError: something that was planned could not be measured; what could be is stored.
    """
    import msgspec

    from stepwatch.history.calibration import calibration_path
    from stepwatch.history.campaigns import Comparison, select
    from stepwatch.history.credibility import credible
    from stepwatch.history.sidecar import read_sidecar
    from stepwatch.history.traits import read_traits
    from stepwatch.measure.calibration import calibrate, of_groups, store
    from stepwatch.render import render_calibration
    from stepwatch.verdict.rule import decision_rule

    name = job.comparison.contender
    selection = select(
        credible([read_sidecar(summary.sidecar)]),
        Comparison(baseline=name, contender=name),
        read_traits(job.results),
    )
    found: list[CalibrationRecord] = []
    for record in calibrate(
        of_groups(selection.evidence, job.groups),
        config.policy,
        lambda family: decision_rule(config.policy, family=family),
        machine=job.machine,
        budget_seconds=budget_seconds,
    ):
        store(job.results, job.machine, record)
        found.append(record)
        if not as_json:
            click.echo(render_calibration(record, width=shutil.get_terminal_size().columns))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    missing = [*summary.broken_environments.values()]
    if summary.failed:
        missing.append(f"{summary.failed} sessions failed")
    where = calibration_path(job.results, job.machine)
    if missing or not found:
        raise DataError(
            f"not everything could be measured: {'; '.join(missing) or 'no complete pair'} "
            f"({len(found)} rows are in {where})"
        )
    click.echo(f"calibrated: {len(found)} rows are in {where}; reports show them from now on", err=True)
