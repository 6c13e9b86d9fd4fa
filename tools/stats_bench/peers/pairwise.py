"""Ways of others to compare two sides: fixed numbers of sessions, repeated looks, whole iterations pooled.

Outcomes are +1 (head slower), -1 (head faster), 0 (no call), and `SAME` where a method can say so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from asv._stats import is_different
from asv_runner.statistics import compute_stats
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]
    Outcome = tuple[Codes, Codes]

SAME = 2
FIRST_LOOK = 4
LOOKS = (6, 12, 18, 24, 30)
OBRIEN_FLEMING = (4.562, 3.226, 2.634, 2.281, 2.040)


def t_values(differences: Floats, null: float = 0.0) -> Floats:
    """One-sample t after each pair: shape (repetitions, n), NaN before the second pair."""
    counts = np.arange(1, differences.shape[1] + 1)
    means = np.cumsum(differences, axis=1) / counts
    squares = np.cumsum(differences**2, axis=1) - counts * means**2
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares, 0) / (counts - 1) / counts)
        return (means - null) / spread


def _first(hit: NDArray[np.bool_], looks: Codes) -> tuple[NDArray[np.bool_], Codes]:
    """Whether any look hits, and its pair number (the last look where none does)."""
    some = hit.any(axis=1)
    return some, np.where(some, looks[hit.argmax(axis=1)], looks[-1])


def fixed_t(differences: Floats, *, pairs: int = 10, alpha: float = 0.05) -> Outcome:
    """One t-test after `pairs` pairs; shape (repetitions, n >= pairs)."""
    t = t_values(differences[:, :pairs])[:, -1]
    called = 2 * stats.t.sf(np.abs(t), pairs - 1) < alpha
    return np.where(called, np.sign(t), 0).astype(int), np.full(t.size, pairs)


def peeking_t(differences: Floats, *, alpha: float = 0.05) -> Outcome:
    """A t-test after every pair from the fourth on, stopping at the first p < alpha: what people do."""
    looks = np.arange(FIRST_LOOK, differences.shape[1] + 1)
    t = t_values(differences)[:, looks - 1]
    some, used = _first(2 * stats.t.sf(np.abs(t), looks - 1) < alpha, looks)
    sign = np.sign(t[np.arange(t.shape[0]), used - FIRST_LOOK])
    return np.where(some, sign, 0).astype(int), used


def obrien_fleming(differences: Floats) -> Outcome:
    """Group-sequential t-test with five looks planned at 6, 12, 18, 24, 30 pairs."""
    looks = np.array(LOOKS)
    t = t_values(differences)[:, looks - 1]
    hit = stats.norm.isf(stats.t.sf(np.abs(t), looks - 1)) >= np.array(OBRIEN_FLEMING)
    some, used = _first(hit, looks)
    sign = np.sign(t[np.arange(t.shape[0]), used // 6 - 1])
    return np.where(some, sign, 0).astype(int), used


def log_e_values(differences: Floats, null: float) -> Floats:
    """The t e-process with prior normal(0, 1), after each pair: shape (repetitions, n), 0 before the second.

    E_n = k^(-1/2) [(1 + t^2/(n-1)) / (1 + t^2/((n-1) k))]^(n/2), k = 1 + n (Wang and Ramdas 2310.03722).
    """
    n = np.arange(1, differences.shape[1] + 1)
    t = t_values(differences, null)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = t**2 / (n - 1)
        value = -0.5 * np.log(1 + n) + 0.5 * n * (np.log1p(square) - np.log1p(square / (1 + n)))
    value[:, :1] = 0.0
    return value


def plain_e_process(differences: Floats, *, margin: float = 0.0, alpha: float = 0.05) -> Outcome:
    """The textbook always-valid t-test of "no difference", from the fourth pair on.

    With a `margin` (log scale) it also stops as equivalent once both nulls +-margin are refuted.
    """
    looks = np.arange(FIRST_LOOK, differences.shape[1] + 1)
    different = log_e_values(differences, 0.0)[:, looks - 1] >= np.log(1 / alpha)
    t = t_values(differences)[:, looks - 1]
    same = np.zeros_like(different)
    if margin:
        low, high = t_values(differences, -margin)[:, looks - 1], t_values(differences, margin)[:, looks - 1]
        evidence = np.minimum(log_e_values(differences, -margin), log_e_values(differences, margin))
        same = (low > 0) & (high < 0) & (evidence[:, looks - 1] >= np.log(1 / (2 * alpha)))
    some, used = _first(different | same, looks)
    at = (np.arange(t.shape[0]), used - FIRST_LOOK)
    call = np.where(different[at], np.sign(t[at]), np.where(same[at], SAME, 0))
    return np.where(some, call, 0).astype(int), used


def sign_flip_p(differences: Floats, generator: np.random.Generator) -> Floats:
    """P of the paired sign-flip test on differences clipped at 3 robust sd; shape (rows, n) to (rows,).

    All 2^n patterns up to n = 12, else 4000 random ones.
    """
    n = differences.shape[1]
    reach = 3 * 1.4826 * np.median(np.abs(differences), axis=1, keepdims=True)
    clipped = np.clip(differences, -reach, reach)
    patterns = _all_signs(n) if n <= 12 else np.where(generator.random((4000, n)) < 0.5, -1.0, 1.0)
    observed = np.abs(clipped.sum(axis=1, keepdims=True))
    return np.mean(np.abs(clipped @ patterns.T) >= observed * (1 - 1e-12), axis=1)


@lru_cache(maxsize=4)
def _all_signs(n: int) -> Floats:
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return np.where(bits, 1.0, -1.0)


def benjamini_hochberg(p: Floats, *, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Which of the hypotheses are rejected at false discovery rate alpha."""
    order = np.argsort(p)
    passing = np.flatnonzero(p[order] <= alpha * np.arange(1, p.size + 1) / p.size)
    rejected = np.zeros(p.size, dtype=bool)
    if passing.size:
        rejected[order[: passing[-1] + 1]] = True
    return rejected


def asv_different(base: Floats, head: Floats) -> int:
    """Asv's own test on all iterations of all sessions of a side, as one list."""
    left, right = base.ravel().tolist(), head.ravel().tolist()
    (middle, left_stats), (other, right_stats) = compute_stats(left, 1), compute_stats(right, 1)
    if not is_different(left, right, left_stats, right_stats):
        return 0
    return int(np.sign(other - middle))


def asv_compare(base: Floats, head: Floats, *, factor: float = 1.1) -> int:
    """`asv compare` and `asv continuous`: different by asv's test, and by the factor 1.1."""
    ratio = np.median(head) / np.median(base)
    return asv_different(base, head) if max(ratio, 1 / ratio) > factor else 0


def _call(p: float, base: Floats, head: Floats, alpha: float = 0.05) -> int:
    return int(np.sign(np.median(head) - np.median(base))) if p < alpha else 0


def mann_whitney_pooled(base: Floats, head: Floats) -> int:
    """Mann-Whitney on all iterations as if they were independent."""
    return _call(stats.mannwhitneyu(base.ravel(), head.ravel()).pvalue, base, head)


def mann_whitney_sessions(base: Floats, head: Floats) -> int:
    """Mann-Whitney on one median per session, as benchstat does with one value per run."""
    left, right = np.median(base, axis=1), np.median(head, axis=1)
    return _call(stats.mannwhitneyu(left, right).pvalue, left, right)


def welch_sessions(base: Floats, head: Floats) -> int:
    """Welch's t-test on the log of one median per session."""
    left, right = np.log(np.median(base, axis=1)), np.log(np.median(head, axis=1))
    return _call(stats.ttest_ind(left, right, equal_var=False).pvalue, left, right)


def sign_flip_sessions(base: Floats, head: Floats) -> int:
    """Paired sign-flip test on the log of one median per session."""
    differences = np.log(np.median(head, axis=1)) - np.log(np.median(base, axis=1))
    p = sign_flip_p(differences[None, :], np.random.default_rng(0))[0]
    return int(np.sign(np.median(differences))) if p < 0.05 else 0
