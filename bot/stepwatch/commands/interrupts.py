"""Ending early without losing anything: who asks us to stop is answered as Ctrl-C is."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_OUTPUTS = (1, 2)


def stop_as_ctrl_c_does() -> None:
    """Let a service manager's SIGTERM and a closed terminal's SIGHUP raise KeyboardInterrupt.

    The running session is ended and the rest is safe. Call it before anything slow. What the caller has us
    ignore (`nohup`) stays ignored.
    """
    for number, handler in ((signal.SIGTERM, signal.default_int_handler), (signal.SIGHUP, _hung_up)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _hung_up(number: int, frame: FrameType | None) -> NoReturn:
    """Stop; what would be said to a terminal that is gone (writing there fails) is said to nobody."""
    for output in _OUTPUTS:
        try:
            os.write(output, b"")
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, output)
            os.close(nowhere)
    signal.default_int_handler(number, frame)
