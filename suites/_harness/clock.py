"""The clocks of a session: wall and processor time, always read together.

Processor time is what a shared machine can still be judged on: between sessions wall time varies by
20-30 % there, processor time by 3-6 %.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True, slots=True)
class Elapsed:
    """Seconds that passed: on the wall, and of processor time over all threads of this process."""

    wall: float
    cpu: float


def cpu_seconds_with_children() -> float:
    """Processor seconds of this process and of its finished children (compilers run as children)."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def stage_seconds(stage: Callable[[], object]) -> float:
    """Run `stage`; processor seconds it took, children included."""
    start = cpu_seconds_with_children()
    stage()
    return cpu_seconds_with_children() - start


def elapsed_of(work: Callable[[], object], *, slowdown: float = 1.0) -> Elapsed:
    """Run `work` and, for a `slowdown` above 1, burn processor time until it took that many times its own.

    The burning happens inside the measurement: it is a planted regression, for testing the detector.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    if slowdown > 1.0:
        until = cpu + slowdown * (time.process_time() - cpu)
        while time.process_time() < until:
            pass
    return Elapsed(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)
