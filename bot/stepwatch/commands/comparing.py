"""Watching a comparison: a board on a terminal, one line per pair elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from stepwatch.commands.comparison_board import estimate, outcome, show_board
from stepwatch.commands.watching import describe
from stepwatch.errors import printable
from stepwatch.measure.events import PairJudged, PairStarted
from stepwatch.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stepwatch.measure.events import Event, Progress
    from stepwatch.verdict import Verdict


@contextlib.contextmanager
def watch_comparison() -> Iterator[Progress]:
    """A watcher for `run_comparison`, writing to stderr."""
    if not sys.stderr.isatty():
        yield lines(lambda line: click.echo(printable(line), err=True))
        return
    with show_board(describe) as progress:
        yield progress


def lines(write: Callable[[str], None]) -> Progress:
    """A watcher that writes a line after each pair, with the verdicts of its benchmark so far."""
    running: PairStarted | None = None

    def show(event: Event) -> None:
        nonlocal running
        if isinstance(event, PairStarted):
            running = event
        elif isinstance(event, PairJudged):
            if running is not None:
                write(describe_pair(running, event))
            running = None
        elif line := describe(event):
            write(line)

    return show


def describe_pair(pair: PairStarted, judged: PairJudged) -> str:
    """`[1 min 20 s of 20 min 00 s] mlp.bench.JaxJit pair 6: step_cpu unchanged …; 3 of 12 … undecided`."""
    clock = f"{format_duration(judged.spent_seconds)} of {format_duration(judged.budget_seconds)}"
    stage = " (fresh, to confirm)" if pair.stage == "confirm" else ""
    rows = [row for row in judged.rows if row.benchmark.rpartition(".track_")[0] == pair.group]
    said = ", ".join(map(_word, rows)) or "nothing judged"
    undecided = f"{len(judged.undecided)} of {len(judged.groups)} benchmarks undecided"
    return f"[{clock}] {pair.group} pair {pair.number}{stage}: {said}; {undecided}"


def _word(row: Verdict) -> str:
    return f"{row.metric} {outcome(row)} {estimate(row)}"
