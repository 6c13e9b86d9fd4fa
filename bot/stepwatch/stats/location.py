"""Where differences are centred, and how sure that is; robust against a few wild ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from stepwatch.stats.e_process import Floats

_SPREAD_OF_MEDIAN = 1.4826
"""Standard deviation of a normal distribution / its median absolute deviation."""
_WILD = 5.0
"""Standard deviations (robust) from the median beyond which a value is wild."""
_FEWEST = 5
"""Values below which none is wild: two that agree make no third one wrong."""
_RESOLUTION = 1e-9
"""A median deviation below this is rounding, not a scale."""


def typical(values: ArrayLike) -> NDArray[np.bool_]:
    """Which values are not wild: within five robust standard deviations of the median, shape (n,).

    All of them below five values, and where more than half are equal: there is no scale to be far away on.

    Args:
        values: shape (n,), n >= 1, finite.
    """
    array = np.asarray(values, dtype=float)
    away = np.abs(array - np.median(array))
    spread = _SPREAD_OF_MEDIAN * np.median(away)
    scaled = array.size >= _FEWEST and spread > _RESOLUTION
    kept: NDArray[np.bool_] = away <= (_WILD * spread if scaled else math.inf)
    return kept


def centre_of(values: Floats) -> float:
    """The mean of the typical values, shape (n,), n >= 1, finite.

    A mean, so that the ratio of two sides is the quotient of their geometric means over the same pairs.
    """
    return float(np.mean(values[typical(values)]))


def scale_of(values: Floats) -> float:
    """Standard error of `centre_of`: robust spread / sqrt(n); infinite below two values.

    Where more than half of the values are equal the median deviation is zero, and the standard deviation
    stands in.

    Args:
        values: shape (n,), n >= 1, finite.
    """
    if values.size < 2:
        return math.inf
    spread = _SPREAD_OF_MEDIAN * float(np.median(np.abs(values - np.median(values))))
    return (spread or float(np.std(values, ddof=1))) / math.sqrt(values.size)
