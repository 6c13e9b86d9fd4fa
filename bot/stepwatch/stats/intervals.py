"""Confidence sequences: the nulls that the evidence has not ruled out, found by root search.

The evidence that the centre lies above a null falls as the null rises. The lower end of the interval is where
it crosses 2/alpha, the upper end mirrors it; the two tails share alpha.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.e_process import final_evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stepwatch.stats.e_process import Floats

_FIRST_STEP = 2.0
"""In standard errors: where the search for an end begins."""
_GROWTH = 1.7
_WIDENINGS = 12
"""Steps out before an end counts as infinite: 580 times the first one."""
_ROUNDS = 8
_PRECISION = 0.01
"""Of the logarithm of the evidence at an end: 1 % of alpha."""
_LEAST_STEP = 1e-7
"""Log scale: differences that vary less than the model's smallest spread have no narrower interval."""


def confidence_sequences(
    rows: Sequence[Floats], *, centres: Floats, steps: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Lower and upper ends of level 1 - alpha, valid after every difference.

    Args:
        rows: R arrays of differences, in their order.
        centres: shape (R,): where the evidence on both sides is small.
        steps: shape (R,): the order of magnitude of an interval; infinite where there is none.
        alpha: in (0, 1).

    Returns:
        Two arrays of shape (R,); infinite where no null on that side is ruled out.
    """
    count = len(rows)
    ends = np.full(2 * count, math.inf)
    open_rows = np.flatnonzero(np.isfinite(np.tile(steps, 2)))
    if open_rows.size:
        search = _Search(
            rows=[rows[index % count] for index in open_rows.tolist()],
            centres=np.tile(centres, 2)[open_rows],
            sides=np.repeat([1.0, -1.0], count)[open_rows],
            threshold=math.log(2 / alpha),
        )
        ends[open_rows] = search.distances(np.maximum(np.tile(steps, 2)[open_rows], _LEAST_STEP))
    return centres - ends[:count], centres + ends[count:]


class _Search:
    """Distances from the centres at which the evidence reaches the threshold, all rows in step."""

    def __init__(self, *, rows: Sequence[Floats], centres: Floats, sides: Floats, threshold: float) -> None:
        self._rows, self._centres, self._sides, self._threshold = rows, centres, sides, threshold

    def distances(self, steps: Floats) -> Floats:
        """Shape (R,), infinite where the evidence never gets there."""
        near = np.zeros(steps.size)
        excess_near = self._excess(near, np.arange(steps.size))
        far = _FIRST_STEP * steps
        excess_far = self._excess(far, np.arange(steps.size))
        for _ in range(_WIDENINGS):
            short = np.flatnonzero(excess_far < 0)
            if not short.size:
                break
            near[short], excess_near[short] = far[short], excess_far[short]
            far[short] *= _GROWTH
            excess_far[short] = self._excess(far, short)
        reached = excess_far >= 0
        self._narrow(near, far, excess_near, excess_far, reached)
        return np.where(reached, far, math.inf)

    def _narrow(
        self, near: Floats, far: Floats, excess_near: Floats, excess_far: Floats, reached: NDArray[np.bool_]
    ) -> None:
        """Move `far` in to the crossing by regula falsi, halving a stale end's weight (Illinois)."""
        for _ in range(_ROUNDS):
            busy = np.flatnonzero(reached & (excess_far > _PRECISION) & (excess_near < 0))
            if not busy.size:
                return
            share = excess_near[busy] / (excess_near[busy] - excess_far[busy])
            middle = near.copy()
            middle[busy] = near[busy] + np.clip(share, 0.05, 0.95) * (far[busy] - near[busy])
            excess = self._excess(middle, busy)
            beyond = excess >= 0
            outer, inner = busy[beyond], busy[~beyond]
            far[outer], excess_far[outer] = middle[outer], excess[beyond]
            excess_near[outer] /= 2
            near[inner], excess_near[inner] = middle[inner], excess[~beyond]

    def _excess(self, distances: Floats, which: NDArray[np.int64]) -> Floats:
        """Log evidence less the threshold for some rows, shape (len(which),)."""
        nulls = self._centres[which] - self._sides[which] * distances[which]
        rows = [self._rows[index] for index in which.tolist()]
        found: Floats = final_evidence(rows, nulls, self._sides[which]) - self._threshold
        return found
