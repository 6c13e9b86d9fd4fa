"""Series that repeat to the digit: bytes, counts. There any difference that stays is a change."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.results import ChangePoint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepwatch.stats.changepoint.settings import Settings

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

REPEATS = 0.75
"""From this share of neighbours that are equal on, a series is exact without being told so."""
REPEATS_WHEN_TOLD = 0.5
"""Below this share even a metric said to be exact is treated as noisy: it does not repeat."""
LEAST_POINTS = 6


def is_exact(values: Floats, *, told: bool) -> bool:
    """Whether neighbours repeat to the digit.

    Args:
        values: shape (m,), the measured points.
        told: the caller knows that the metric is exact.
    """
    if values.size < (2 if told else LEAST_POINTS):
        return False
    repeats = int(np.count_nonzero(values[1:] == values[:-1])) / (values.size - 1)
    return repeats >= (REPEATS_WHEN_TOLD if told else REPEATS)


def exact_changes(values: Floats, place: Ints, settings: Settings) -> tuple[ChangePoint, ...]:
    """Every step between two values that each repeat for `min_run` points.

    Shorter runs are no level. The index is the first point of the new level's run; what lies between the runs
    belongs to the blame range. There is no noise: the interval of the ratio is the ratio, the p-value is 0.

    Args:
        values: shape (m,), measured points.
        place: shape (m,), their indices in the series as given.
        settings: `min_run`.
    """
    starts = np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1))
    ends = np.concatenate((starts[1:], [values.size]))
    lasting = [(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b - a >= settings.min_run]
    changes = []
    for (_, end), (begin, _) in pairwise(lasting):
        before, level = float(values[end - 1]), float(values[begin])
        if before == level:
            continue
        ratio = level / before if before > 0 and level > 0 else None
        changes.append(
            ChangePoint(
                index=int(place[begin]),
                after=int(place[end - 1]),
                through=int(place[begin]),
                ratio=ratio,
                ratio_low=ratio,
                ratio_high=ratio,
                p_value=0.0,
                before=before,
                level=level,
            )
        )
    return tuple(changes)
