"""Compiled building blocks: order statistics, the rank-sum test, residuals, autocorrelation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.compiling import compiled

if TYPE_CHECKING:
    from stepwatch.stats.changepoint.compiling import Floats, Ints

MAD = 1.482602218505602
"""Standard deviation of a normal distribution over its median absolute deviation."""
TAIL_FREEDOM = 4.0
"""Degrees of freedom of the t likelihood that places a change: bounded influence, still sharp near 0."""
CLIP = 3.0
"""No residual counts for more than this many noise units."""


@compiled
def select(values: Floats, rank: int) -> float:
    """The value of the given rank (0 is the least), values of shape (n,), n > rank; Hoare's selection."""
    work = values.copy()
    low = 0
    high = work.size - 1
    while low < high:
        pivot = work[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while work[i] < pivot:
                i += 1
            while work[j] > pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return float(work[rank])


@compiled
def median(values: Floats) -> float:
    """Median of values, shape (n,), n >= 1."""
    half = values.size // 2
    upper = select(values, half)
    if values.size % 2:
        return upper
    return 0.5 * (upper + select(values, half - 1))


@compiled
def spread(values: Floats, centre: float) -> float:
    """Median absolute deviation from `centre`, scaled to the standard deviation of a normal distribution."""
    away = np.empty(values.size)
    for i in range(values.size):
        away[i] = abs(values[i] - centre)
    return MAD * median(away)


@compiled
def clip(value: float, bound: float) -> float:
    """`value` pulled into +-`bound`."""
    return min(max(value, -bound), bound)


@compiled
def rank_sum_z(left: Floats, right: Floats) -> float:
    """|z| of the rank-sum test, with continuity correction and the variance of ties (Mann and Whitney 1947).

    Counts pairs instead of sorting: for windows of 100 points that is as fast, and compiles sooner.
    Shapes (a,) and (b,), both at least 1; 0 where all values are equal.
    """
    wins = 0.0
    for value in left:
        for other in right:
            if other > value:
                wins += 1.0
            elif other == value:
                wins += 0.5
    size = float(left.size + right.size)
    ties = tie_excess(left, left, right) + tie_excess(right, left, right)
    pairs = float(left.size * right.size)
    variance = pairs / 12.0 * (size + 1.0 - ties / (size * (size - 1.0)))
    if variance <= 0.0:
        return 0.0
    return max(abs(wins - 0.5 * pairs) - 0.5, 0.0) / math.sqrt(variance)


@compiled
def tie_excess(values: Floats, left: Floats, right: Floats) -> float:
    """Sum over values of (how many of left and right equal it) squared, minus one each: 0 without ties."""
    excess = 0.0
    for value in values:
        equal = 0.0
        for other in left:
            equal += 1.0 if other == value else 0.0
        for other in right:
            equal += 1.0 if other == value else 0.0
        excess += equal * equal - 1.0
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
