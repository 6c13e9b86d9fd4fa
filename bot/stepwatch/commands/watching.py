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
    Noted,
    PairJudged,
    PairStarted,
    SessionFailed,
    SessionFinished,
    SessionStarted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stepwatch.measure.campaign import PlannedSession
    from stepwatch.measure.events import Progress


@contextlib.contextmanager
def watch() -> Iterator[Progress]:
    """A watcher for `run_campaign`, writing to stderr: quiet lines in CI, a bar on a terminal."""
    if not sys.stderr.isatty():
        yield _lines(lambda line: click.echo(line, err=True))
        return
    from stepwatch.commands.progress_bar import show_bar

    with show_bar(describe) as progress:
        yield progress


def _lines(write: Callable[[str], None]) -> Progress:
    def show(event: Event) -> None:
        line = describe(event)
        if line:
            write(line)

    return show


def describe(event: Event) -> str:
    """One line about an event; "" for one that is only of interest while it lasts."""
    line = ""
    match event:
        case Noted(text=text):
            line = f"note: {text}"
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
        case EnvironmentStarted() | SessionStarted() | PairStarted() | PairJudged():
            pass
    return line


def label(session: PlannedSession) -> str:
    """`mlp.bench.JaxJit on jax/0.4.31, round 3 (baseline)`."""
    key = session.key
    return f"{key.benchmark} on {key.release}, round {key.round + 1} ({key.side})"
