"""stepwatch itself, through the functions that its commands use."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stepwatch import stats
from stepwatch.stats import changepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def detect(values: Floats, *, settings: changepoint.Settings = changepoint.DEFAULT) -> list[int]:
    """Indices of the change points of one series, shape (n,)."""
    return [change.index for change in changepoint.detect(values, settings=settings).changes]


def detector(changes: dict[str, float] | None = None) -> Callable[[Floats], list[int]]:
    """The detector at its defaults, or with some settings changed."""
    return partial(detect, settings=replace(changepoint.DEFAULT, **(changes or {})))


def warm_up() -> None:
    """Compile or load the kernels, so that no measurement pays for it."""
    changepoint.warm_up()


def log_ratios(base: Floats, head: Floats) -> Floats:
    """One log ratio per pair from the iterations of its two sessions.

    Args:
        base: times, shape (repetitions, pairs, iterations).
        head: the same shape.
    """
    values = [np.apply_along_axis(stats.session_value, -1, side) for side in (base, head)]
    return np.log(values[1]) - np.log(values[0])


def sequential(
    differences: Floats, *, floor: float, min_effect: float, alpha: float = 0.05
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Outcome codes and pairs used, looking after every pair."""
    beyond, within = math.log1p(floor), math.log1p(min_effect)
    codes = np.zeros(len(differences), dtype=int)
    used = np.full(len(differences), differences.shape[1])
    for row, values in enumerate(differences):
        for n in range(4, values.size + 1):
            test = stats.PairedTest.of(values[:n])
            if test.log_e_beyond(beyond) >= -math.log(alpha):
                codes[row], used[row] = np.sign(test.centre), n
                break
            interval = test.interval(alpha)
            if -within <= interval.low and interval.high <= within and within:
                codes[row], used[row] = 2, n
                break
    return codes, used


def family(differences: Floats, *, floor: float = 0.0025, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Which benchmarks of a report are called, shape (benchmarks, pairs) to (benchmarks,)."""
    beyond = math.log1p(floor)
    return stats.e_bh([stats.PairedTest.of(row).log_e_beyond(beyond) for row in differences], alpha=alpha)
