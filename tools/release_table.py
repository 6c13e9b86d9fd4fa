"""Which JAX release made which step or probe slower? Writes docs/reference/jax-releases.md from real runs.

Runs `stepwatch compare` on neighbouring releases, as a user would, and puts the ratios of all reports into
one table. A run that was stopped goes on where it was, and a larger budget adds to what is there:

    .venv/bin/python tools/release_table.py run --budget 15m
    .venv/bin/python tools/release_table.py page
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.commands.reports import load_report
from stepwatch.model import Outcome
from stepwatch.units import format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.report import Report
    from stepwatch.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".stepwatch/release-table"
PAGE = ROOT / "docs/reference/jax-releases.md"
VERSIONS = ("0.4.31", "0.4.33", "0.5.3", "0.6.2", "0.7.0", "0.7.1", "0.7.2", "0.12.0.1")
METRICS = {
    "step_cpu": "A step or a probe, processor time",
    "compile_cold": "Compiling, processor time",
    "temp_bytes": "Temporary memory of the compiled program",
}
CALLED = (Outcome.REGRESSED, Outcome.IMPROVED)


def run(budget: str, only: Sequence[str]) -> None:
    """Measure every pair of neighbours, or those whose later version is in `only`."""
    for old, new in pairwise(VERSIONS):
        if only and new not in only:
            continue
        command = [
            *(sys.executable, "-m", "stepwatch", "compare", f"jax/{old}", f"jax/{new}"),
            *("--budget", budget, "--output", report_path(new), "--machine", "release-table"),
            *("--results", FOLDER / "results"),
        ]
        FOLDER.mkdir(parents=True, exist_ok=True)
        sys.stderr.write(f"jax/{old} -> jax/{new}\n")
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            sys.exit(f"release table: stepwatch compare ended with {done.returncode}")


def report_path(version: str) -> Path:
    """Where the report of `version` against its predecessor lies."""
    return FOLDER / f"{version}.json"


def page() -> str:
    """The page, from the reports on disk."""
    reports = {new: load_report(report_path(new)) for new in VERSIONS[1:] if report_path(new).exists()}
    sessions = sum(campaign.sessions for report in reports.values() for campaign in report.campaigns)
    first = next(iter(reports.values()))
    head = HEAD.format(
        machine=first.machine.device.get("kind", "unknown"),
        sessions=sessions,
        date=first.created_at[:10],
        alpha=f"{100 * (1 - first.policy.alpha):g} %",
    )
    blocks = [head, *(f"## {title}\n\n{table(reports, metric)}" for metric, title in METRICS.items())]
    return "\n\n".join(blocks) + "\n"


def table(reports: dict[str, Report], metric: str) -> str:
    """One row per benchmark, one column per release: its ratio to the release before."""
    cells = {new: {row.benchmark: row for row in rows(report, metric)} for new, report in reports.items()}
    names = sorted({name for column in cells.values() for name in column})
    lines = [
        f"| | {VERSIONS[0]} | {' | '.join(reports)} |",
        f"|---|--:|{'--:|' * len(reports)}",
    ]
    for name in names:
        first = cells[next(iter(reports))].get(name)
        start = "" if first is None else format_value(first.baseline.value, first.unit)
        row = [show(column.get(name)) for column in cells.values()]
        lines.append(f"| {short(name)} | {start} | {' | '.join(row)} |")
    return "\n".join(lines)


def rows(report: Report, metric: str) -> list[Verdict]:
    """The verdicts of one metric."""
    return [verdict for verdict in report.verdicts if verdict.metric == metric]


def short(benchmark: str) -> str:
    """`mlp.bench.JaxJit.track_step_cpu` -> `mlp`; a probe keeps the name of a class that is not JaxJit."""
    parts = re.sub(r"\.track_\w+$", "", benchmark).split(".")
    return " ".join(part for part in parts if part not in {"bench", "probes", "JaxJit"})


def show(verdict: Verdict | None) -> str:
    """One cell: ratio and interval, bold where a change was called and confirmed."""
    if verdict is None or verdict.ratio is None:
        return "" if verdict is None else verdict.outcome
    text = factor(verdict.ratio)
    if verdict.ratio_low is not None and verdict.ratio_high is not None and verdict.method != "exact":
        text += f" ({factor(verdict.ratio_low)}-{factor(verdict.ratio_high)})"
    return f"**{text}**" if verdict.outcome in CALLED else text


def factor(ratio: float) -> str:
    """Three significant digits, and never 1.00 for what is not."""
    return f"{ratio:.3f}" if abs(ratio - 1) < 0.1 else f"{ratio:.3g}"


HEAD = """# JAX releases, measured

Written by `tools/release_table.py` from real runs of `stepwatch compare` on neighbouring releases: {sessions}
sessions in fresh processes, {date}, CPU ({machine}), size cpu-smoke, committed locks. Each cell is the ratio
of a release to the one before it in the table (above 1: slower, or more memory), with its {alpha} confidence
sequence. **Bold**: called at a false discovery rate of 5 % within that comparison, a regression confirmed on
fresh pairs. The first column is the value at the first release."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("run", help="measure")
    measuring.add_argument("--budget", default="15m", help="for each pair of neighbours")
    measuring.add_argument("--only", action="append", default=[], choices=VERSIONS[1:], help="later version")
    commands.add_parser("page", help="write the page")
    options = parser.parse_args()
    if options.command == "run":
        run(options.budget, options.only)
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
