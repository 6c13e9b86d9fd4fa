"""Verdicts on recorded pairs: what `stepwatch pairs` decides, in the order in which they were measured."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.model import Outcome
from stepwatch.stats import PairedTest, family_outcomes
from stepwatch.stats.sequential import UNDECIDED, WITHIN
from stepwatch.verdict.measured import margins_of, tested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.policy import Policy
    from stepwatch.units import Direction
    from stepwatch.verdict.measured import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPairs:
    """The pairs of one benchmark, in order."""

    benchmark: str
    better: Direction
    differences: tuple[float, ...]
    """Log ratio contender / baseline of the two session values of each pair; at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsVerdict:
    """How the pairs of one benchmark ended."""

    benchmark: str
    outcome: Outcome
    pairs_used: int
    """Until the decision; all that were recorded (or allowed) where there was none."""
    measured: Measured
    """As of the last pair used."""
    proven_beyond_min_effect: bool


def judge_recorded(
    recorded: Sequence[RecordedPairs], policy: Policy, *, corrected: bool, budget_pairs: int | None = None
) -> list[PairsVerdict]:
    """Look after every pair and stop each benchmark at its first decision.

    Args:
        recorded: the pairs of M benchmarks.
        policy: margins and error rate.
        corrected: e-BH over all of them, which then advance together; else each by itself.
        budget_pairs: look at no more pairs of a benchmark than these.
    """
    rows = [np.array(one.differences[:budget_pairs], dtype=float) for one in recorded]
    ended = family_outcomes(rows, margins_of(policy), corrected=corrected)
    used = ended.pairs.tolist()
    tests = [PairedTest.of(row[:n]) for row, n in zip(rows, used, strict=True)]
    return [
        PairsVerdict(
            benchmark=one.benchmark,
            outcome=_outcome(code, one.better),
            pairs_used=n,
            measured=row.measured,
            proven_beyond_min_effect=code not in (UNDECIDED, WITHIN)
            and row.measured.least_change > math.log1p(policy.min_effect),
        )
        for one, code, n, row in zip(recorded, ended.codes.tolist(), used, tested(tests, policy), strict=True)
    ]


def _outcome(code: int, better: Direction) -> Outcome:
    if code == UNDECIDED:
        return Outcome.INCONCLUSIVE
    if code == WITHIN:
        return Outcome.UNCHANGED
    return Outcome.REGRESSED if better.is_worse(1.0 + code / 2) else Outcome.IMPROVED


def pairs_as_json(verdicts: Sequence[PairsVerdict]) -> str:
    """The machine's view of the verdicts: numbers are finite or null."""
    rows = {
        verdict.benchmark: {
            "outcome": verdict.outcome.value,
            "pairs_used": verdict.pairs_used,
            "ratio": verdict.measured.ratio,
            "ratio_low": verdict.measured.low,
            "ratio_high": verdict.measured.high,
            "e_value": verdict.measured.e_value,
        }
        for verdict in verdicts
    }
    return json.dumps({"benchmarks": rows}, indent=2, ensure_ascii=False, allow_nan=False)
