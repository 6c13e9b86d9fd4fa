"""Decision rules simple enough to have closed forms, for tests of what replays them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.calibration import Endings

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class MeanRule:
    """Looks once, after the last pair: called where the mean lies beyond a bound, else unchanged."""

    bound: float

    def __call__(self, differences: NDArray[np.float64], /) -> Endings:
        mean = differences.mean(axis=1)
        direction = np.where(np.abs(mean) > self.bound, np.sign(mean), 0).astype(np.int8)
        pairs = np.full(mean.shape, differences.shape[1])
        return Endings(direction=direction, unchanged=direction == 0, pairs=pairs)


@dataclass(frozen=True, kw_only=True)
class TProcessRule:
    """The t e-process of statistics.md 4.1 against "within the floor", looking from the fourth pair on.

    With equivalence: it stops as unchanged once the whole confidence sequence lies within the minimal effect.
    """

    alpha: float = 0.05
    family: int = 1
    """Rows judged together: a lone change among them needs that many times the evidence."""
    floor: float = 0.01
    min_effect: float = 0.02

    def __call__(self, differences: NDArray[np.float64], /) -> Endings:
        total, length = differences.shape
        direction = np.zeros(total, dtype=np.int8)
        unchanged = np.zeros(total, dtype=bool)
        pairs = np.full(total, length)
        running = np.ones(total, dtype=bool)
        floor, margin = math.log1p(self.floor), math.log1p(self.min_effect)
        for n in range(4, length + 1):
            mean = differences[:, :n].mean(axis=1)
            error = differences[:, :n].std(axis=1, ddof=1) / math.sqrt(n)
            t = np.clip(np.abs(mean) - floor, 0, None) / np.maximum(error, 1e-100)
            k = 1 + n
            log_e = -0.5 * math.log(k) + n / 2 * (np.log1p(t**2 / (n - 1)) - np.log1p(t**2 / ((n - 1) * k)))
            r = (k / self.alpha**2) ** (1 / n)
            half = error * math.sqrt((n - 1) * (r - 1) / (1 - r / k)) if r < k else np.inf
            called = running & (log_e >= math.log(self.family / self.alpha))
            inside = running & ~called & (np.abs(mean) + half <= margin)
            direction[called] = np.sign(mean[called])
            unchanged |= inside
            pairs[called | inside] = n
            running &= ~(called | inside)
        return Endings(direction=direction, unchanged=unchanged, pairs=pairs)
