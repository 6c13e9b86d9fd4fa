"""Is one side different from the other? An anytime-valid paired test on log ratios.

The t e-process of statistics.md 4.1, plain: nothing is winsorised or trimmed, because an e-value computed
from data that were pulled towards their centre no longer keeps its promise (docs/adr/0005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PRIOR = 1.0
"""g: the prior of the standardised effect is normal(0, g)."""
_MINIMUM_TESTED = 2


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
    """What n differences (log contender - log baseline) say about their true mean."""

    n: int
    centre: float
    scale: float
    """Standard error of the centre; infinite below two differences."""

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
        n = int(values.size)
        scale = float(np.std(values, ddof=1)) / math.sqrt(n) if n >= _MINIMUM_TESTED else math.inf
        return cls(n=n, centre=float(np.mean(values)), scale=scale)

    def log_e(self, null: float) -> float:
        """Natural logarithm of the e-value against "the true mean is `null`" (two-sided).

        E_n(null) = k^(-1/2) [(1 + t^2/(n-1)) / (1 + t^2/((n-1) k))]^(n/2) with k = 1 + n g and
        t = (centre - null)/scale: the Bayes factor of the t-test with prior normal(0, g) on the
        standardised effect. Minus infinity with fewer than two differences.
        """
        if self.n < _MINIMUM_TESTED:
            return -math.inf
        k = 1 + self.n * PRIOR
        shift = self.centre - null
        if abs(shift) <= self.scale * 1e-150:
            return -0.5 * math.log(k)
        # Written with scale/shift, so that a vanishing scale gives the limit instead of a division by zero.
        inverse = (self.n - 1) * (self.scale / shift) ** 2
        growth = math.log1p(inverse) - math.log1p(inverse * k) + math.log(k)
        return -0.5 * math.log(k) + 0.5 * self.n * growth

    def log_e_beyond(self, margin: float) -> float:
        """Log e-value against the whole null "the true mean lies within +-`margin`": the least over it."""
        if abs(self.centre) <= margin:
            return self.log_e(self.centre)
        return self.log_e(math.copysign(margin, self.centre))

    def interval(self, alpha: float) -> Estimate:
        """The confidence sequence of level 1 - alpha: every null whose e-value stays below 1/alpha.

        centre +- scale sqrt((n-1)(r-1)/(1-r/k)), r = (k/alpha^2)^(1/n); infinite while r >= k.
        """
        half = math.inf
        if self.n >= _MINIMUM_TESTED:
            k = 1 + self.n * PRIOR
            r = (k / alpha**2) ** (1 / self.n)
            if r < k:
                half = self.scale * math.sqrt((self.n - 1) * (r - 1) / (1 - r / k))
        return Estimate(centre=self.centre, low=self.centre - half, high=self.centre + half)


def minimum_pairs(threshold: float) -> int:
    """The least number of pairs whose e-value can reach `threshold`, however large the effect.

    The e-value grows towards k^((n-1)/2), k = 1 + n g, as t grows: 11 at n = 4, 36 at 5, 130 at 6, 512 at 7.
    """
    n = _MINIMUM_TESTED
    while 0.5 * (n - 1) * math.log1p(n * PRIOR) <= math.log(threshold):
        n += 1
    return n
