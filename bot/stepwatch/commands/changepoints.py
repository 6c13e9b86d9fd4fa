"""`stepwatch changepoints`: where did the series of any history change level?"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwatch.errors import EXIT_REGRESSED

if TYPE_CHECKING:
    from stepwatch.verdict.changes import SeriesChanges

FORMATS = ("csv", "jsonl", "pytest-benchmark", "google-benchmark", "asv")
FAIL_ON = ("worse", "better", "drift", "too-short")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), help="What FILE is; default: found out by its content."
)
@click.option(
    "--better",
    type=click.Choice(["lower", "higher"]),
    default="lower",
    show_default=True,
    help="The direction of series that name none.",
)
@click.option("--bench", metavar="RE", help="Only series whose name this regular expression finds.")
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A stepwatch.toml; its [history] table. Default: the one in this folder, if any.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), multiple=True, help="Exit 1 if there is one; may be repeated."
)
@click.option(
    "--executor",
    metavar="WHERE",
    help="serial, processes[:N] or dask://HOST:PORT; default: processes where they pay.",
)
@click.option("--no-cache", is_flag=True, help="Read and detect everything again (asv directories).")
@click.pass_context
def command(  # noqa: PLR0913  one parameter per option
    ctx: click.Context,
    *,
    files: tuple[str, ...],
    kind: str | None,
    better: str,
    bench: str | None,
    policy: Path | None,
    as_json: bool,
    fail_on: tuple[str, ...],
    executor: str | None,
    no_cache: bool,
) -> None:
    """Find where the series of a history changed level.

    FILE is a CSV with the columns series,revision,value (optional: samples, direction, unit), the same as
    JSON Lines, an asv results directory, or the JSON files or folders of pytest-benchmark or Google
    Benchmark; `-` is the standard input. The order of the file, or the date of a run, is the order of time.

    \b
    Example:
      stepwatch changepoints history.csv
      stepwatch changepoints results --bench time_ --fail-on worse
      stepwatch changepoints .benchmarks --json
    """
    from stepwatch.commands.histories import Request, detect_history
    from stepwatch.history.executors import parse_executor
    from stepwatch.render.changes_text import render_changes
    from stepwatch.verdict.changes import changes_as_json

    request = Request(
        files=files,
        kind=kind,
        better=better,
        bench=bench,
        policy=policy,
        executor=parse_executor(executor),
        use_cache=not no_cache,
    )
    judged, notes = detect_history(request)
    if as_json:
        click.echo(changes_as_json(judged, notes))
    else:
        click.echo(render_changes(judged, notes, width=shutil.get_terminal_size().columns), nl=False)
    if any(_is_in(series, reason) for series in judged for reason in fail_on):
        ctx.exit(EXIT_REGRESSED)


def _is_in(series: SeriesChanges, reason: str) -> bool:
    """Whether a series is one that `--fail-on` names."""
    match reason:
        case "drift":
            return series.drift is not None
        case "too-short":
            return series.too_short
        case _:
            return any(change.direction == reason for change in series.changes)
