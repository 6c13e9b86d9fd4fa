"""`stepwatch compare`: is HEAD slower than BASE? As much measuring as it takes, within a budget."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwatch.commands.durations import DURATION
from stepwatch.commands.options import bench_option, place_options, seed_option
from stepwatch.commands.percent import PERCENT
from stepwatch.config import load_config
from stepwatch.errors import EXIT_INTERRUPTED, EXIT_REGRESSED, DataError
from stepwatch.model import Outcome
from stepwatch.units import format_duration

if TYPE_CHECKING:
    from stepwatch.commands.comparisons import PreparedComparison
    from stepwatch.measure.comparison import ComparisonSummary
    from stepwatch.measure.job import Job
    from stepwatch.policy import Policy
    from stepwatch.report import Report

_UNDECIDED_SHOWN = 3


@click.command()
@click.argument("baseline", metavar="BASE")
@click.argument("contender", metavar="HEAD")
@bench_option
@click.option("--floor", type=PERCENT, metavar="F",
              help="Only what is proven beyond this is called (0.25%); default: [policy] floor.")  # fmt: skip
@click.option("--min-effect", type=PERCENT, metavar="F",
              help="`unchanged` means proven within this (2%); default: [policy] min_effect.")  # fmt: skip
@click.option("--budget", type=DURATION, metavar="TIME",
              help="How long to measure (90s, 20m, 1h30m); default: [compare] budget.")  # fmt: skip
@click.option("--metric", "metrics", multiple=True, metavar="M", help="Judge this metric; may be repeated.")
@click.option("--fail-on", type=click.Choice([outcome.value for outcome in Outcome]), multiple=True,
              help="Exit 1 if any verdict has this outcome; may be repeated.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), default=Path("report.json"), show_default=True,
              metavar="FILE", help="Where the report goes.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report itself instead of text.")
@click.option("--plant", default="", metavar="W=F",
              help="Self-test: slow workload W of HEAD down by factor F (mlp=1.10).")  # fmt: skip
@place_options
@seed_option
@click.pass_context
def command(  # noqa: PLR0913  one parameter per option
    ctx: click.Context,
    *,
    baseline: str,
    contender: str,
    patterns: tuple[str, ...],
    floor: float | None,
    min_effect: float | None,
    budget: float | None,
    metrics: tuple[str, ...],
    fail_on: tuple[str, ...],
    output: Path,
    as_json: bool,
    accelerator: str | None,
    size: str | None,
    seed: int | None,
    results: Path | None,
    machine: str | None,
    allow_large: bool,
    plant: str,
    turns: bool | None,
) -> None:
    """Is HEAD slower than BASE? Measures pairs until every benchmark is decided, or the budget is spent.

    BASE and HEAD are releases (jax/0.4.31), paths of locks, or commits, branches or tags of this repository,
    each with its own suite and lock. Time goes to what is undecided, the most promising first; a suspected
    regression is tested again on fresh pairs before it is reported. The same command goes on where an earlier
    one stopped.

    \b
    Example:
      stepwatch compare jax/0.4.31 jax/0.4.33 --bench embed --budget 3m
      stepwatch compare main HEAD --budget 20m --fail-on regressed
      stepwatch compare old.lock new.lock --floor 0.25% --min-effect 2%
    """
    from stepwatch.commands.interrupts import stop_as_ctrl_c_does

    stop_as_ctrl_c_does()
    from stepwatch.commands.comparing import watch_comparison
    from stepwatch.commands.comparisons import ComparisonRequest, prepare_comparison, with_margins
    from stepwatch.measure.comparison import run_comparison
    from stepwatch.measure.store import open_store

    config = load_config(Path.cwd())
    policy = with_margins(config.policy, floor=floor, min_effect=min_effect, metrics=metrics)
    store = open_store(config, allow_large=allow_large)
    request = ComparisonRequest(
        baseline=baseline, contender=contender, patterns=patterns, accelerator=accelerator, size=size,
        machine=machine, seed=seed, plant=plant, turns=turns, results=results and results.resolve(),
    )  # fmt: skip
    prepared = prepare_comparison(config, request, policy, store)
    check_ahead(prepared.job, output)
    seconds = config.compare_budget_seconds if budget is None else budget
    with watch_comparison() as progress:
        summary = run_comparison(prepared.job, policy, seconds, store=store, progress=progress)
    report = write_report(prepared, policy, summary, output, as_json=as_json)
    if report is None or summary.stop == "interrupted":
        ctx.exit(EXIT_INTERRUPTED)
    if any(verdict.outcome in fail_on for verdict in report.verdicts):
        ctx.exit(EXIT_REGRESSED)


def check_ahead(job: Job, output: Path) -> None:
    """See, before the budget is spent, that a report can be made and has a place to go.

    Raises:
        MalformedFile, UnsupportedSchema: something that the report is made from cannot be read.
        StorageFailed: `output` is a folder, or none can be made there, or no file.
    """
    from stepwatch.commands.reports import check_readable
    from stepwatch.releases.files import storage_failed

    check_readable(job.results, job.machine)
    try:
        if output.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not output.exists() or output.is_file():  # else a device or a pipe, which is written into
            place = Path(os.path.realpath(output)).parent
            with tempfile.TemporaryFile(dir=next(up for up in (place, *place.parents) if up.exists())):
                pass
    except OSError as error:
        raise storage_failed(output, error) from error


def write_report(
    prepared: PreparedComparison, policy: Policy, summary: ComparisonSummary, output: Path, *, as_json: bool
) -> Report | None:
    """Judge what is on disk, write the report and show it; None: interrupted before there was anything.

    Raises:
        DataError: the budget was too small for anything.
    """
    from stepwatch.commands.reports import Compared, analyse_results, deliver
    from stepwatch.history.campaigns import Comparison

    job = prepared.job
    ended = how_it_ended(summary)
    if not (summary.pairs or summary.pairs_before or summary.failed or summary.broken_environments):
        if summary.stop == "interrupted":
            click.echo(f"nothing was measured: {ended}", err=True)
            return None
        raise DataError(f"nothing was measured: {ended}; give it a larger --budget")
    report = analyse_results(
        job.results,
        machine=job.machine,
        comparison=Comparison(
            baseline=job.comparison.baseline, contender=job.comparison.contender, plant=job.plant
        ),
        policy=policy,
        compared=Compared(budget_seconds=summary.budget_seconds, notes=(*prepared.notes, ended)),
    )
    deliver(report, output, as_json=as_json)
    click.echo(f"{ended}; wrote {output}", err=True)
    return report


def how_it_ended(summary: ComparisonSummary) -> str:
    """`all decided after 34 pairs (6 of them earlier) in 4 min 10 s of 20 min 00 s`."""
    why = {
        "decided": "all that can be is decided",
        "budget": "the budget is spent",
        "interrupted": "interrupted (the same command goes on)",
    }[summary.stop]
    pairs = summary.pairs + summary.pairs_before
    earlier = f" ({summary.pairs_before} of them earlier)" if summary.pairs_before else ""
    time = f"{format_duration(summary.spent_seconds)} of {format_duration(summary.budget_seconds)}"
    said = [f"{why}: {pairs} {'pair' if pairs == 1 else 'pairs'}{earlier}, {time}"]
    undecided = sorted(summary.undecided, key=lambda need: need.expected_seconds)
    if undecided:
        shown = ", ".join(
            f"{need.group} (about {format_duration(need.expected_seconds)} more)"
            for need in undecided[:_UNDECIDED_SHOWN]
        )
        more = len(undecided) - _UNDECIDED_SHOWN
        said.append(f"undecided: {shown}{f' and {more} more' if more > 0 else ''}")
    return "; ".join(said)
