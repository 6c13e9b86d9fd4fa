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

from stepwatch.stats.e_process import EProcess, two_sided
from stepwatch.stats.multiplicity import e_bh
from stepwatch.stats.pairwise import FEWEST_CALLED
from stepwatch.stats.sequential import ABOVE, BELOW, UNDECIDED, WITHIN, Decisions, code_of, tests_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stepwatch.stats.e_process import Floats
    from stepwatch.stats.sequential import Margins

_ROWS_AT_ONCE = 16
"""Times four tests each: few enough to stay in the processor's cache."""


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
    current = np.full((4 if margins.min_effect > 0 else 2, len(rows)), -math.inf)
    present = np.full(len(rows), -math.inf)
    chunks = [_Chunk(rows, start, margins) for start in range(0, len(rows), _ROWS_AT_ONCE)]
    for place in range(int(lengths.max())):
        going = (codes == UNDECIDED) & (lengths > place)
        for chunk in chunks:
            chunk.observe(place, going, current)
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


class _Chunk:
    """Some neighbouring rows, advanced together for as long as they go on."""

    def __init__(self, rows: Sequence[Floats], start: int, margins: Margins) -> None:
        self._rows = rows
        self._going = np.arange(start, min(start + _ROWS_AT_ONCE, len(rows)))
        self._nulls, self._sides = tests_of(margins)
        self._process = EProcess(self._nulls.size * self._going.size)

    def observe(self, place: int, going: NDArray[np.bool_], current: Floats) -> None:
        """Put the evidence after the difference at `place` into the columns of `current` that go on."""
        still = going[self._going]
        if not still.all():
            self._going = self._going[still]
            self._process.keep(np.tile(still, self._nulls.size))
        if self._going.size:
            values = np.array([self._rows[row][place] for row in self._going.tolist()])
            against = self._sides[:, None] * (values - self._nulls[:, None])
            evidence = self._process.observe(against.reshape(-1))
            current[:, self._going] = evidence.reshape(self._nulls.size, -1)
