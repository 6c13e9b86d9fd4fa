"""Keep the candidates that hold: weakest first, the rest judged again in longer stretches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.compiling import compiled, part
from stepwatch.stats.changepoint.constants import TAIL_FREEDOM
from stepwatch.stats.changepoint.evidence import strength, weigh
from stepwatch.stats.changepoint.robust import centre_stretch, median

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepwatch.stats.changepoint.compiling import Floats, Ints
    from stepwatch.stats.changepoint.evidence import Limits

UNKNOWN = -1.0
RETURNED = 0.5
"""A level has returned when what is left of the step is less than this share of it."""


@compiled
def eliminate(x: Floats, r: Floats, starts: Ints, inflation: float, limits: Limits) -> Ints:
    """The changes among `starts` that hold with only each other as neighbours.

    In every round each failing change that is weaker than its neighbours goes, then what touched it is judged
    again. When all hold, the shortest excursion goes, if there is one. Rounds, not one change at a time: a
    noisy series of millions of points has hundreds of thousands of candidates.

    Args:
        x: shape (n,), in noise units.
        r: shape (n,), residuals of x about the levels of `starts`; kept up to date.
        starts: rising indices of the first points of the candidate levels.
        inflation: variance of a mean relative to independent points.
        limits: windows and thresholds.
    """
    kept = starts
    scores = np.empty(starts.size)
    for i in range(starts.size):
        scores[i] = UNKNOWN
    while kept.size:
        judge(x, r, kept, scores, inflation, limits)
        stays = weakest_removed(scores)
        remain = count_true(stays)
        if remain == kept.size:
            stays = excursion_removed(x, kept, limits)
            remain = count_true(stays)
            if remain == kept.size:
                break
        refresh_residuals(x, r, kept, stays)
        fewer = np.empty(remain, np.int64)
        fewer_scores = np.empty(remain)
        j = 0
        for i in range(kept.size):
            if stays[i]:
                touched = (i > 0 and not stays[i - 1]) or (i + 1 < kept.size and not stays[i + 1])
                fewer[j] = kept[i]
                fewer_scores[j] = UNKNOWN if touched else scores[i]
                j += 1
        kept = fewer
        scores = fewer_scores
    return kept


@compiled
def count_true(mask: NDArray[np.bool_]) -> int:
    """How many entries of the mask are true."""
    count = 0
    for value in mask:
        if value:
            count += 1
    return count


@part
def judge(x: Floats, r: Floats, kept: Ints, scores: Floats, inflation: float, limits: Limits) -> None:
    """Fill in the scores, shape (m,) like kept, that are unknown."""
    for i in range(kept.size):
        if scores[i] == UNKNOWN:
            low = kept[i - 1] if i > 0 else 0
            high = kept[i + 1] if i + 1 < kept.size else x.size
            scores[i] = strength(weigh(x, r, low, kept[i], high, inflation, limits), limits)


@part
def weakest_removed(scores: Floats) -> NDArray[np.bool_]:
    """Mask of what stays: all but the failing ones that are weaker than both neighbours."""
    stays = np.empty(scores.size, np.bool_)
    for i in range(scores.size):
        before = scores[i - 1] if i > 0 else np.inf
        after = scores[i + 1] if i + 1 < scores.size else np.inf
        stays[i] = scores[i] >= 1.0 or scores[i] >= before or scores[i] > after
    return stays


@part
def excursion_removed(x: Floats, kept: Ints, limits: Limits) -> NDArray[np.bool_]:
    """Mask of what stays: all but both ends of the shortest level that came back in `excursion` points."""
    shortest = limits.excursion
    chosen = -1
    for i in range(kept.size - 1):
        begin, end = kept[i], kept[i + 1]
        if end - begin >= shortest:
            continue
        low = kept[i - 1] if i > 0 else 0
        high = kept[i + 2] if i + 2 < kept.size else x.size
        before = median(x[max(low, begin - limits.window) : begin])
        after = median(x[end : min(high, end + limits.window)])
        level = median(x[begin:end])
        if abs(after - before) < RETURNED * min(abs(level - before), abs(level - after)):
            chosen = i
            shortest = end - begin
    stays = np.empty(kept.size, np.bool_)
    for i in range(kept.size):
        stays[i] = chosen < 0 or (i != chosen and i != chosen + 1)
    return stays


@part
def refresh_residuals(x: Floats, r: Floats, kept: Ints, stays: NDArray[np.bool_]) -> None:
    """Residuals of the stretches that grow when only `stays` remain."""
    low = 0
    grown = False
    for i in range(kept.size + 1):
        if i < kept.size and not stays[i]:
            grown = True
            continue
        high = kept[i] if i < kept.size else x.size
        if grown:
            centre_stretch(x, low, high, r)
        low = high
        grown = False


@compiled
def surprise(deviation: float) -> float:
    """Twice the negative log likelihood of Student's t with 4 degrees of freedom, up to a constant."""
    return (TAIL_FREEDOM + 1.0) * math.log1p(deviation * deviation / TAIL_FREEDOM)


@part
def best_place(x: Floats, may_cut: NDArray[np.bool_], low: int, k: int, high: int, limits: Limits) -> int:
    """Where near k a step between x[low:k] and x[k:high] fits best, by the likelihood of Student's t.

    The partition places a change where the grid of levels and the changes around it suggest; after some of
    those are gone another place can be better. Not by its bounded distances: they leave a point that lies far
    from both levels undecided.
    """
    for _ in range(3):
        before = median(x[max(low, k - limits.window) : k])
        after = median(x[k : min(high, k + limits.window)])
        first, last = (
            max(low + limits.min_run, k - limits.position_reach),
            min(high - limits.min_run, k + limits.position_reach),
        )
        cost = 0.0
        least = math.inf
        best = k
        for j in range(first, last + 1):
            if may_cut[j] and cost < least - 1e-9:
                least = cost
                best = j
            if j < last:
                cost += surprise(x[j] - before) - surprise(x[j] - after)
        if best == k:
            break
        k = best
    return k


@compiled
def settle(x: Floats, may_cut: NDArray[np.bool_], starts: Ints, limits: Limits) -> Ints:
    """Each change of `starts` at its best place between its neighbours; rising, without repeats."""
    placed = np.empty(starts.size, np.int64)
    count = 0
    for i in range(starts.size):
        low = placed[count - 1] if count else 0
        high = starts[i + 1] if i + 1 < starts.size else x.size
        place = best_place(x, may_cut, low, starts[i], high, limits)
        if place > low:
            placed[count] = place
            count += 1
    return placed[:count]


@compiled
def possible_places(
    z: Floats,
    may_cut: NDArray[np.bool_],
    edges: tuple[int, int, int],
    noise: float,
    margin: float,
    limits: Limits,
) -> tuple[int, int]:
    """First and last place whose likelihood is within `margin` of the best one's, widened to hold k."""
    low, k, high = edges
    reach = 2 * limits.window
    first, last = max(low + 1, k - reach), min(high - 1, k + reach)
    before = median(z[max(low, k - limits.window) : k])
    after = median(z[k : min(high, k + limits.window)])
    cost = np.zeros(last - first + 1)
    least = math.inf
    for j in range(first, last + 1):
        i = j - first
        if i:
            cost[i] = cost[i - 1] + (
                surprise((z[j - 1] - before) / noise) - surprise((z[j - 1] - after) / noise)
            )
        if may_cut[j]:
            least = min(least, cost[i])
    earliest, latest = k, k
    for j in range(first, last + 1):
        if may_cut[j] and cost[j - first] <= least + margin:
            earliest, latest = min(earliest, j), max(latest, j)
    return earliest, latest
