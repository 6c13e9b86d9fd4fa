"""What is said of each change: levels, ratio with interval, blame range, p-value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scipy.special import stdtr, stdtrit

from stepwatch.stats.changepoint.results import ChangePoint

if TYPE_CHECKING:
    from stepwatch.stats.changepoint.location import Located
    from stepwatch.stats.changepoint.observations import Observations
    from stepwatch.stats.changepoint.settings import Settings

MEDIAN_VARIANCE = math.pi / 2
"""Variance of a median over that of a mean, of normal noise."""
SPREAD_FREEDOM = 0.37
"""Efficiency of the median absolute deviation: n points tell the noise as well as 0.37 n do by the sd."""
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
    from stepwatch.stats.changepoint.elimination import possible_places  # noqa: PLC0415  numba loads when needed
    from stepwatch.stats.changepoint.evidence import weigh  # noqa: PLC0415  the same
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
    margin = _margin(found.inflation, settings.confidence)
    earliest, latest = possible_places(found.z, seen.may_cut, edges, evidence.noise, margin, found.limits)
    chance = 2.0 * float(stdtr(freedom, -evidence.mean_z))
    return ChangePoint(
        index=int(seen.place[seen.point[k]]),
        after=int(seen.place[seen.point[earliest] - 1]),
        through=int(seen.place[seen.point[latest]]),
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        p_value=min(1.0, (seen.place.size - 1) * chance),
        before=before,
        level=level,
    )


def _margin(inflation: float, confidence: float) -> float:
    """How much less likely than the best place one in the blame range may be, in twice the log likelihood.

    -2 ln(1 - sqrt(confidence)) is the quantile of twice the larger maximum of two independent drifting walks
    (Siegmund 1988), exact for small steps in normal noise; the t likelihood gains less per point than the
    normal one, so 0.7 of it suffices (coverage measured: docs/explanation/change-points.md). Autocorrelation
    widens it.
    """
    quantile = -2.0 * math.log1p(-math.sqrt(confidence))
    return T_LIKELIHOOD_SHARE * quantile * math.pow(inflation, CORRELATED_PLACES)


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
