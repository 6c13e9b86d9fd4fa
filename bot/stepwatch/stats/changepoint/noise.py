"""One unit for the whole series: the noise of a point, and how far noise is shared by neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.constants import MAD

if TYPE_CHECKING:
    from stepwatch.stats.changepoint.compiling import Floats
    from stepwatch.stats.changepoint.settings import Settings

LAGS = 10
BLOCK = 50
CORRELATION_T = 1.65
"""A lag-one correlation below this many standard errors counts as none."""


def difference_noise(x: Floats) -> float:
    """Standard deviation of a point, from the median absolute difference of neighbours: steps hardly matter.

    Where most neighbours are equal, half the median of the other differences; 0 for a constant series.

    Args:
        x: shape (n,), finite.
    """
    if x.size < 2:
        return 0.0
    moves = np.sort(np.abs(x[1:] - x[:-1]))
    noise = MAD * middle(moves) / math.sqrt(2)
    if noise == 0.0 and moves[-1] > 0.0:
        noise = 0.5 * middle(moves[moves > 0])
    return noise


def middle(ordered: Floats) -> float:
    """Median of rising values. Sorting costs microseconds, `np.median` and `np.quantile` ten times that."""
    half = ordered.size // 2
    if ordered.size % 2:
        return float(ordered[half])
    low, high = float(ordered[half - 1]), float(ordered[half])
    # The sum of two values near the largest float is infinite; of two halves it is not.
    return 0.5 * (low + high) if math.isfinite(low + high) else 0.5 * low + 0.5 * high


def quantiles(ordered: Floats, count: int) -> Floats:
    """The quantiles (i + 1/2) / count of rising values, interpolated to the digit as `np.quantile` does."""
    last = ordered.size - 1
    place = last * ((np.arange(count) + 0.5) / count)
    below = place.astype(np.int64)
    low, high = ordered[below], ordered[np.minimum(below + 1, last)]
    share, rise = place - below, high - low
    return np.where(share < 0.5, low + rise * share, high - rise * (1.0 - share))


def inflation(r: Floats, changes: int, settings: Settings, *, least: float = 1.0) -> float:
    """Variance of a mean of residuals relative to independent ones, at least `least`.

    The larger of the long-run variance and of (1 + rho)/(1 - rho), rho the lag-one correlation with the bias
    that fitting `changes + 1` levels causes taken back.

    Args:
        r: shape (n,), residuals in noise units.
        changes: how many changes the residuals were taken about.
        settings: the limit.
        least: what an earlier, finer segmentation gave.
    """
    from stepwatch.stats.changepoint.robust import block_correlation, long_run_inflation  # noqa: PLC0415  numba

    rho = block_correlation(r, BLOCK)
    rho += (1.0 + 3.0 * max(rho, 0.0)) * (changes + 1) / r.size
    serial = 1.0
    if rho >= CORRELATION_T / math.sqrt(r.size):
        rho = min(rho, 0.9)
        serial = (1.0 + rho) / (1.0 - rho)
    return min(max(least, serial, long_run_inflation(r, LAGS)), settings.inflation_limit)


def cautious(value: float, n: int, settings: Settings) -> float:
    """The inflation to test with: raised where n points cannot tell it well; 1 stays 1."""
    return 1.0 + (value - 1.0) * (1.0 + settings.inflation_doubt / math.sqrt(n))
