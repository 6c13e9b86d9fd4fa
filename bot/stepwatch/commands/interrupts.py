"""Ending early without losing anything: who asks us to stop is answered as Ctrl-C is."""

from __future__ import annotations

import signal

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)


def stop_as_ctrl_c_does() -> None:
    """Let a service manager's SIGTERM and a closed terminal's SIGHUP raise KeyboardInterrupt.

    The running session is ended and the rest is safe. Call it before anything slow. What the caller has us
    ignore (`nohup`) stays ignored.
    """
    for number in _ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
