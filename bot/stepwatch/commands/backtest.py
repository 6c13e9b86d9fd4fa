"""`stepwatch backtest`: which alerts a history would have raised, before the bot may speak."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import click


@click.command()
@click.option(
    "--results",
    type=click.Path(),
    required=True,
    metavar="DIR",
    help="A results directory of asv, of any project.",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A stepwatch.toml; its [policy] and [history] tables. Default: the one in this folder, if any.",
)
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Only alerts from this day on; what older points show is known then.",
)
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Forget all points after this day.",
)
@click.option("--bench", metavar="RE", help="Only series whose name this regular expression finds.")
@click.option(
    "--step",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Look after every N-th point only: faster, and alerts come later.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--executor",
    metavar="WHERE",
    help="serial, processes[:N] or dask://HOST:PORT; default: processes where they pay.",
)
@click.option("--no-cache", is_flag=True, help="Read and replay everything again.")
def command(  # noqa: PLR0913  one parameter per option
    *,
    results: str,
    policy: Path | None,
    since: datetime | None,
    until: datetime | None,
    bench: str | None,
    step: int,
    as_json: bool,
    executor: str | None,
    no_cache: bool,
) -> None:
    """Replay a history in time order: which alerts would have been raised, when, how many points late.

    After every point the detector sees the points so far and no later one. Use it to choose the minimal
    effect and the least number of points of your policy: how many alerts a month, how many of them
    recovered, and how many do not hold once all data are there.

    \b
    Example:
      stepwatch backtest --results results
      stepwatch backtest --results results --policy stricter.toml --since 2026-01-01
    """
    from stepwatch.commands.histories import Request
    from stepwatch.commands.replays import Window, backtest_history
    from stepwatch.history.executors import parse_executor
    from stepwatch.render.backtest_text import render_backtest
    from stepwatch.verdict.backtest import backtest_as_json

    request = Request(
        files=(results,),
        kind="asv",
        better="lower",
        bench=bench,
        policy=policy,
        executor=parse_executor(executor),
        use_cache=not no_cache,
    )
    window = Window(since=_seconds(since), until=_seconds(until), step=step)
    alerts, totals, notes = backtest_history(request, window)
    if as_json:
        click.echo(backtest_as_json(alerts, totals, notes))
    else:
        width = shutil.get_terminal_size().columns
        click.echo(render_backtest(alerts, totals, notes, width=width), nl=False)


def _seconds(day: datetime | None) -> float | None:
    """The first moment of a day (UTC) as Unix time."""
    return None if day is None else day.replace(tzinfo=UTC).timestamp()
