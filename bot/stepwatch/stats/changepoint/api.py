"""Find the lasting level changes of a series."""

from __future__ import annotations

import math

import numpy as np

from stepwatch.stats.changepoint.results import ChangePoint, Detection, Drift
from stepwatch.stats.changepoint.settings import DEFAULT, Settings


def detect(values, *, samples=None, exact=False, settings: Settings = DEFAULT) -> Detection:
    y = np.asarray(values, dtype=float)
    place = np.flatnonzero(np.isfinite(y))
    v = y[place]
    if v.size < 2 * settings.min_run:
        return Detection()
    positive = bool((v > 0).all())
    x = np.log(v) if positive else v
    starts = locate(x, settings, positive)
    return Detection(changes=tuple(_describe(v, x, place, starts, i, positive) for i in range(len(starts))))


def first_scale(x):
    d = np.abs(np.diff(x))
    s = 1.4826 * np.median(d) / math.sqrt(2)
    if s == 0:
        nz = d[d > 0]
        s = 0.5 * np.median(nz) if nz.size else 0.0
    return float(s)


def locate(x, settings, positive):
    from stepwatch.stats.changepoint import kernels as k

    n = x.size
    sigma = first_scale(x)
    if sigma == 0 or n < 2 * settings.min_run:
        return np.empty(0, int)
    z = (x - np.median(x)) / sigma
    w = np.ones(n)
    cut = np.ones(n, bool)
    levels = np.quantile(z, (np.arange(settings.levels) + 0.5) / settings.levels)
    starts = k.partition(z, w, cut, levels, settings.penalty * math.log(n), settings.bound**2)
    r = k.residuals(z, starts)
    s2 = min(max(k.spread(r, 0.0), 1.0), 3.0)
    q = k.inflation(r, 1.0, 10)
    if q * s2**2 > 1.05:
        z /= s2
        sigma *= s2
        levels /= s2
        starts = k.partition(
            z, w, cut, levels, settings.penalty * q * math.log(n), settings.bound**2 * min(q, 2.0)
        )
        r = k.residuals(z, starts)
    effect = (-math.log1p(-settings.min_effect) if positive else settings.min_effect * abs(np.median(x))) / sigma
    return k.eliminate(
        z, r, starts, 1.0, q, settings.window, settings.noise_window, settings.rank_z, settings.contrast,
        effect, settings.min_run,
    )


def _describe(v, x, place, starts, i, positive):
    low = starts[i - 1] if i else 0
    high = starts[i + 1] if i + 1 < len(starts) else v.size
    k = starts[i]
    before = float(np.median(v[max(low, k - 30) : k]))
    level = float(np.median(v[k : min(high, k + 30)]))
    ratio = level / before if before > 0 and level > 0 else None
    return ChangePoint(
        index=int(place[k]), after=int(place[k - 1]), through=int(place[k]), ratio=ratio, ratio_low=ratio,
        ratio_high=ratio, p_value=0.0, before=before, level=level,
    )


def warm_up() -> None:
    """Compile or load the kernels."""
    detect(np.tile([1.0, 1.01, 0.99, 1.02], 5))
