"""The steady state: how many steps make a sample, how many samples make a session."""

from __future__ import annotations

import gc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suites._harness.clock import Elapsed, elapsed_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from suites._harness.turns import Turns

MIN_SAMPLES = 30
MAX_SAMPLES = 200
MIN_TIMED_SECONDS = 0.4
"""Fast steps go on until this much was timed: 30 samples of a 0.1 ms step would be 60 ms of evidence."""
SHORT_STEP_SECONDS = 2e-3
BLOCK_SECONDS = 4e-3
MAX_BLOCK_STEPS = 20
SLICE_SECONDS = 0.04
"""How long a session of a pair runs before it is the other's turn: long enough that the first step, which
finds its caches used by the other, is one of several; short enough that both meet the same machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Steady:
    """The timed steps of one session; each sample is the mean over a block of `block` steps."""

    block: int
    samples: list[Elapsed]


def block_steps(step_seconds: float) -> int:
    """Steps per block: 1 from 2 ms on, else enough for about 4 ms, at most 20.

    A short step is timed in blocks because the fence, and reading the clocks, would be part of it.
    """
    if step_seconds >= SHORT_STEP_SECONDS:
        return 1
    return min(MAX_BLOCK_STEPS, math.ceil(BLOCK_SECONDS / max(step_seconds, 1e-9)))


def warm_up(step: Callable[[], None], fence: Callable[[], None], *, steps: int) -> float:
    """Run `steps` fenced steps; wall seconds of the fastest of them."""

    def fenced_step() -> None:
        step()
        fence()

    return min(elapsed_of(fenced_step).wall for _ in range(steps))


def run_steady(  # noqa: PLR0913  what a caller may decide about the steady state
    step: Callable[[], None],
    fence: Callable[[], None],
    *,
    step_seconds: float,
    samples: int | None = None,
    slowdown: float = 1.0,
    turns: Turns | None = None,
) -> Steady:
    """Time steps in blocks with one fence each, until there are enough samples and enough timed seconds.

    Args:
        step: enqueues one training step; need not wait for it.
        fence: waits until state and loss of all enqueued steps exist.
        step_seconds: about how long a step takes; decides the block size.
        samples: exactly this many samples, whatever they take (None: 30 to 200).
        slowdown: planted regression, see `elapsed_of`.
        turns: the other session of a pair; they switch after every slice.
    """
    block = block_steps(step_seconds)

    def fenced_block() -> None:
        for _ in range(block):
            step()
        fence()

    taken: list[Elapsed] = []
    seconds, slice_seconds = 0.0, 0.0
    gc.collect()
    gc.disable()  # a collection in one sample of thirty is noise that no release is to blame for
    try:
        while _wants_more(len(taken), seconds, samples):
            whole = elapsed_of(fenced_block, slowdown=slowdown)
            seconds += whole.wall
            slice_seconds += whole.wall
            taken.append(Elapsed(wall=whole.wall / block, cpu=whole.cpu / block))
            if turns is not None and slice_seconds >= SLICE_SECONDS:
                turns.switch()
                slice_seconds = 0.0
    finally:
        gc.enable()
    return Steady(block=block, samples=taken)


def _wants_more(taken: int, seconds: float, asked: int | None) -> bool:
    if asked is not None:
        return taken < asked
    return taken < MIN_SAMPLES or (seconds < MIN_TIMED_SECONDS and taken < MAX_SAMPLES)
