"""Progress of work that is counted: a bar on a terminal, elsewhere a line now and then, none while quick."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Show = Callable[[str, int, int | None], None]
    """What is counted, how many are done, and of how many (None: not known)."""

_QUIET_SECONDS = 20.0
"""Between two lines where there is no terminal."""


@contextlib.contextmanager
def count_on_stderr() -> Iterator[Show]:
    """Something to call with every bit of progress."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(bar_width=12),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, total: bar.update(
            task, completed=done, total=total, description=_count(what, done, total)
        )


def _lines() -> Show:
    told = time.monotonic()

    def show(what: str, done: int, total: int | None) -> None:
        nonlocal told
        if time.monotonic() - told >= _QUIET_SECONDS:
            told = time.monotonic()
            click.echo(_count(what, done, total), err=True)

    return show


def _count(what: str, done: int, total: int | None) -> str:
    return f"{done:,} {what}" if total is None else f"{done:,} of {total:,} {what}"
