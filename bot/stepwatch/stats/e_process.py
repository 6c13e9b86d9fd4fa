"""Evidence from paired differences that holds at every stopping time: two e-processes from one model.

Model: differences are Student t with 3 degrees of freedom about null + delta sigma, sigma log-uniform on a
grid, |delta| log-normal. After each difference two factors are read from one posterior:

* the *likelihood* factor, predictive density under the alternative / under delta = 0. Its product is the
  Bayes factor: an e-process for t(3) noise of any scale on the grid, robust because of the tails, fast
  because it uses sizes;
* the *sign* factor, 2 p(y) / (p(y) + p(-y)) with p the predictive density of the alternative. Given the size
  |y| and the past its mean is exactly 1 for any noise that is symmetric about the null: heavy tails, changing
  spread, humps. It can at most double per pair.

The evidence is E = .3 S + .7 min(L, 10 S): an average of e-values is one, and so is a minimum. The sign part
carries the proof, the likelihood part the speed; the cap keeps the two humps of a large effect of order,
which a likelihood with tails takes for one hump and its outliers, from counting for more than ten times what
their signs say. Choice, frontier and proofs: docs/explanation/pairwise.md, docs/adr/0007.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]

_DEGREES = 3.0
_SPREADS = np.exp(np.arange(math.log(1e-6), math.log(5.0), 0.6))
"""Sigma on the log scale of ratios, from a millionth to four. Noise outside gives less evidence."""
_EFFECTS = 2.0 ** np.arange(-1.5, 3.25, 0.5)
"""|delta| in units of sigma: from a third to eight."""
_TYPICAL_EFFECT, _EFFECT_SPREAD = 1.6, 0.5
_PRIOR = np.exp(-0.5 * (np.log(_EFFECTS / _TYPICAL_EFFECT) / _EFFECT_SPREAD) ** 2)
_PRIOR /= _PRIOR.sum()
_LOG_SIGN_SHARE, _LOG_LIKELIHOOD_SHARE = math.log(0.3), math.log(0.7)
_LOG_CAP = math.log(10.0)
_CHUNK = 64
"""Rows advanced together: few enough to stay in the processor's cache."""

# The t density is 1 / (sigma q^2), q = 1 + (z -+ delta)^2 / 3. With the root of sigma taken into q it is one
# square and one division: q = own + lift -+ z * tilt, where `own` depends on z alone.
_ROOT = np.sqrt(_SPREADS)
_LIFT = _ROOT[:, None] * _EFFECTS**2 / _DEGREES
_TILT = 2.0 * _EFFECTS / _DEGREES


class EProcess:
    """Log evidence of R rows that their centres lie above 0, advanced by one difference per row at a time."""

    def __init__(self, rows: int) -> None:
        """Begin with the priors: evidence 1 (log 0) in every row."""
        spreads = _SPREADS.size
        self._alternative = np.tile(_PRIOR / spreads, (rows, spreads, 1))
        self._null = np.full((rows, spreads), 1.0 / spreads)
        self._likelihood = np.zeros(rows)
        self._sign = np.zeros(rows)

    def observe(self, differences: Floats) -> Floats:
        """Take in one difference per row, shape (R,); the log evidence after it, shape (R,)."""
        z = differences[:, None] / _SPREADS
        own = _ROOT * (1.0 + z * z / _DEGREES)
        self._null /= own * own
        still = self._null.sum(axis=1)
        self._null /= still[:, None]
        upright = own[:, :, None] + _LIFT
        lean = (z * _ROOT)[:, :, None] * _TILT
        far = upright + lean
        mirrored = (self._alternative / (far * far)).sum(axis=(1, 2))
        upright -= lean
        self._alternative /= upright * upright
        ahead = self._alternative.sum(axis=(1, 2))
        self._alternative /= ahead[:, None, None]
        self._likelihood += np.log(ahead / still)
        self._sign += np.log(2.0 * ahead / (ahead + mirrored))
        evidence: Floats = np.logaddexp(
            self._sign + _LOG_SIGN_SHARE,
            np.minimum(self._likelihood, self._sign + _LOG_CAP) + _LOG_LIKELIHOOD_SHARE,
        )
        return evidence

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Go on with these rows only, shape (R,)."""
        self._alternative = self._alternative[rows]
        self._null = self._null[rows]
        self._likelihood = self._likelihood[rows]
        self._sign = self._sign[rows]


def log_evidence(differences: Floats, null: float | Floats, *, above: bool) -> Floats:
    """Log evidence that the centre lies above (or below) `null`, after each difference.

    Args:
        differences: shape (R, n), finite.
        null: log scale; one for all rows, or shape (R,).
        above: the side that is claimed.

    Returns:
        Shape (R, n): natural logs of an e-process against "the centre is <= null" (>= if below).
    """
    side = 1.0 if above else -1.0
    rows = side * (differences - np.reshape(null, (-1, 1)))
    found: Floats = np.empty_like(rows)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        process = EProcess(len(chunk))
        for place in range(chunk.shape[1]):
            found[start : start + _CHUNK, place] = process.observe(chunk[:, place])
    return found


def final_evidence(rows: Sequence[Floats], nulls: Floats, sides: Floats) -> Floats:
    """The last value of `log_evidence` for rows of any lengths.

    Args:
        rows: R arrays, each of one or more finite differences.
        nulls: shape (R,).
        sides: shape (R,), +1: above the null is claimed, -1: below.

    Returns:
        Shape (R,).
    """
    lengths = np.array([row.size for row in rows], dtype=int)
    found = np.zeros(len(rows))
    # Longest first, so that the rows that are still going on are always the first ones.
    order = np.argsort(-lengths, kind="stable")
    for start in range(0, len(rows), _CHUNK):
        chunk = order[start : start + _CHUNK]
        padded = np.zeros((chunk.size, lengths[chunk[0]]))
        for place, row in enumerate(chunk):
            padded[place, : lengths[row]] = sides[row] * (rows[row] - nulls[row])
        process = EProcess(chunk.size)
        for place in range(padded.shape[1]):
            going = lengths[chunk] > place
            if not going.all():
                chunk, padded = chunk[going], padded[going]
                process.keep(going)
            found[chunk] = process.observe(padded[:, place])
    return found


def two_sided(above: Floats, below: Floats) -> Floats:
    """Log of the mean of two e-values, given their logs: one e-value for the claim "above or below"."""
    mean: Floats = np.logaddexp(above, below) - math.log(2.0)
    return mean
