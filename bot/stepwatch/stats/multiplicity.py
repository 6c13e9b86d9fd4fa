"""Many benchmarks, one error rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def e_bh(log_e: ArrayLike, *, alpha: float) -> NDArray[np.bool_]:
    """Which hypotheses the e-BH procedure rejects at false discovery rate `alpha`.

    Sort the M e-values downward, take the largest k with e_(k) >= M / (k alpha), reject the k largest
    (Wang and Ramdas 2009.02824). Valid under any dependence between the benchmarks, and each e-value may
    come from its own stopping time.

    Args:
        log_e: shape (M,), natural logarithms of e-values; -inf (nothing tested) counts in M.
        alpha: false discovery rate, in (0, 1).

    Returns:
        Shape (M,), in the order of the input.
    """
    values = np.asarray(log_e, dtype=float)
    count = values.size
    rejected = np.zeros(count, dtype=bool)
    order = np.argsort(-values, kind="stable")
    thresholds = np.log(count / (np.arange(1, count + 1) * alpha)) if count else np.empty(0)
    passing = np.flatnonzero(values[order] >= thresholds)
    if passing.size:
        rejected[order[: passing[-1] + 1]] = True
    return rejected
