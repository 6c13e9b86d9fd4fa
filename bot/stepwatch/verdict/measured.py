"""The numbers of a row: ratio, interval, evidence; tested for many rows at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwatch.stats import Margins, intervals, log_e_beyond, log_e_within
from stepwatch.verdict.rows import exponential

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.policy import Policy
    from stepwatch.stats import PairedTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a row shows; None where undefined."""

    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    e_value: float | None = None
    least_change: float = 0.0
    """The smallest |log ratio| that the interval leaves possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A paired test, asked everything a row has to say."""

    measured: Measured
    pairs: int
    centre: float
    """Log ratio."""
    log_e_beyond: float
    """Evidence that the change exceeds the floor."""
    log_e_within: float
    """Evidence that it is smaller than the minimal effect; minus infinity where the policy has none."""


def margins_of(policy: Policy) -> Margins:
    """What a policy asks of a row that is judged alone."""
    return Margins(floor=policy.floor, min_effect=policy.min_effect, alpha=policy.alpha)


def tested(tests: Sequence[PairedTest], policy: Policy) -> list[Tested]:
    """Ask every test of a report its questions."""
    margins = margins_of(policy)
    beyond = log_e_beyond(tests, margins.log_floor).tolist()
    margin = margins.log_min_effect
    within = log_e_within(tests, margin).tolist() if margin else [-math.inf] * len(tests)
    found = []
    for test, interval, out, inside in zip(
        tests, intervals(tests, policy.alpha), beyond, within, strict=True
    ):
        crosses = not interval.bounded or interval.low <= 0 <= interval.high
        measured = Measured(
            ratio=exponential(test.centre),
            low=exponential(interval.low) if interval.bounded else None,
            high=exponential(interval.high) if interval.bounded else None,
            e_value=exponential(out),
            least_change=0.0 if crosses else min(abs(interval.low), abs(interval.high)),
        )
        found.append(
            Tested(measured=measured, pairs=test.n, centre=test.centre, log_e_beyond=out, log_e_within=inside)
        )
    return found
