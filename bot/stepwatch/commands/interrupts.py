"""Ending early without losing anything: who asks us to stop is answered as Ctrl-C is."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_OUTPUTS = (1, 2)


def stop_as_ctrl_c_does() -> None:
    """Let a service manager's SIGTERM and a closed terminal's SIGHUP do what Ctrl-C does, and that surely.

    The running session is ended and the rest is safe. Call it before anything slow. What the caller has us
    ignore (`nohup`) stays ignored.
    """
    from stepwatch.measure.stopping import ask_to_stop

    for number, handler in (
        (signal.SIGINT, ask_to_stop),
        (signal.SIGTERM, ask_to_stop),
        (signal.SIGHUP, _hung_up),
    ):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _hung_up(number: int, frame: FrameType | None) -> None:
    """Stop; what would be said to a terminal that is gone (writing there fails) is said to nobody."""
    for output in _OUTPUTS:
        try:
            os.write(output, b"")
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, output)
            os.close(nowhere)
    from stepwatch.measure.stopping import ask_to_stop

    ask_to_stop(number, frame)
