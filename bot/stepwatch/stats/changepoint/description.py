"""What is said of each change: levels, ratio with interval, blame range, p-value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from stepwatch.stats.changepoint.results import ChangePoint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepwatch.stats.changepoint.location import Located
    from stepwatch.stats.changepoint.observations import Observations
    from stepwatch.stats.changepoint.settings import Settings

    Floats = NDArray[np.float64]

MEDIAN_VARIANCE = math.pi / 2
"""Variance of a median over that of a mean, of normal noise."""
SPREAD_FREEDOM = 0.37
"""Efficiency of the median absolute deviation: n points tell the noise as well as 0.37 n do by the sd."""
TAIL_FREEDOM = 4.0
"""Degrees of freedom of the t likelihood that places a change, as in `robust`, which needs numba."""
T_LIKELIHOOD_SHARE = 0.7
CORRELATED_PLACES = 0.75
"""The limit of the blame range grows with this power of the autocorrelation inflation (measured)."""


def describe(seen: Observations, found: Located, settings: Settings) -> tuple[ChangePoint, ...]:
    """One ChangePoint per located start, in order."""
    edges = [0, *(int(start) for start in found.starts), seen.x.size]
    return tuple(
        _describe_one(seen, found, (edges[i], edges[i + 1], edges[i + 2]), settings)
        for i in range(len(edges) - 2)
    )


def _describe_one(
    seen: Observations, found: Located, edges: tuple[int, int, int], settings: Settings
) -> ChangePoint:
    from stepwatch.stats.changepoint.evidence import weigh  # noqa: PLC0415  numba loads when needed
    from stepwatch.stats.changepoint.robust import median  # noqa: PLC0415  the same

    low, k, high = edges
    evidence = weigh(found.z, found.r, low, k, high, found.inflation, found.limits)
    first, end = max(low, k - settings.window), min(high, k + settings.window)
    before = median(seen.values[seen.point[first] : seen.point[k - 1] + 1])
    level = median(seen.values[seen.point[k] : seen.point[end - 1] + 1])
    freedom = max(1.0, SPREAD_FREEDOM * min(seen.x.size, 2 * settings.noise_window))
    error = evidence.noise * math.sqrt(
        found.inflation * MEDIAN_VARIANCE * (1.0 / (k - first) + 1.0 / (end - k))
    )
    half = float(stdtrit(freedom, 0.5 + 0.5 * settings.confidence)) * error * found.noise
    ratio, ratio_low, ratio_high = _ratio(seen, before, level, half)
    after, through = _blame_range(seen, found, edges, evidence.noise, settings)
    chance = 2.0 * float(stdtr(freedom, -evidence.mean_z))
    return ChangePoint(
        index=int(seen.place[seen.point[k]]),
        after=after,
        through=through,
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        p_value=min(1.0, (seen.place.size - 1) * chance),
        before=before,
        level=level,
    )


def _ratio(
    seen: Observations, before: float, level: float, half: float
) -> tuple[float, float, float] | tuple[None, None, None]:
    """The ratio of the levels, with +-half on the scale of x; None where a level is not positive."""
    if before <= 0 or level <= 0:
        return None, None, None
    ratio = level / before
    if not seen.logarithmic:
        return ratio, ratio - half * seen.unit / before, ratio + half * seen.unit / before
    # No float is larger than exp(709).
    stretch = math.exp(min(half, 700.0))
    return ratio, ratio / stretch, ratio * stretch


def _blame_range(
    seen: Observations, found: Located, edges: tuple[int, int, int], noise: float, settings: Settings
) -> tuple[int, int]:
    """The confidence set for the place, widened to an interval `(after, through]` of indices as given.

    All places whose likelihood is within a limit of the best one's. -2 ln(1 - sqrt(confidence)) is the
    quantile of twice the larger maximum of two independent drifting walks (Siegmund 1988), exact for small
    steps in normal noise; the t likelihood gains less per point than the normal one, so 0.7 of it suffices
    (coverage measured: docs/explanation/change-points.md). Autocorrelation widens it.
    """
    from stepwatch.stats.changepoint.robust import median  # noqa: PLC0415  numba loads when needed

    low, k, high = edges
    reach = 2 * settings.window
    first, last = max(low + 1, k - reach), min(high - 1, k + reach)
    before = median(found.z[max(low, k - settings.window) : k])
    after = median(found.z[k : min(high, k + settings.window)])
    inside = found.z[first:last]
    gain = _surprise((inside - before) / noise) - _surprise((inside - after) / noise)
    cost = np.concatenate(([0.0], np.cumsum(gain)))
    cost[~seen.may_cut[first : last + 1]] = np.inf
    quantile = -2.0 * math.log1p(-math.sqrt(settings.confidence))
    limit = T_LIKELIHOOD_SHARE * quantile * found.inflation**CORRELATED_PLACES
    possible = np.flatnonzero(cost <= cost.min() + limit) + first
    earliest, latest = min(int(possible[0]), k), max(int(possible[-1]), k)
    return int(seen.place[seen.point[earliest] - 1]), int(seen.place[seen.point[latest]])


def _surprise(deviations: Floats) -> Floats:
    """Twice the negative log likelihood of Student's t, up to a constant."""
    return (TAIL_FREEDOM + 1.0) * np.log1p(deviations**2 / TAIL_FREEDOM)
