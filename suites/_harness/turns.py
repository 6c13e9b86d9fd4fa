"""Taking turns with the other session of a pair, so that both meet the same machine.

On a shared machine the speed of a core wanders by 10-30 % within seconds. Two sessions one after the other
meet different speeds; two sessions that take turns every few steps meet the same. Each is still a process of
its own, and only the one whose turn it is runs: the other waits, blocked, for a byte in a pipe.

The one that is to start has the first turn. It keeps it until it is warm, gives it to the other, which starts
up in its turn; from then on they switch after every slice of timed steps. A session whose partner has ended,
well or badly, is alone: it goes on without waiting. One that takes no more turns says so by a last byte; for
one that was killed, whoever started both says it. (The end of the file would not do: a daemon that a session
left behind may hold the pipe open.)
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field

_TURN = b"."
_GONE = b"x"


@dataclass(slots=True)
class Turns:
    """One side of the exchange."""

    pipes: tuple[int, int] | None = None
    """File descriptors: where the turn comes from, where it goes. None: there is no partner."""
    waited: float = field(default=0.0, init=False)
    """Seconds spent waiting so far."""
    taken: int = field(default=0, init=False)
    """How often the partner gave a turn."""

    def take(self) -> None:
        """Wait until it is this session's turn."""
        if self.pipes is None:
            return
        started = time.perf_counter()
        if os.read(self.pipes[0], 1) == _TURN:
            self.taken += 1
        else:
            self.leave()
        self.waited += time.perf_counter() - started

    def switch(self) -> None:
        """Let the partner run, and wait for the next turn."""
        if self.pipes is None:
            return
        try:
            os.write(self.pipes[1], _TURN)
        except BrokenPipeError:
            self.leave()
        self.take()

    def leave(self) -> None:
        """Take no turns any more; the partner goes on alone."""
        if self.pipes is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self.pipes[1], _GONE)
            for pipe in self.pipes:
                os.close(pipe)
            self.pipes = None
