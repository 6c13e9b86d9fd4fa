"""One robust number per session, and one per side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

QUANTILE = 0.20


def session_value(samples: ArrayLike, *, higher_is_better: bool = False) -> float:
    """The better quintile of one session's samples: the lower one of times, the upper one of rates.

    Why not the median: what disturbs a step (another process, an interrupt) only ever makes it worse, so the
    better samples are the program and the worse ones the machine. Why not the decile or the minimum: on a
    quiet machine they say little. The quintile is near the best everywhere (docs/adr/0007 has the table).
    With ten noisy samples on a quiet machine its pairs spread 1.10 times as wide as those of the median, the
    decile's 1.23 and the minimum's 1.52 times. With a fifth of the samples disturbed they spread as wide as
    the best, to a hundredth, the median's 1.21 times. Over 34 recorded series of turn-taking sessions on a
    shared machine it had 1.06 (CPU time) and 0.89 (wall time) times the spread of the decile, the median 1.24
    and 1.08 times.
    The price: a change that touches fewer than four fifths of the steps is seen only in part.

    Args:
        samples: shape (n,), n >= 1, finite.
        higher_is_better: whether larger samples are better ones.

    Raises:
        ValueError: no sample, or one that is not finite.
    """
    values = np.sort(np.asarray(samples, dtype=float))
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError("a session needs finite samples")
    return _quantile(values, 1 - QUANTILE if higher_is_better else QUANTILE)


def typical_value(session_values: ArrayLike) -> float | None:
    """What is shown of a side: the geometric mean over sessions, the median where it is undefined.

    The geometric mean of positive values, because then the quotient of two sides is the ratio that the paired
    test estimates. None without a session.

    Args:
        session_values: shape (n,), finite.
    """
    values = np.sort(np.asarray(session_values, dtype=float))
    if not values.size:
        return None
    lowest, highest = float(values[0]), float(values[-1])
    if lowest == highest or lowest <= 0:
        return _quantile(values, 0.5)
    # The mean lies between the ends; rounding could move it out of them, and past the largest float.
    return min(max(math.exp(min(float(np.mean(np.log(values))), math.log(highest))), lowest), highest)


def _quantile(ordered: NDArray[np.float64], share: float) -> float:
    """The interpolated quantile, without NumPy's `high - low`, which overflows for the largest floats."""
    place = (ordered.size - 1) * share
    low, high = float(ordered[math.floor(place)]), float(ordered[math.ceil(place)])
    weight = place - math.floor(place)
    return low if low == high else low * (1 - weight) + high * weight
