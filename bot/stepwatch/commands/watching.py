"""Showing a running campaign: a progress bar on a terminal, one line per event elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from stepwatch.measure.events import (
    EnvironmentBroken,
    EnvironmentReady,
    EnvironmentStarted,
    Event,
    GroupClosed,
    SessionFailed,
    SessionFinished,
    SessionStarted,
)
from stepwatch.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from stepwatch.measure.campaign import PlannedSession
    from stepwatch.measure.events import Progress


@contextlib.contextmanager
def watch() -> Iterator[Progress]:
    """A watcher for `run_campaign`, writing to stderr: quiet lines in CI, a bar on a terminal."""
    if not sys.stderr.isatty():
        yield _lines(lambda line: click.echo(line, err=True))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _bar(bar, bar.add_task("starting", total=None))


def _lines(write: Callable[[str], None]) -> Progress:
    def show(event: Event) -> None:
        line = describe(event)
        if line:
            write(line)

    return show


def _bar(bar: Bar, task: TaskID) -> Progress:
    def show(event: Event) -> None:
        match event:
            case EnvironmentStarted(release=release):
                bar.update(task, description=f"environment of {release}")
            case SessionStarted(session=session, number=number, total=total, seconds_left=left):
                text = f"{label(session)}  {format_duration(left)} left"
                bar.update(task, completed=number - 1, total=total, description=text)
            case SessionFinished(number=number, total=total):
                bar.update(task, completed=number, total=total)
            case _:
                line = describe(event)
                if line:
                    bar.console.print(line, markup=False, highlight=False)

    return show


def describe(event: Event) -> str:
    """One line about an event; "" for one that is only of interest while it lasts."""
    line = ""
    match event:
        case EnvironmentReady(release=release, source=source, built_seconds=seconds):
            made = "is there" if seconds is None else f"built in {seconds:.1f} s"
            line = f"{release}: environment {made} ({source})"
        case EnvironmentBroken(reason=reason):
            line = f"no environment: {reason}"
        case SessionFinished(session=session, number=number, total=total, seconds=seconds):
            line = f"[{number}/{total}] {label(session)}: {seconds:.1f} s"
        case SessionFailed(session=session, reason=reason, retry=retry):
            line = f"{label(session)}: failed{', trying again' if retry else ''}: {reason}"
        case GroupClosed(benchmark=benchmark, release=release, reason=reason):
            line = f"{benchmark} on {release}: not measured any more: {reason}"
        case EnvironmentStarted() | SessionStarted():
            pass
    return line


def label(session: PlannedSession) -> str:
    """`mlp.bench.JaxJit on jax/0.4.31, round 3 (baseline)`."""
    key = session.key
    return f"{key.benchmark} on {key.release}, round {key.round + 1} ({key.side})"
