"""Clocks, blocks, fences and the planted slowdown, on steps whose cost is known."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from suites._harness import steady
from suites._harness.clock import Elapsed, elapsed_of, stage_seconds
from suites._harness.steady import MAX_BLOCK_STEPS, block_steps, run_steady, warm_up


class Device:
    """Enqueues steps and finishes them at the fence, as an accelerator does."""

    def __init__(self) -> None:
        self.pending = 0
        self.log: list[int] = []

    def step(self) -> None:
        self.pending += 1

    def fence(self) -> None:
        self.log.append(self.pending)
        self.pending = 0


def burn(turns: int = 20_000) -> None:
    sum(range(turns))


@given(st.floats(min_value=0, max_value=100))
def test_blocks_only_below_two_milliseconds(seconds: float) -> None:
    block = block_steps(seconds)
    assert 1 <= block <= MAX_BLOCK_STEPS
    assert (block == 1) is (seconds >= 2e-3)


@given(st.floats(min_value=1e-5, max_value=1.0), st.integers(min_value=1, max_value=40))
def test_every_block_is_fenced_once_and_nothing_is_left_pending(step_seconds: float, samples: int) -> None:
    device = Device()
    result = run_steady(device.step, device.fence, step_seconds=step_seconds, samples=samples)
    assert len(result.samples) == samples
    assert device.log == [result.block] * samples
    assert device.pending == 0


def test_a_sample_is_the_mean_step_of_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "elapsed_of", lambda work, **_: (work(), Elapsed(wall=0.8, cpu=0.4))[1])
    device = Device()
    result = run_steady(device.step, device.fence, step_seconds=1e-3, samples=2)
    assert result.block == 4
    assert result.samples == [Elapsed(wall=0.2, cpu=0.1)] * 2


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1.0, 30), (0.4 / 30, 30), (0.01, 40), (0.4 / 150, 150), (1e-9, 200)],
    ids=["slow", "just enough", "goes on to 0.4 s", "fast", "bounded"],
)
def test_thirty_samples_and_enough_time(
    monkeypatch: pytest.MonkeyPatch, seconds: float, expected: int
) -> None:
    monkeypatch.setattr(steady, "elapsed_of", lambda *_, **__: Elapsed(wall=seconds, cpu=seconds))
    result = run_steady(Device().step, Device().fence, step_seconds=1.0)
    assert abs(len(result.samples) - expected) <= 1  # sums of seconds are rounded


def test_no_garbage_collection_while_timing_and_again_afterwards() -> None:
    seen = []
    run_steady(lambda: seen.append(gc.isenabled()), lambda: None, step_seconds=1.0, samples=3)
    assert seen == [False] * 3
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        run_steady(lambda: 1 / 0, lambda: None, step_seconds=1.0)
    assert gc.isenabled()


def test_warm_up_fences_each_step_and_returns_the_fastest() -> None:
    device = Device()
    seconds = warm_up(device.step, device.fence, steps=5)
    assert device.log == [1] * 5
    assert seconds > 0


def test_a_planted_slowdown_costs_what_it_says() -> None:
    """Planted and plain alternate in one process, so that the load of the machine cancels."""
    plain, planted = [], []
    for _ in range(40):
        plain.append(elapsed_of(burn).cpu)
        planted.append(elapsed_of(burn, slowdown=1.10).cpu)
    ratio = statistics.median(planted) / statistics.median(plain)
    assert 1.05 < ratio < 1.15


def test_stage_seconds_counts_children() -> None:
    """Inductor compiles in a child: its processor time belongs to the stage."""
    script = "import time\nwhile time.process_time() < 0.3: pass"
    child = stage_seconds(lambda: subprocess.run([sys.executable, "-c", script], check=True))
    assert child >= 0.3
