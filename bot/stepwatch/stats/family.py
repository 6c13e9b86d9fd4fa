"""Many rows judged together, pair by pair: when each stops, and that stopping keeps the error rate.

All rows advance by one pair at a time. After each round a row that is proven unchanged stops, and e-BH runs
over all rows with their present e-values; a row that it rejects stops, called. A stopped row keeps the
e-value that it stopped with: a value at a stopping time, not a running maximum. What e-BH rejects stays
rejected: k rows at or above M / (k alpha) keep their values, so in every later round at least k rows are
still there and all of them are rejected again. The rows called in any round are therefore those of the one
e-BH at the end, whose false discovery rate is at most alpha under any dependence (2009.02824).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.e_process import log_evidence, two_sided
from stepwatch.stats.multiplicity import e_bh
from stepwatch.stats.pairwise import FEWEST_CALLED
from stepwatch.stats.sequential import ABOVE, BELOW, UNDECIDED, WITHIN, Decisions, code_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.stats.e_process import Floats
    from stepwatch.stats.sequential import Margins


def family_outcomes(rows: Sequence[Floats], margins: Margins, *, corrected: bool) -> Decisions:
    """Stop every row at its first decision.

    Args:
        rows: M arrays of one or more finite log ratios, in the order of the pairs; lengths may differ.
        margins: what is asked; its `family` does not count here.
        corrected: e-BH over all rows (a row that has run out of pairs still counts in M); else each row by
            itself, as `sequential_outcomes` does.
    """
    lengths = np.array([row.size for row in rows], dtype=int)
    codes = np.full(len(rows), UNDECIDED, dtype=np.int8)
    pairs = lengths.astype(np.int64)
    if not len(rows):
        return Decisions(codes=codes, pairs=pairs)
    evidence = _paths(rows, margins, int(lengths.max()))
    current = np.full(evidence.shape[:2], -math.inf)
    present = np.full(len(rows), -math.inf)
    for place in range(evidence.shape[2]):
        going = (codes == UNDECIDED) & (lengths > place)
        current[:, going] = evidence[:, going, place]
        found = np.where(going, code_of(current, margins, pairs=place + 1), UNDECIDED)
        if corrected:
            if place + 1 >= FEWEST_CALLED:
                present[going] = two_sided(current[0, going], current[1, going])
            # Among the called there may be rows without further pairs: what others found made room for them.
            called = e_bh(present, alpha=margins.alpha)
            same = np.where(found == WITHIN, WITHIN, UNDECIDED)
            found = np.where(called, np.where(current[0] > current[1], ABOVE, BELOW), same)
        stopped = (codes == UNDECIDED) & (found != UNDECIDED)
        codes[stopped] = found[stopped]
        pairs[stopped] = np.minimum(place + 1, lengths[stopped])
    return Decisions(codes=codes, pairs=pairs)


def _paths(rows: Sequence[Floats], margins: Margins, longest: int) -> Floats:
    """The evidence that `code_of` wants, after each pair: shape (2 or 4, M, longest).

    Shorter rows are filled up; what comes after their end is never looked at.
    """
    padded = np.zeros((len(rows), longest))
    for place, row in enumerate(rows):
        padded[place, : row.size] = row
    floor, within = margins.log_floor, margins.log_min_effect
    asked = [(floor, True), (-floor, False)] + ([(within, False), (-within, True)] if within else [])
    return np.array([log_evidence(padded, null, above=above) for null, above in asked])
