"""Compiled inner loops: optimal partitioning on a grid of levels, and backward elimination."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

MAD = 1.4826022185056018
"""Standard deviation over median absolute deviation, of a normal distribution."""


@njit(cache=True)
def partition(z, weight, cut, levels, penalty, bound):
    n = z.size
    count = levels.size
    cost = np.zeros(count)
    start = np.zeros(count, np.int64)
    last = np.zeros(n + 1, np.int64)
    total = 0.0
    for t in range(n):
        reopen = total + penalty if t > 0 and cut[t] else np.inf
        total = np.inf
        best = 0
        for j in range(count):
            value = cost[j]
            if value > reopen:
                value = reopen
                start[j] = t
            distance = z[t] - levels[j]
            distance *= distance * weight[t]
            value += min(distance, bound)
            cost[j] = value
            if value < total:
                total = value
                best = j
        last[t + 1] = start[best]
    return backtrack(last)


@njit(cache=True)
def backtrack(last):
    count = 0
    t = last[last.size - 1]
    while t > 0:
        count += 1
        t = last[t]
    starts = np.empty(count, np.int64)
    t = last[last.size - 1]
    while t > 0:
        count -= 1
        starts[count] = t
        t = last[t]
    return starts


@njit(cache=True)
def median(values):
    """Median of values, shape (n,), n >= 1; `values` is left as it was."""
    ordered = np.sort(values)
    half = ordered.size // 2
    if ordered.size % 2:
        return ordered[half]
    return ordered[half - 1] + 0.5 * (ordered[half] - ordered[half - 1])


@njit(cache=True)
def spread(values, centre):
    """Median absolute deviation from `centre`, as a standard deviation of a normal distribution."""
    return MAD * median(np.abs(values - centre))


@njit(cache=True)
def rank_sum_z(a, b):
    """|z| of the rank-sum test with continuity correction and ties, as in Mann-Whitney."""
    left = np.sort(a)
    right = np.sort(b)
    n, m = left.size, right.size
    i = j = 0
    u = 0.0
    ties = 0.0
    while i < n or j < m:
        if j == m or (i < n and left[i] <= right[j]):
            value = left[i]
        else:
            value = right[j]
        p = i
        while p < n and left[p] == value:
            p += 1
        r = j
        while r < m and right[r] == value:
            r += 1
        u += (r - j) * (i + 0.5 * (p - i))
        tied = float(p - i + r - j)
        ties += tied * (tied * tied - 1.0)
        i, j = p, r
    total = float(n + m)
    variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)))
    if variance <= 0.0:
        return 0.0
    return max(abs(u - 0.5 * n * m) - 0.5, 0.0) / math.sqrt(variance)


@njit(cache=True)
def residuals(x, starts):
    out = np.empty(x.size)
    low = 0
    for i in range(starts.size + 1):
        high = starts[i] if i < starts.size else x.size
        out[low:high] = x[low:high] - median(x[low:high])
        low = high
    return out


@njit(cache=True)
def inflation(r, scale, lags):
    """1 + 2 sum of the leading positive autocorrelations of clipped residuals: variance of a mean, relative to iid."""
    n = r.size
    clipped = np.clip(r / scale, -3.0, 3.0)
    power = np.mean(clipped * clipped)
    q = 1.0
    if power <= 0.0:
        return q
    for k in range(1, min(lags, n - 1) + 1):
        rho = np.sum(clipped[k:] * clipped[: n - k]) / (n * power)
        if rho < 2.0 / math.sqrt(n):
            break
        q += 2.0 * (1.0 - k / (lags + 1.0)) * rho
    return q


@njit(cache=True)
def strength(x, r, low, k, high, floor, q, window, noise_window, rank_z, contrast, min_effect, min_run):
    """Least of the criteria, each relative to its threshold; a change that holds has 1 or more."""
    first = max(low, k - window)
    end = min(high, k + window)
    a = x[first:k]
    b = x[k:end]
    if min(a.size, b.size) < min_run:
        return 0.0
    centre_a, centre_b = median(a), median(b)
    step = abs(centre_b - centre_a)
    noise = max(floor, spread(r[max(0, k - noise_window) : k + noise_window], 0.0))
    if a.size >= 4 and b.size >= 4:
        noise = max(noise, 0.5 * (spread(a, centre_a) + spread(b, centre_b)))
    least = step / (contrast * noise)
    least = min(least, step / min_effect)
    return min(least, rank_sum_z(a, b) / math.sqrt(q) / rank_z)


@njit(cache=True)
def eliminate(x, r, starts, floor, q, window, noise_window, rank_z, contrast, min_effect, min_run):
    """Drop the weakest failing changes until all that remain hold."""
    kept = starts.copy()
    score = np.full(kept.size, -1.0)
    while kept.size:
        for i in range(kept.size):
            if score[i] < 0.0:
                low = kept[i - 1] if i > 0 else 0
                high = kept[i + 1] if i + 1 < kept.size else x.size
                score[i] = strength(
                    x,
                    r,
                    low,
                    kept[i],
                    high,
                    floor,
                    q,
                    window,
                    noise_window,
                    rank_z,
                    contrast,
                    min_effect,
                    min_run,
                )
        drop = np.zeros(kept.size, np.bool_)
        for i in range(kept.size):
            if score[i] >= 1.0:
                continue
            before = score[i - 1] if i > 0 else np.inf
            after = score[i + 1] if i + 1 < kept.size else np.inf
            drop[i] = score[i] < before and score[i] <= after
        if not drop.any():
            break
        for i in range(kept.size):
            if drop[i]:
                if i > 0:
                    score[i - 1] = -1.0
                if i + 1 < kept.size:
                    score[i + 1] = -1.0
        score = score[~drop]
        kept = kept[~drop]
    return kept
