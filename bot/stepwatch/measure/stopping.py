"""Being asked to stop, in a way that neither gets lost nor breaks anything.

Python raises KeyboardInterrupt wherever it happens to be, and throws it away, with a traceback, in a few
places of its own: what runs around a fork, what frees an object. Sessions are started by forking, so now and
then a Ctrl-C would do nothing. Here it waits until the fork is over, and whoever waits for a session asks for
one that got lost all the same.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@dataclass(slots=True)
class _State:
    """Signals belong to the process, so there is one of these."""

    asked: bool = False
    held: bool = False


_STATE = _State()


def ask_to_stop(number: int, frame: FrameType | None) -> None:
    """A signal handler: raise KeyboardInterrupt, now or when it is not held back any more."""
    del number, frame
    _STATE.asked = True
    if not _STATE.held:
        raise KeyboardInterrupt


def stop_if_asked() -> None:
    """Raise the KeyboardInterrupt that was held back or got lost, once."""
    if _STATE.asked:
        _STATE.asked = False
        raise KeyboardInterrupt


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Let no KeyboardInterrupt into the block; it comes right after it."""
    _STATE.held = True
    try:
        yield
    finally:
        _STATE.held = False
    stop_if_asked()
