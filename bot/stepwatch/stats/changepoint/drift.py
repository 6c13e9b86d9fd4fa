"""Slow movement against a reference: what no step explains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, stdtrit

from stepwatch.stats.changepoint.results import Drift

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepwatch.stats.changepoint.settings import Settings

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BLOCKS = 12
LEAST_BLOCK = 5
TREND_P = 1e-3
"""Two-sided p of the trend test from which a movement counts as steady."""
LATER = np.triu(np.ones((BLOCKS, BLOCKS), dtype=bool), 1)
"""Shape (BLOCKS, BLOCKS): the second block comes after the first."""


def find_drift(values: Floats, place: Ints, since: int, settings: Settings) -> Drift | None:
    """Whether the level has moved, slowly, from where it was at `since`.

    The stretch from `since` on is cut into 12 blocks; their medians must rise (or fall) steadily by the test
    of Mann (1945), and the mean of the last two must differ from that of the first two by the minimal effect
    and by more than its error. Blocks are long against autocorrelation, so their medians are nearly
    independent; their own scatter about a line gives the error.

    Args:
        values: shape (m,), measured points, all positive.
        place: shape (m,), their indices in the series as given.
        since: first measured point of the reference.
        settings: minimal effect and confidence.
    """
    stretch = values[since:]
    if stretch.size < BLOCKS * LEAST_BLOCK or stretch.min() <= 0:
        return None
    length = stretch.size // BLOCKS
    # The newest points always count; up to eleven of the oldest are left over.
    blocks = np.sort(np.log(stretch[-BLOCKS * length :]).reshape(BLOCKS, length), axis=1)
    medians = 0.5 * (blocks[:, (length - 1) // 2] + blocks[:, length // 2])
    if _trend_p(medians) > TREND_P:
        return None
    moved = float(np.mean(medians[-2:]) - np.mean(medians[:2]))
    at = np.arange(BLOCKS) - (BLOCKS - 1) / 2
    slope = float(at @ medians / (at @ at))
    scatter = medians - medians.mean() - slope * at
    noise = math.sqrt(float(scatter @ scatter) / (BLOCKS - 2))
    half = float(stdtrit(BLOCKS - 2, 0.5 + 0.5 * settings.confidence)) * noise
    if abs(moved) < max(half, -math.log1p(-settings.min_effect)):
        return None
    return Drift(
        since=int(place[since]),
        ratio=math.exp(moved),
        ratio_low=math.exp(moved - half),
        ratio_high=math.exp(moved + half),
    )


def _trend_p(medians: Floats) -> float:
    """Two-sided p of Mann's test of a trend, normal approximation with continuity correction."""
    n = medians.size
    rises = medians[None, :] > medians[:, None]
    # Pairs that rise less pairs that fall; the matrix holds a pair's rise above its diagonal, its fall below.
    score = float((rises & LATER).sum()) - float((rises & LATER.T).sum())
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return 2.0 * float(ndtr(-max(abs(score) - 1.0, 0.0) / deviation))
