"""Is one side different from the other? An anytime-valid, robust paired test on log ratios.

Two claims are tested, each by the e-process of `e_process.py`: *beyond* a margin (the change is larger than
the floor) and *within* one (it is smaller than the minimal effect). The interval is the confidence sequence
of the same process. All of it may be looked at after every pair (docs/explanation/pairwise.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.e_process import final_evidence, two_sided
from stepwatch.stats.intervals import confidence_sequences
from stepwatch.stats.location import centre_of, scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from stepwatch.stats.e_process import Floats

FEWEST_CALLED = 6
"""Pairs below which no change is called: the signs of six fall alike by chance once in 32, of five in 16."""

FEWEST_SAME = 4
"""Pairs below which there is no interval and nothing is called unchanged: three may agree by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A centre with a confidence sequence: an interval that may be looked at after every session."""

    centre: float
    low: float
    high: float
    """Infinite ends: too few observations for any interval."""

    @property
    def bounded(self) -> bool:
        """Whether there is an interval at all."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """What n differences (log contender - log baseline) say about the centre of their distribution."""

    differences: tuple[float, ...]
    """In the order of the pairs: the evidence is gathered in it."""
    centre: float
    """Mean of the differences that are not wild (`location.py`)."""
    scale: float
    """Standard error of the centre, from the differences' own spread; infinite below two."""

    @classmethod
    def of(cls, differences: ArrayLike) -> PairedTest:
        """Summarise differences.

        Args:
            differences: shape (n,), n >= 1, finite.

        Raises:
            ValueError: empty or not finite.
        """
        values = np.asarray(differences, dtype=float)
        if values.size == 0 or not np.isfinite(values).all():
            raise ValueError("a paired test needs finite differences")
        return cls(differences=tuple(values.tolist()), centre=centre_of(values), scale=scale_of(values))

    @property
    def n(self) -> int:
        """How many differences."""
        return len(self.differences)

    def log_e_beyond(self, margin: float) -> float:
        """Log e-value of "the centre lies beyond +-`margin`", against every centre within."""
        return float(log_e_beyond([self], margin)[0])

    def log_e_within(self, margin: float) -> float:
        """Log e-value of "the centre lies within +-`margin`", against every centre beyond."""
        return float(log_e_within([self], margin)[0])

    def interval(self, alpha: float) -> Estimate:
        """The confidence sequence of level 1 - alpha: the nulls with less than 2/alpha against them."""
        return intervals([self], alpha)[0]


def log_e_beyond(tests: Sequence[PairedTest], margin: float) -> Floats:
    """`PairedTest.log_e_beyond` of many tests at once, shape (M,)."""
    above, below = _both_sides(tests, margin, -margin)
    return two_sided(above, below)


def log_e_within(tests: Sequence[PairedTest], margin: float) -> Floats:
    """`PairedTest.log_e_within` of many tests at once, shape (M,).

    Two claims at once, each of which has to hold: the lesser of their e-values is one (intersection-union).
    """
    above, below = _both_sides(tests, -margin, margin)
    return np.minimum(above, below)


def _both_sides(tests: Sequence[PairedTest], lower: float, upper: float) -> tuple[Floats, Floats]:
    """Log evidence for "above `lower`" and for "below `upper`", shape (M,) each."""
    count = len(tests)
    rows = [np.array(test.differences) for test in tests]
    found = final_evidence(rows * 2, np.repeat([lower, upper], count), np.repeat([1.0, -1.0], count))
    return found[:count], found[count:]


def intervals(tests: Sequence[PairedTest], alpha: float) -> list[Estimate]:
    """`PairedTest.interval` of many tests at once."""
    lows, highs = confidence_sequences(
        [np.array(test.differences) for test in tests],
        centres=np.array([test.centre for test in tests]),
        steps=np.array([test.scale if test.n >= FEWEST_SAME else math.inf for test in tests]),
        alpha=alpha,
    )
    return [
        Estimate(centre=test.centre, low=float(low), high=float(high))
        for test, low, high in zip(tests, lows, highs, strict=True)
    ]


@cache
def minimum_pairs(threshold: float) -> int:
    """The least number of pairs whose e-value can reach `threshold`, however large and steady the effect.

    At least `FEWEST_CALLED`.
    """
    n = FEWEST_CALLED
    while PairedTest.of([1.0] * n).log_e_beyond(0.0) < math.log(threshold):
        n += 1
    return n


@cache
def fewest_for_interval(alpha: float) -> int:
    """The least number of pairs that can have an interval of level 1 - `alpha`, however steady they are."""
    n = 2
    while not PairedTest.of([1.0] * n).interval(alpha).bounded:
        n += 1
    return n
