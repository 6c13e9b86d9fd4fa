"""A change-point alert in the manner of Mozilla's Perfherder, written from its published description.

Around every point the 12 points before and the 12 points from it on are compared by a t statistic; a point
alerts where |t| >= 7, where no neighbour has a larger |t|, and where the means differ by 2 %. Plain Python
over windows, as the original is, so that its time is a fair one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def weights(count: int) -> list[float]:
    """Linear weights of a window: 1 for the point next to the place, 1/count for the farthest."""
    return [(count - i) / count for i in range(count)]


def _moments(window: Sequence[float]) -> tuple[float, float]:
    """Weighted mean and variance; window[0] is the nearest point."""
    parts = weights(len(window))
    total = sum(parts)
    mean = sum(w * x for w, x in zip(parts, window, strict=True)) / total
    spread = sum(w * (x - mean) ** 2 for w, x in zip(parts, window, strict=True))
    effective = total - sum(w * w for w in parts) / total
    return mean, spread / effective if effective > 0 else 0.0


def statistic(back: Sequence[float], fore: Sequence[float]) -> float:
    """Welch's t of two windows, weighted towards the place between them; infinite for two constants."""
    (before, spread_before), (after, spread_after) = _moments(back), _moments(fore)
    error = math.sqrt(spread_before / len(back) + spread_after / len(fore))
    if error > 0:
        return (after - before) / error
    return math.copysign(math.inf, after - before) if after != before else 0.0


def detect(
    values: Sequence[float], *, back: int = 12, fore: int = 12, threshold: float = 7.0, least: float = 0.02
) -> list[int]:
    """Indices of alerts in `values`, shape (n,).

    Args:
        values: the series in time order.
        back: points before the place that are looked at (the first `back` places are never judged).
        fore: points from the place on that are needed.
        threshold: least |t|.
        least: least relative difference of the two plain means.
    """
    series = [float(value) for value in values]
    places = range(back, len(series) - fore + 1)
    t = {i: statistic(series[i - back : i][::-1], series[i : i + fore]) for i in places}
    found = []
    for i in places:
        size = abs(t[i])
        beaten = size < abs(t.get(i - 1, 0.0)) or size <= abs(t.get(i + 1, 0.0))
        if size < threshold or beaten:
            continue
        before, after = sum(series[i - back : i]) / back, sum(series[i : i + fore]) / fore
        if before == 0 or abs(after / before - 1) >= least:
            found.append(i)
    return found
