"""Robust optimal partitioning on a grid of levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepwatch.stats.changepoint.compiling import Floats, Ints

TIE = 1e-9
"""Costs nearer than this are equal: bounded costs tie often, and rounding must not decide."""


@compiled
def partition(z: Floats, may_cut: NDArray[np.bool_], levels: Floats, penalty: float, bound: float) -> Ints:
    """The cheapest division of a series into stretches of constant level.

    Minimises the sum over points of min((z - level)^2, bound) plus `penalty` per change, over all divisions
    and all levels of the grid, in O(n G): the bounded cost of Fearnhead and Rigaill (1609.07363).

    Args:
        z: shape (n,), n >= 1, in noise units.
        may_cut: shape (n,), whether a new level may begin at that point.
        levels: shape (G,), the levels that a stretch may have.
        penalty: cost of a change, in squared noise units.
        bound: most that one point can cost.

    Returns:
        Rising indices of the first points of the second, third, ... stretch.
    """
    n = z.size
    count = levels.size
    cost = np.zeros(count)
    start = np.zeros(count, np.int64)
    last = np.zeros(n + 1, np.int64)
    # Costs are not negative, so their bits, read as integers, are in the same order; and the least of
    # integers is found by vector instructions, that of floats (NaN, for all the compiler knows) is not.
    cost_bits = cost.view(np.int64)
    least = np.zeros(1)
    least_bits = least.view(np.int64)
    total = 0.0
    for t in range(n):
        value = z[t]
        reopen = total + penalty if t > 0 and may_cut[t] else np.inf
        dear = reopen + TIE
        for j in range(count):
            away = value - levels[j]
            opened = cost[j] > dear
            start[j] = t if opened else start[j]
            cost[j] = (reopen if opened else cost[j]) + min(away * away, bound)
        lowest = cost_bits[0]
        for j in range(count):
            lowest = min(lowest, cost_bits[j])
        least_bits[0] = lowest
        enough = least[0] + TIE
        best = count
        for j in range(count):
            best = min(best, j if cost[j] <= enough else count)
        total = cost[best]
        last[t + 1] = start[best]
    return trace(last)


@compiled
def trace(last: Ints) -> Ints:
    """Follow `last`, shape (n + 1,), from its end: last[t] is where the stretch that ends before t began."""
    count = 0
    t = last[last.size - 1]
    while t > 0:
        count += 1
        t = last[t]
    starts = np.empty(count, np.int64)
    t = last[last.size - 1]
    while t > 0:
        count -= 1
        starts[count] = t
        t = last[t]
    return starts
