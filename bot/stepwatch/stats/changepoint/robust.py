"""Compiled building blocks: order statistics, the rank-sum test, residuals, autocorrelation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.compiling import compiled
from stepwatch.stats.changepoint.constants import MAD

if TYPE_CHECKING:
    from stepwatch.stats.changepoint.compiling import Floats, Ints

CLIP = 3.0
"""No residual counts for more than this many noise units."""


@compiled
def to_front(work: Floats, low: int, high: int, pivot: float, ties: int) -> int:
    """Bring what is less than `pivot` (`ties` 1: or equal) to the front of work[low:high]; the end of it."""
    end = low
    for i in range(low, high):
        # No branch: which way a value goes cannot be predicted, and a wrong guess costs as ten values do.
        value = work[i]
        work[i] = work[end]
        work[end] = value
        end += int(value < pivot) | (int(value == pivot) & ties)
    return end


@compiled
def select_within(work: Floats, rank: int) -> float:
    """The value of the given rank (0 is the least), shape (n,), n > rank.

    Reorders work, so that none before `rank` is larger.
    """
    low = 0
    high = work.size
    while True:
        pivot = work[(low + high) // 2]
        end = to_front(work, low, high, pivot, 0)
        if rank < end:
            high = end
        else:
            low = to_front(work, end, high, pivot, 1)
            if rank < low:
                return float(pivot)


@compiled
def median_within(work: Floats) -> float:
    """Median of work, shape (n,), n >= 1, which is reordered."""
    half = work.size // 2
    upper = select_within(work, half)
    if work.size % 2:
        return upper
    lower = work[0]
    for i in range(1, half):
        lower = max(lower, work[i])
    if math.isfinite(lower + upper):
        return float(0.5 * (lower + upper))
    return float(0.5 * lower + 0.5 * upper)  # near the largest float the sum would be infinite


@compiled
def median(values: Floats) -> float:
    """Median of values, shape (n,), n >= 1."""
    work = np.empty(values.size)
    for i in range(values.size):
        work[i] = values[i]
    return median_within(work)


@compiled
def spread(values: Floats, centre: float) -> float:
    """Median absolute deviation from `centre`, scaled to the standard deviation of a normal distribution."""
    away = np.empty(values.size)
    for i in range(values.size):
        away[i] = abs(values[i] - centre)
    return MAD * median_within(away)


@compiled
def clip(value: float, bound: float) -> float:
    """`value` pulled into +-`bound`."""
    return min(max(value, -bound), bound)


@compiled
def rank_sum_z(left: Floats, right: Floats) -> float:
    """|z| of the rank-sum test, with continuity correction and the variance of ties (Mann and Whitney 1947).

    Counts pairs, as integers so that the loops are vectorised: for windows of 100 points that is faster than
    sorting, and compiles sooner. Shapes (a,) and (b,), both at least 1; 0 where all values are equal.
    """
    half_wins = 0
    for i in range(left.size):
        for j in range(right.size):
            half_wins += int(right[j] > left[i]) + int(right[j] >= left[i])
    size = float(left.size + right.size)
    ties = float(tie_excess(left, left, right) + tie_excess(right, left, right))
    pairs = float(left.size * right.size)
    variance = pairs / 12.0 * (size + 1.0 - ties / (size * (size - 1.0)))
    if variance <= 0.0:
        return 0.0
    return max(abs(0.5 * half_wins - 0.5 * pairs) - 0.5, 0.0) / math.sqrt(variance)


@compiled
def tie_excess(values: Floats, left: Floats, right: Floats) -> int:
    """Sum over values of (how many of left and right equal it) squared, minus one each: 0 without ties."""
    excess = 0
    for i in range(values.size):
        equal = 0
        for j in range(left.size):
            equal += int(left[j] == values[i])
        for j in range(right.size):
            equal += int(right[j] == values[i])
        excess += equal * equal - 1
    return excess


@compiled
def centre_stretch(x: Floats, low: int, high: int, out: Floats) -> None:
    """Write x[low:high] minus its median into out[low:high]."""
    level = median(x[low:high])
    for i in range(low, high):
        out[i] = x[i] - level


@compiled
def fill_residuals(x: Floats, starts: Ints, out: Floats) -> None:
    """Write x minus the median of its segment into `out`, shape (n,) like x; `starts` as of `partition`."""
    low = 0
    for i in range(starts.size + 1):
        high = starts[i] if i < starts.size else x.size
        centre_stretch(x, low, high, out)
        low = high


@compiled
def block_correlation(r: Floats, block: int) -> float:
    """Median over blocks of about `block` points of their lag-one autocorrelation; residuals in noise units.

    The median, because a block that holds a level nobody modelled looks autocorrelated and is not.
    """
    n = r.size
    count = max(1, n // block)
    found = np.empty(count)
    for b in range(count):
        low = b * n // count
        high = (b + 1) * n // count
        power = 0.0
        product = 0.0
        previous = 0.0
        for i in range(low, high):
            value = clip(r[i], CLIP)
            power += value * value
            product += value * previous
            previous = value
        pairs = max(high - low - 1.0, 1.0)
        found[b] = product / power * (high - low) / pairs if power > 0.0 else 0.0
    return median(found)


@compiled
def long_run_inflation(r: Floats, lags: int) -> float:
    """Variance of a mean of r relative to independent values: 1 + 2 sum (1 - k/(lags+1)) rho_k, at least 1.

    Residuals in noise units; stops at the first autocorrelation below 2 / sqrt(n).
    """
    n = r.size
    power = 0.0
    for i in range(n):
        power += clip(r[i], CLIP) ** 2
    inflation = 1.0
    if power <= 0.0:
        return inflation
    for lag in range(1, min(lags, n - 1) + 1):
        product = 0.0
        for i in range(n - lag):
            product += clip(r[i], CLIP) * clip(r[i + lag], CLIP)
        rho = product / power
        if rho < 2.0 / math.sqrt(n):
            break
        inflation += 2.0 * (1.0 - lag / (lags + 1.0)) * rho
    return inflation
