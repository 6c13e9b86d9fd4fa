"""How strongly the neighbourhood of one candidate speaks for a lasting step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stepwatch.stats.changepoint.compiling import compiled
from stepwatch.stats.changepoint.robust import CLIP, clip, median, rank_sum_z, spread

if TYPE_CHECKING:
    from stepwatch.stats.changepoint.compiling import Floats

HUBER = 1.5
"""Where the one-step mean stops listening to a point, in noise units."""
OVERWHELMING = 6.0
"""From this z of the means on, times 1 + FEW / n, sides without overlap need no rank-sum: it is the chance of
1e-9 if the noise is known, and with few points it is not."""
FEW = 20.0
LEAST_FOR_SIDE_NOISE = 15
LEAST_FOR_SPREAD = 4
LEAST_FOR_TREND = 8
LEAST_FOR_SLOPE = 12


class Limits(NamedTuple):
    """`Settings` as compiled code wants them: plain numbers, sizes in noise units. Meanings as there."""

    window: int
    reach: int
    noise_window: int
    trend_window: int
    trend_t: float
    line_window: int
    line_margin: float
    movement_window: int
    movement_reach: int
    movement: float
    rank_z: float
    brief_discount: float
    rank_inflation: float
    mean_z: float
    long_discount: float
    contrast: float
    min_effect: float
    min_run: int
    excursion: int
    position_reach: int


class Evidence(NamedTuple):
    """What was found around a candidate; lengths in noise units."""

    shorter: float
    """Points in the shorter of the two stretches, at most `reach`."""
    step: float
    """Difference of the medians of the two windows, without what a trend explains; not negative."""
    noise: float
    """Local noise of one point."""
    mean_z: float
    """Step of the one-step means over its standard error, autocorrelation included."""
    rank_z: float
    movement: float
    """Largest move between adjacent windows elsewhere in the neighbourhood."""


@compiled
def local_noise(x: Floats, r: Floats, first: int, k: int, end: int, reach: int) -> float:
    """Noise of one point around k: the noisier side, the noisier estimate; at least 1 (the series' own)."""
    noise = max(1.0, spread(r[max(0, k - reach) : k + reach], 0.0))
    if k >= LEAST_FOR_SIDE_NOISE:
        noise = max(noise, spread(r[max(0, k - reach) : k], 0.0))
    if x.size - k >= LEAST_FOR_SIDE_NOISE:
        noise = max(noise, spread(r[k : k + reach], 0.0))
    if min(k - first, end - k) >= LEAST_FOR_SPREAD:
        left, right = x[first:k], x[k:end]
        noise = max(noise, 0.5 * (spread(left, median(left)) + spread(right, median(right))))
    return noise


@compiled
def side_slope(x: Floats, low: int, high: int, noise: float) -> tuple[float, float]:
    """Least-squares slope of clipped x[low:high] per point, and the sum of squares of its abscissae."""
    n = high - low
    if n < LEAST_FOR_SLOPE:
        return 0.0, 0.0
    centre = median(x[low:high])
    middle = 0.5 * (n - 1)
    product = 0.0
    for i in range(n):
        product += (i - middle) * clip(x[low + i] - centre, CLIP * noise)
    squares = n * (n * n - 1.0) / 12.0
    return product / squares, squares


@compiled
def trends(
    x: Floats, low: int, k: int, high: int, noise: float, inflation: float, limits: Limits
) -> tuple[float, float]:
    """Slopes left and right of k that are beyond doubt, 0 otherwise: each side's own, or one for both."""
    left, left_squares = side_slope(x, max(low, k - limits.trend_window), k, noise)
    right, right_squares = side_slope(x, k, min(high, k + limits.trend_window), noise)
    error = limits.trend_t * noise * math.sqrt(inflation)
    common = 0.0
    if left_squares + right_squares > 0.0:
        common = (left * left_squares + right * right_squares) / (left_squares + right_squares)
        if abs(common) * math.sqrt(left_squares + right_squares) < error:
            common = 0.0
    if abs(left) * math.sqrt(left_squares) < error:
        left = 0.0
    if abs(right) * math.sqrt(right_squares) < error:
        right = 0.0
    if abs(2.0 * common) > abs(left + right):
        return common, common
    return left, right


@compiled
def line_beats_step(x: Floats, low: int, k: int, high: int, noise: float, limits: Limits) -> bool:
    """Whether one straight line explains the neighbourhood of k better than two levels do."""
    first, end = max(low, k - limits.line_window), min(high, k + limits.line_window)
    left, right = k - first, end - k
    if min(left, right) < LEAST_FOR_TREND:
        return False
    before, after = median(x[first:k]), median(x[k:end])
    n = left + right
    middle = 0.5 * (n - 1)
    squares = product = sum_left = sum_right = 0.0
    for i in range(n):
        level = before if i < left else after
        value = level - before + clip(x[first + i] - level, CLIP * noise)
        squares += value * value
        product += (i - middle) * value
        if i < left:
            sum_left += value
        else:
            sum_right += value
    line = squares - (sum_left + sum_right) ** 2 / n - product**2 / (n * (n * n - 1.0) / 12.0)
    step = squares - sum_left**2 / left - sum_right**2 / right
    return line < step - limits.line_margin * noise * noise


@compiled
def largest_move(r: Floats, low: int, high: int, width: int, noise: float) -> float:
    """Largest |mean of `width` residuals minus mean of the `width` before| in r[low:high]."""
    total = 0.0
    largest = 0.0
    bound = CLIP * noise
    for i in range(low, high):
        total += clip(r[i], bound)
        if i - low >= width:
            total -= 2.0 * clip(r[i - width], bound)
        if i - low >= 2 * width:
            total += clip(r[i - 2 * width], bound)
        if i - low >= 2 * width - 1:
            largest = max(largest, abs(total))
    return largest / width


@compiled
def one_step_mean(values: Floats, centre: float, noise: float) -> float:
    """Mean of values, shape (n,), each pulled to within 1.5 noise units of `centre`."""
    total = 0.0
    for value in values:
        total += clip(value - centre, HUBER * noise)
    return centre + total / values.size


@compiled
def detrended(x: Floats, low: int, high: int, origin: int, slope: float) -> Floats:
    """x[low:high] minus a line of that slope per point through 0 at `origin`."""
    out = np.empty(high - low)
    for i in range(low, high):
        out[i - low] = x[i] - slope * (i - origin)
    return out


@compiled
def are_apart(left: Floats, right: Floats) -> bool:
    """Whether all of one side, shape (a,), lies above all of the other, shape (b,)."""
    return bool(left.max() < right.min() or right.max() < left.min())


@compiled
def weigh(x: Floats, r: Floats, low: int, k: int, high: int, inflation: float, limits: Limits) -> Evidence:
    """The evidence for a step at k between two stretches x[low:k] and x[k:high] of a series.

    Args:
        x: shape (n,), in noise units.
        r: shape (n,), residuals of x about the levels of the present segmentation.
        low: first point of the left stretch.
        k: first point of the right stretch.
        high: end of the right stretch.
        inflation: variance of a mean relative to independent points.
        limits: windows and thresholds.
    """
    first, end = max(low, k - limits.window), min(high, k + limits.window)
    left, right = x[first:k], x[k:end]
    before, after = median(left), median(right)
    noise = local_noise(x, r, first, k, end, limits.noise_window)
    far_first, far_end = max(low, k - limits.reach), min(high, k + limits.reach)

    raw = after - before
    slope_left, slope_right = trends(x, low, k, high, noise, inflation, limits)
    explained = 0.5 * (slope_left * left.size + slope_right * right.size)
    step = abs(raw)
    if explained * raw > 0.0:
        step = max(step - abs(explained), 0.0)
    else:
        slope_left = slope_right = 0.0
    far_left = detrended(x, far_first, k, k, slope_left)
    far_right = detrended(x, k, far_end, k, slope_right)
    share = step / abs(raw) if raw != 0.0 else 0.0
    if line_beats_step(x, low, k, high, noise, limits):
        step = share = 0.0

    shift = abs(one_step_mean(right, after, noise) - one_step_mean(left, before, noise)) * share
    error = noise * math.sqrt(inflation * (1.0 / far_left.size + 1.0 / far_right.size))
    width = min(left.size, right.size, limits.movement_window)
    near, far = max(0, k - limits.movement_reach), min(x.size, k + limits.movement_reach)
    mean_z = shift / error
    rank_z = rank_sum_z(far_left, far_right) / inflation**limits.rank_inflation
    if mean_z > OVERWHELMING * (1.0 + FEW / x.size) and are_apart(far_left, far_right):
        # Few points cannot rank high, however far apart they lie; then their distance speaks alone.
        rank_z = max(rank_z, limits.rank_z)
    return Evidence(
        float(min(far_left.size, far_right.size)),
        step,
        noise,
        mean_z,
        rank_z,
        largest_move(r, near, far, width, noise),
    )


@compiled
def strength(evidence: Evidence, limits: Limits) -> float:
    """The least of the criteria, each over its threshold: 1 or more holds, less fails."""
    if evidence.shorter < limits.min_run:
        return 0.0
    # A level that lasts needs less proof per point: chance rarely holds out so long.
    lasting = min(max((evidence.shorter - 5.0) / 25.0, 0.0), 1.0)
    weakest = evidence.step / (limits.contrast * evidence.noise)
    weakest = min(weakest, evidence.step / limits.min_effect)
    weakest = min(weakest, evidence.mean_z / (limits.mean_z * (1.0 - limits.long_discount * lasting)))
    # A few points cannot rank higher than their number allows, however clear the step.
    brief = min(max((6.0 - evidence.shorter) / 2.0, 0.0), 1.0)
    weakest = min(weakest, evidence.rank_z / (limits.rank_z * (1.0 - limits.brief_discount * brief)))
    if evidence.movement > 0.0:
        weakest = min(weakest, evidence.step / (limits.movement * evidence.movement))
    return weakest
