"""One robust number per session, and one per side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

QUANTILE = 0.10


def session_value(samples: ArrayLike, *, higher_is_better: bool = False) -> float:
    """The better decile of one session's samples: the lower one of times, the upper one of rates.

    Why a decile and not the median: what disturbs a step (another process, an interrupt) only ever makes it
    worse, so the better samples are the program and the worse ones the machine. Over 27 series of 7 to 8
    turn-taking pairs on a shared two-core machine the standard deviation of the pair log ratio of `step_cpu`
    was, decile against quartile, smaller by a factor of about 0.85 (geometric mean): 3.3 to 7.4 % against
    4.6 to 9.0 % on a busy core, equal (0.5 to 3 %) on a quiet one. Why not the minimum: it does as well
    there, but it was a third weaker in quiet simulations (statistics.md section 3), and it never repeats.
    The price: a change that touches fewer than nine tenths of the steps is seen only in part.

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
