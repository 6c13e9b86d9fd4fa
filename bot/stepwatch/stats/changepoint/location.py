"""Where the levels change: partition, then eliminate what does not hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.noise import LAGS, cautious, difference_noise, inflation, middle, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepwatch.stats.changepoint.evidence import Limits
    from stepwatch.stats.changepoint.observations import Observations
    from stepwatch.stats.changepoint.settings import Settings

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ROUNDS = 4
WIDEST = 3.0
"""The noise about the levels is believed up to this many times the noise of differences."""
LOOSEST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Located:
    """Starts of the new levels among the observations, and the units they were found in."""

    starts: Ints
    z: Floats
    """Shape (N,): observations about their median, in noise units."""
    r: Floats
    """Shape (N,): the same about the levels found."""
    noise: float
    """One noise unit, in units of the observations' x."""
    inflation: float
    """Variance of a mean relative to independent observations, as tested with."""
    limits: Limits


def locate(seen: Observations, settings: Settings) -> Located | None:
    """The changes that hold; None for a series too short or without any variation."""
    from stepwatch.stats.changepoint import elimination, robust  # noqa: PLC0415  numba loads when needed

    n = seen.x.size
    noise = difference_noise(seen.x)
    if n < 2 * settings.min_run or noise == 0.0:
        return None
    ordered = np.sort(seen.x)
    centre = middle(ordered)
    z, r, noise, starts, shared = _candidates(seen, ordered, noise, settings)
    effect = -math.log1p(-settings.min_effect) if seen.logarithmic else settings.min_effect * abs(centre)
    limits = limits_of(settings, effect / noise, sampled=seen.sampled)
    tested = 1.0
    for _ in range(ROUNDS):
        shared = inflation(
            r, starts.size, settings, least=max(shared, min(seen.design, settings.inflation_limit))
        )
        tested = cautious(shared, n, settings)
        kept = elimination.eliminate(z, r, starts, tested, limits)
        placed = elimination.settle(z, seen.may_cut, kept, limits)
        if not np.array_equal(placed, kept):
            robust.fill_residuals(z, placed, r)
        same = placed.size == starts.size
        starts = placed
        if same or not starts.size:
            break
    return Located(starts=starts, z=z, r=r, noise=noise, inflation=tested, limits=limits)


def _candidates(
    seen: Observations, ordered: Floats, noise: float, settings: Settings
) -> tuple[Floats, Floats, float, Ints, float]:
    """Candidates, in the noise of differences; once more where the noise about the levels is larger.

    Returns:
        Observations and residuals in noise units, the noise unit, starts, and the inflation so far.
    """
    from stepwatch.stats.changepoint import robust, segmentation  # noqa: PLC0415  numba loads when needed

    centre = middle(ordered)
    z = (seen.x - centre) / noise
    levels = quantiles((ordered - centre) / noise, settings.levels)
    penalty, bound = settings.penalty * math.log(z.size), settings.bound**2
    starts = segmentation.partition(z, seen.may_cut, levels, penalty, bound)
    r = np.empty_like(z)
    robust.fill_residuals(z, starts, r)
    wider = min(max(robust.spread(r, 0.0), 1.0), WIDEST)
    shared = robust.long_run_inflation(r, LAGS)
    if shared * wider**2 > 1.05:
        z, noise, levels = z / wider, noise * wider, levels / wider
        bound *= min(shared, LOOSEST)
        starts = segmentation.partition(z, seen.may_cut, levels, penalty * shared, bound)
        robust.fill_residuals(z, starts, r)
    return z, r, noise, starts, shared


def limits_of(settings: Settings, effect: float, *, sampled: bool) -> Limits:
    """The settings as the compiled code takes them; `effect` is the least step in noise units."""
    from stepwatch.stats.changepoint.evidence import Limits  # noqa: PLC0415  numba loads when needed

    return Limits(
        window=settings.window,
        reach=settings.reach,
        noise_window=settings.noise_window,
        trend_window=settings.trend_window,
        trend_t=settings.trend_t,
        line_window=settings.line_window,
        line_margin=settings.line_margin,
        movement_window=settings.movement_window,
        movement_reach=settings.movement_reach,
        movement=settings.movement,
        rank_z=settings.rank_z,
        brief_discount=settings.brief_discount,
        rank_inflation=settings.rank_inflation,
        mean_z=settings.mean_z,
        long_discount=settings.long_discount,
        contrast=settings.contrast,
        min_effect=max(effect, 1e-300),
        min_run=settings.min_run,
        # Several sessions of one release are proof enough for a level of one release.
        excursion=0 if sampled else settings.excursion,
        position_reach=settings.position_reach,
    )
