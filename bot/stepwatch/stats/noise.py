"""How noisy a benchmark is on this machine: inside a session, between sessions, and in a pair.

Everything is on the log scale, so a standard deviation of 0.01 is a spread of 1 %. Scales are robust (1.4826
times a median absolute deviation, which is the standard deviation of normal noise): one wild session must
not describe a machine. The plain standard deviation of the pairs stands beside it, because the paired test
meets the wild ones too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

_NORMAL = 1.4826
"""Standard deviation of a normal variable / its median absolute deviation."""
_CLIP = 3.0
_FEWEST_LAGGED = 4
"""Values that a lag-1 autocorrelation needs to mean anything."""
_FEWEST_HALVED = 4
"""Samples of a session that can be told apart by halves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of one benchmark and metric; standard deviations of logarithms."""

    within_sd: float | None
    """Of the samples of one session, the median over sessions; None: too few samples in a session."""
    within_autocorrelation: float | None
    """Lag-1, of successive samples of a session, the median over sessions."""
    between_sd: float
    """Of the values of sessions, beyond what the samples inside a session explain."""
    pair_sd: float
    """Plain standard deviation of the pair log ratios."""
    pair_sd_robust: float
    pair_autocorrelation: float | None
    """Lag-1, of successive pair log ratios; None: too few pairs, or all equal."""


def noise_of(
    sessions: Sequence[ArrayLike], differences: ArrayLike, *, summarise: Callable[[ArrayLike], float]
) -> Noise:
    """The components of the noise of one benchmark.

    The value of a session is one statistic of its samples (`summarise`). What sampling contributes to its
    variance is measured by halves: a session's first and second half give two values, each with twice the
    variance of the whole, so half the standard deviation of their difference is that of the whole. Halves
    are contiguous, so autocorrelation shorter than a session is counted as it is. The rest of the variance
    of the session values is between sessions.

    Args:
        sessions: the samples of each session in order, positive and finite; n >= 2 of them.
        differences: shape (m,), m >= 2, pair log ratios in the order they were measured.
        summarise: samples -> the value of a session, in the unit of the samples.

    Raises:
        ValueError: too few sessions or pairs, a value that has no logarithm.
    """
    logs = [np.log(np.asarray(samples, dtype=float)) for samples in sessions]
    pairs = np.asarray(differences, dtype=float)
    if len(logs) < 2 or pairs.size < 2 or not all(np.isfinite(one).all() for one in (*logs, pairs)):
        raise ValueError("noise needs two sessions and two pairs of positive, finite values")
    values = np.array([math.log(summarise(samples)) for samples in sessions])
    halved = [one for one in logs if one.size >= _FEWEST_HALVED]
    gaps = [_half_gap(one, summarise) for one in halved]
    # Gaps are symmetric about zero, so their scale is taken about zero and not about their own median.
    sampling = _NORMAL * float(np.median(np.abs(gaps))) / 2 if gaps else 0.0
    lags = [lag for one in halved if (lag := autocorrelation(one)) is not None]
    return Noise(
        within_sd=float(np.median([robust_sd(one) for one in halved])) if halved else None,
        within_autocorrelation=float(np.median(lags)) if lags else None,
        between_sd=math.sqrt(max(0.0, robust_sd(values) ** 2 - sampling**2)),
        pair_sd=float(np.std(pairs, ddof=1)),
        pair_sd_robust=robust_sd(pairs),
        pair_autocorrelation=autocorrelation(pairs),
    )


def robust_sd(values: ArrayLike) -> float:
    """1.4826 times the median absolute deviation from the median; shape (n,), n >= 1."""
    array = np.asarray(values, dtype=float)
    return _NORMAL * float(np.median(np.abs(array - np.median(array))))


def autocorrelation(values: ArrayLike) -> float | None:
    """Lag-1 autocorrelation about the median, of values clipped at three robust standard deviations.

    Shape (n,). None below four values, and where the values do not vary.
    """
    array = np.asarray(values, dtype=float)
    if array.size < _FEWEST_LAGGED:
        return None
    centred = array - np.median(array)
    bound = _CLIP * robust_sd(array)
    clipped = np.clip(centred, -bound, bound) if bound > 0 else centred
    power = float(np.dot(clipped, clipped))
    return float(np.dot(clipped[1:], clipped[:-1])) / power if power > 0 else None


def _half_gap(logs: NDArray[np.float64], summarise: Callable[[ArrayLike], float]) -> float:
    """Log value of a session's second half less that of its first."""
    middle = logs.size // 2
    first, second = (summarise(np.exp(half)) for half in (logs[:middle], logs[middle:]))
    return math.log(second) - math.log(first)
