"""Stop at the first decision: what `pairs` and `compare` do with one benchmark, for many rows at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.e_process import EProcess, two_sided
from stepwatch.stats.pairwise import FEWEST_CALLED, FEWEST_SAME

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from stepwatch.stats.e_process import Floats

ABOVE, BELOW, WITHIN, UNDECIDED = 1, -1, 2, 0
"""Codes of the decisions."""
SAME_FACTOR = 2.0
"""`unchanged` asks for 2/alpha on either side, as the ends of the interval do: the interval of an unchanged
row lies within the minimal effect, but for the precision of its ends (docs/adr/0007)."""
_SIDES = np.array([1.0, -1.0, -1.0, 1.0])
_ROWS_AT_ONCE = 16
"""Times four tests each: few enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """The two margins and the error rate; fractions (.02: 2 %), as policies write them."""

    floor: float
    min_effect: float
    """0: nothing is ever called unchanged."""
    alpha: float
    family: int = 1
    """Rows judged together, among which this one changes alone: e-BH asks that many times the evidence."""

    @property
    def log_floor(self) -> float:
        """The floor on the log scale."""
        return math.log1p(self.floor)

    @property
    def log_min_effect(self) -> float:
        """The minimal effect on the log scale."""
        return math.log1p(self.min_effect)

    @property
    def log_call(self) -> float:
        """Natural logarithm of the e-value that calls a change: family/alpha."""
        return math.log(self.family / self.alpha)

    @property
    def log_same(self) -> float:
        """Natural logarithm of the e-value that proves a row unchanged: `SAME_FACTOR` / alpha."""
        return math.log(SAME_FACTOR / self.alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """How R rows ended."""

    codes: NDArray[np.int8]
    """Shape (R,): +1 above, -1 below, 2 within the minimal effect, 0 undecided."""
    pairs: NDArray[np.int64]
    """Shape (R,): differences looked at until the decision; all of them where there was none."""


def sequential_outcomes(differences: ArrayLike, margins: Margins) -> Decisions:
    """Look at every row after each of its differences and stop it at its first decision.

    A row is called above or below once "beyond the floor" has an e-value of family/alpha, from
    `FEWEST_CALLED` differences on; else within once "within the minimal effect" has one of 2/alpha, from
    `FEWEST_SAME` on.

    Args:
        differences: shape (R, n), finite log ratios in the order of the pairs.
        margins: what is asked.
    """
    rows = np.atleast_2d(np.asarray(differences, dtype=float))
    codes = np.zeros(len(rows), dtype=np.int8)
    pairs = np.full(len(rows), rows.shape[1], dtype=np.int64)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        _decide(rows[part], margins, codes[part], pairs[part])
    return Decisions(codes=codes, pairs=pairs)


def _decide(rows: Floats, margins: Margins, codes: NDArray[np.int8], pairs: NDArray[np.int64]) -> None:
    """Fill `codes` and `pairs` of some rows."""
    nulls, sides = tests_of(margins)
    tests = nulls.size
    going = np.arange(len(rows))
    process = EProcess(tests * going.size)
    for place in range(rows.shape[1]):
        values = sides[:, None] * (rows[going, place] - nulls[:, None])
        evidence = process.observe(values.reshape(-1)).reshape(tests, -1)
        codes[going] = code_of(evidence, margins, pairs=place + 1)
        decided = codes[going] != UNDECIDED
        if decided.any():
            pairs[going[decided]] = place + 1
            going = going[~decided]
            if not going.size:
                return
            process.keep(np.tile(~decided, tests))


def tests_of(margins: Margins) -> tuple[Floats, Floats]:
    """Nulls and sides (+1: above is claimed) of the tests whose evidence `code_of` wants, in its order."""
    tests = 4 if margins.min_effect > 0 else 2
    floor, within = margins.log_floor, margins.log_min_effect
    return np.array([floor, -floor, within, -within])[:tests], _SIDES[:tests]


def code_of(evidence: Floats, margins: Margins, *, pairs: int) -> NDArray[np.int8]:
    """The decisions that the evidence allows after `pairs` differences.

    Args:
        evidence: shape (2 or 4, R): log evidence above the floor, below minus the floor and, where there is a
            minimal effect, below it and above minus it.
        margins: what is asked.
        pairs: differences so far.
    """
    above, below = evidence[0], evidence[1]
    called = (two_sided(above, below) >= margins.log_call) & (pairs >= FEWEST_CALLED)
    codes = np.where(called, np.where(above > below, ABOVE, BELOW), UNDECIDED)
    if len(evidence) > 2:
        same = np.minimum(evidence[2], evidence[3]) >= margins.log_same
        same &= pairs >= FEWEST_SAME
        codes = np.where(~called & same, WITHIN, codes)
    return codes.astype(np.int8)
