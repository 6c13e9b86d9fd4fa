"""Every way of judging pairs, one after the other, under one signature; and the noises they are judged in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stats_bench import generators, ours
from stats_bench.peers import pairwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Judge = Callable[[Floats], pairwise.Outcome]

CAP = 30
"""Pairs at which an undecided comparison ends."""
OURS = "ours"
TITLES = {
    OURS: "**stepwatch**",
    "plain": "t e-process, no floor",
    "plain-equivalence": "t e-process, no floor, equivalence stop",
    "peeking": "t-test after every pair",
    "obrien-fleming": "O'Brien-Fleming, 5 looks",
    "fixed": "t-test after 10 pairs",
}


def judge(method: str, *, floor: float, min_effect: float) -> Judge:
    """The judge behind a name; the margins (fractions) are stepwatch's, the textbook ones have none."""
    if method == OURS:
        return partial(ours.sequential, floor=floor, min_effect=min_effect)
    textbook: dict[str, Judge] = {
        "plain": pairwise.plain_e_process,
        "plain-equivalence": partial(pairwise.plain_e_process, margin=float(np.log1p(0.02))),
        "peeking": pairwise.peeking_t,
        "obrien-fleming": pairwise.obrien_fleming,
        "fixed": pairwise.fixed_t,
    }
    return textbook[method]


def draw(
    noise: str, generator: np.random.Generator, repetitions: int, *, effect: float = 0.0, pairs: int = CAP
) -> Floats:
    """Log ratios of pairs, shape (repetitions, pairs).

    `noise` is a kind of `generators.PAIR_NOISES` (between-session sd 1 %), a letter of `NOISES`, or
    `sessions:` and a scenario whose sessions are first reduced to one value each, as stepwatch does it.
    """
    if noise.startswith("sessions:"):
        base, head = generators.process_pairs(
            noise.partition(":")[2], generator, pairs, effect, repetitions=repetitions
        )
        return ours.log_ratios(base, head)
    if noise in generators.NOISES:
        return generators.pair_log_ratios(noise, generator, pairs, effect, repetitions=repetitions)
    return generators.pair_noise(noise, generator, repetitions, pairs) + np.log1p(effect)


def tally(codes: NDArray[np.signedinteger], used: NDArray[np.int64]) -> dict[str, float]:
    """Counts of the outcomes, and the pairs used."""
    return {
        "runs": int(codes.size),
        "slower": int((codes == 1).sum()),
        "faster": int((codes == -1).sum()),
        "same": int((codes == pairwise.SAME).sum()),
        "pairs": float(used.mean()),
        "pairs_sd": float(used.std(ddof=1)),
    }
