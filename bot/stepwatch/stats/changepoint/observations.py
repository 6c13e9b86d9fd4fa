"""From a series as people have it to the plain sequence that is searched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.constants import MAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LEAST_POINTS_FOR_DESIGN = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """The measured points, and the observations (sessions, or the points themselves) in time order."""

    place: Ints
    """Shape (m,): index of each measured point in the series as given."""
    values: Floats
    """Shape (m,): their values, in the unit of the series."""
    x: Floats
    """Shape (N,): observations; logarithms where all are positive, else scaled by a power of two."""
    point: Ints
    """Shape (N,): which measured point each observation belongs to, rising from 0."""
    may_cut: NDArray[np.bool_]
    """Shape (N,): the first observation of each point."""
    logarithmic: bool
    unit: float
    """What one unit of x is in the unit of the series; 1 where logarithmic."""
    design: float
    """Variance of a point's mean relative to independent sessions, at least 1: sessions share their point."""

    @property
    def sampled(self) -> bool:
        """Whether any point has more than one session."""
        return self.x.size > self.place.size


def observe(values: ArrayLike, samples: Sequence[ArrayLike] | None) -> Observations:
    """Line up the measured points of a series.

    Args:
        values: shape (n,), finite or NaN; NaN is a missing point.
        samples: n arrays of session values, or None; a point without a finite one speaks by its value.

    Raises:
        ValueError: values not one-dimensional, infinite, or not as many as samples.
    """
    series = np.asarray(values, dtype=float)
    if series.ndim != 1 or np.isinf(series).any():
        raise ValueError("a series is one-dimensional and finite, with NaN for missing points")
    if samples is not None and len(samples) != series.size:
        raise ValueError("samples must have one entry per point")
    place = np.flatnonzero(~np.isnan(series))
    measured = series[place]
    groups = [_sessions(samples[int(i)], float(series[i])) for i in place] if samples is not None else None
    # The plain case, a value per point, is worth its own lines: it is most of a history, and half the time.
    raw = np.concatenate(groups) if groups else measured
    counts = np.array([group.size for group in groups]) if groups else None
    point = np.arange(place.size) if counts is None else np.repeat(np.arange(place.size), counts)
    may_cut = np.ones(place.size, dtype=bool) if counts is None else np.diff(point, prepend=-1) > 0
    logarithmic = bool(raw.min() > 0 and measured.min() > 0)
    unit = 1.0
    if logarithmic:
        x = np.log(raw)
    else:
        # A power of two near the largest magnitude: squares of the rest neither overflow nor vanish.
        unit = math.ldexp(1.0, math.frexp(float(np.abs(raw).max()))[1] - 1)
        x = raw / unit
    return Observations(
        place=place,
        values=measured,
        x=x,
        point=point,
        may_cut=may_cut,
        logarithmic=logarithmic,
        unit=unit,
        design=1.0 if counts is None else _design_effect(x, counts),
    )


def _sessions(sample: ArrayLike, value: float) -> Floats:
    sessions = np.asarray(sample, dtype=float)
    sessions = sessions[np.isfinite(sessions)]
    return sessions if sessions.size else np.array([value])


def _design_effect(x: Floats, counts: Ints) -> float:
    """How much more the means of neighbouring points differ than their sessions' spread explains.

    Median square of standardised differences of neighbours, over its value for independent sessions: robust
    against steps between fewer than half of the points, so not tried below six points.
    """
    if counts.size < LEAST_POINTS_FOR_DESIGN or not (counts > 1).any():
        return 1.0
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    means = np.add.reduceat(x, starts) / counts
    inside = np.add.reduceat((x - np.repeat(means, counts)) ** 2, starts)[counts > 1] / (
        counts[counts > 1] - 1
    )
    variance = float(np.median(inside))
    if variance == 0.0:
        return 1.0
    moves = np.diff(means) / np.sqrt(variance * (1.0 / counts[1:] + 1.0 / counts[:-1]))
    return max(1.0, (MAD * float(np.median(np.abs(moves)))) ** 2)
