"""The bar of a running campaign on a terminal: how much is done, the time left, what runs now."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

from stepwatch.measure.campaign import workload_of
from stepwatch.measure.events import EnvironmentStarted, Event, SessionFinished, SessionStarted
from stepwatch.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Task, TaskID

    from stepwatch.measure.campaign import PlannedSession
    from stepwatch.measure.events import Progress as Watcher


class _Left(ProgressColumn):
    """The estimate of the last session's start, ticking down; empty while environments are built."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        until = task.fields["until"]
        if until is None:
            return Text()
        left = format_duration(until - time.monotonic())
        return Text(f"{task.completed:.0f}/{task.total:.0f} {left} left")


def new_bar(console: Console) -> tuple[Progress, TaskID]:
    """A bar on `console`, and its one task: a whole run."""
    one_line = Column(no_wrap=True, overflow="ellipsis")
    left, what = _Left(one_line), TextColumn("{task.description}", table_column=one_line)
    bar = Progress(BarColumn(bar_width=12), left, what, console=console, transient=True)
    return bar, bar.add_task("starting", total=None, until=None)


@contextlib.contextmanager
def show_bar(describe: Callable[[Event], str]) -> Iterator[Watcher]:
    """A watcher that draws on stderr; `describe` gives the lines that stay above the bar."""
    bar, task = new_bar(Console(stderr=True))
    with bar:
        yield watcher(bar, task, describe)


def watcher(bar: Progress, task: TaskID, describe: Callable[[Event], str]) -> Watcher:
    """What brings the bar up to date with each event."""

    def show(event: Event) -> None:
        match event:
            case EnvironmentStarted(release=release):
                bar.update(task, description=f"environment of {release}")
            case SessionStarted(session=session, number=number, total=total, seconds_left=left):
                until = time.monotonic() + left
                bar.update(
                    task, completed=number - 1, total=total, until=until, description=short_label(session)
                )
            case SessionFinished(number=number, total=total):
                bar.update(task, completed=number, total=total)
            case _:
                line = describe(event)
                if line:
                    bar.console.print(line, markup=False, highlight=False)

    return show


def short_label(session: PlannedSession) -> str:
    """`mlp JaxJit jax/0.4.31`: what fits beside the time left in 80 columns."""
    group = session.key.benchmark
    return f"{workload_of(group)} {group.rpartition('.')[2]} {session.key.release}"
