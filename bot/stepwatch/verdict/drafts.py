"""One row before the family is known: either decided already, or a paired test waiting for e-BH."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from stepwatch.model import Outcome
from stepwatch.stats import PairedTest, typical_value
from stepwatch.units import Direction
from stepwatch.verdict.differences import differences
from stepwatch.verdict.notes import incomparable, notes_on
from stepwatch.verdict.rows import (
    NAME_LIMIT,
    BlameRange,
    SideSummary,
    UnitName,
    Verdict,
    exponential,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stepwatch.policy import Policy
    from stepwatch.verdict.evidence import BenchmarkEvidence, Evidence, MetricTraits, PairKey, SideEvidence

Method = Literal["paired-e-process", "exact", "none"]
_EXACT_MINIMUM = 2
_FAILED = {
    "environment": "its environment could not be built",
    "session": "the last one failed",
    "skipped": "skipped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An outcome and why."""

    outcome: Outcome
    reason: str
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A row in the making; exactly one of `decision` and `test` is set."""

    evidence: BenchmarkEvidence
    metric: str
    unit: str
    traits: MetricTraits
    baseline: Mapping[PairKey, float]
    contender: Mapping[PairKey, float]
    decision: Decision | None = None
    test: PairedTest | None = None

    @property
    def sign(self) -> float:
        """+1 if a larger value is worse, else -1."""
        return 1.0 if self.traits.better is Direction.LOWER else -1.0

    def verdict(self, decision: Decision, policy: Policy) -> Verdict:
        """The finished row."""
        measured = _measured(self, policy)
        sides = self.evidence.baseline, self.evidence.contender
        changed = decision.outcome in (Outcome.REGRESSED, Outcome.IMPROVED)
        blamed = changed or (decision.outcome is Outcome.BROKEN and not sides[1].sessions)
        across = sides[0].release != sides[1].release
        records = [[session.record for session in side.sessions] for side in sides]
        return Verdict(
            benchmark=shorten(f"{self.evidence.benchmark}.track_{self.metric}", NAME_LIMIT),
            metric=shorten(self.metric, NAME_LIMIT),
            unit=cast("UnitName", self.unit),
            better="lower" if self.traits.better is Direction.LOWER else "higher",
            outcome=decision.outcome,
            reason=shorten(decision.reason),
            method="exact" if decision.exact else "paired-e-process" if self.test else "none",
            ratio=measured.ratio,
            ratio_low=measured.low,
            ratio_high=measured.high,
            e_value=measured.e_value,
            sessions=self.test.n if self.test else min(len(self.baseline), len(self.contender)),
            baseline=_summary(sides[0], self.baseline),
            contender=_summary(sides[1], self.contender),
            blame_range=BlameRange(after=sides[0].release, through=sides[1].release)
            if blamed and across
            else None,
            proven_beyond_min_effect=changed and measured.least_change > math.log1p(policy.min_effect),
            differences=differences(*records),
            notes=notes_on(self.evidence, paired=self.baseline.keys() & self.contender.keys()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """The numbers of a row; None where undefined."""

    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    e_value: float | None = None
    least_change: float = 0.0
    """The smallest |log ratio| that the interval leaves possible."""


def draft_verdict(
    benchmark: BenchmarkEvidence, metric: str, evidence: Evidence, policy: Policy
) -> Draft | None:
    """Decide what can be decided of one row alone; None: neither side measures this metric."""
    traits = evidence.traits_of(benchmark.benchmark, metric)
    sides = benchmark.baseline, benchmark.contender
    units = [unit for side in sides if (unit := side.unit(metric))]
    if not units and any(side.sessions for side in sides):
        return None
    old, new = (side.values(metric, traits) for side in sides)
    judged = (
        _without_values(benchmark, metric, old, new)
        or _exact(traits, old, new, policy)
        or _paired_test(old, new)
    )
    return Draft(
        evidence=benchmark,
        metric=metric,
        unit=units[0] if units and units[0] in ("seconds", "bytes", "count") else "1",
        traits=traits,
        baseline=old,
        contender=new,
        decision=judged if isinstance(judged, Decision) else None,
        test=judged if isinstance(judged, PairedTest) else None,
    )


def _without_values(
    benchmark: BenchmarkEvidence,
    metric: str,
    baseline: Mapping[PairKey, float],
    contender: Mapping[PairKey, float],
) -> Decision | None:
    """What to say where a side has nothing to compare; None: both have."""
    for name, side in (("contender", benchmark.contender), ("baseline", benchmark.baseline)):
        if not side.sessions and side.failures:
            last = side.failures[-1]
            reason = f"{name} {side.release}: no finished session; {_FAILED[last.stage]}: {last.reason}"
            return Decision(outcome=Outcome.BROKEN, reason=reason)
    for name, side, values in (
        ("contender", benchmark.contender, contender),
        ("baseline", benchmark.baseline, baseline),
    ):
        if not side.sessions:
            reason = f"no session of the {name} {side.release} yet"
            return Decision(outcome=Outcome.INCONCLUSIVE, reason=reason)
        if not values:
            reason = f"{metric} was not measured on the {name} {side.release}"
            return Decision(outcome=Outcome.INCONCLUSIVE, reason=reason)
    if difference := incomparable(benchmark):
        return Decision(outcome=Outcome.INCONCLUSIVE, reason=f"incomparable: {difference}")
    return None


def _exact(
    traits: MetricTraits,
    baseline: Mapping[PairKey, float],
    contender: Mapping[PairKey, float],
    policy: Policy,
) -> Decision | None:
    """Compare a metric that repeats exactly; None: it does not, so it has to be tested."""
    if not traits.exact or any(len(set(side.values())) != 1 for side in (baseline, contender)):
        return None
    fewest = min(len(baseline), len(contender))
    if fewest < _EXACT_MINIMUM:
        reason = f"needs {_EXACT_MINIMUM} sessions on each side, has {fewest}"
        return Decision(outcome=Outcome.INCONCLUSIVE, reason=reason, exact=True)
    old, new = next(iter(baseline.values())), next(iter(contender.values()))
    if old == new:
        return Decision(outcome=Outcome.UNCHANGED, reason="equal in every session", exact=True)
    if (
        old > 0
        and new > 0
        and abs(math.log(new) - math.log(old)) <= math.log1p(min(policy.floor, policy.min_effect))
    ):
        reason = f"differs in every session, by less than the floor of {policy.floor:.1%}"
        return Decision(outcome=Outcome.UNCHANGED, reason=reason, exact=True)
    worse = (new > old) == (traits.better is Direction.LOWER)
    reason = "every session of one side differs from every session of the other"
    return Decision(outcome=Outcome.REGRESSED if worse else Outcome.IMPROVED, reason=reason, exact=True)


def _paired_test(
    baseline: Mapping[PairKey, float], contender: Mapping[PairKey, float]
) -> PairedTest | Decision:
    """The test on log ratios of complete pairs, or why there is none."""
    pairs = sorted(baseline.keys() & contender.keys())
    if not pairs:
        return Decision(outcome=Outcome.INCONCLUSIVE, reason="no complete pair of sessions yet")
    if any(side[pair] <= 0 for side in (baseline, contender) for pair in pairs):
        return Decision(
            outcome=Outcome.INCONCLUSIVE, reason="values of zero or below vary: no ratio can be tested"
        )
    return PairedTest.of([math.log(contender[pair]) - math.log(baseline[pair]) for pair in pairs])


def _measured(draft: Draft, policy: Policy) -> _Measured:
    """Ratio, interval and e-value of a row."""
    if draft.test is not None:
        interval = draft.test.interval(policy.alpha)
        crosses = interval.low <= 0 <= interval.high
        log_e = draft.test.log_e_beyond(math.log1p(policy.floor))
        return _Measured(
            ratio=exponential(draft.test.centre),
            low=exponential(interval.low) if interval.bounded else None,
            high=exponential(interval.high) if interval.bounded else None,
            e_value=exponential(log_e),
            least_change=0.0 if crosses else min(abs(interval.low), abs(interval.high)),
        )
    old, new = typical_value(list(draft.baseline.values())), typical_value(list(draft.contender.values()))
    if old is None or new is None or min(old, new) < 0:
        return _Measured()
    ratio = _ratio(old, new)
    if not (draft.decision and draft.decision.exact):
        return _Measured(ratio=ratio)
    change = abs(math.log(ratio)) if ratio else math.inf
    return _Measured(ratio=ratio, low=ratio, high=ratio, least_change=change)


def _ratio(old: float, new: float) -> float | None:
    """Contender / baseline of non-negative values; 1 for two zeros, None over one zero."""
    if old == new:
        return 1.0
    if old == 0 or new == 0:
        return None if old == 0 else 0.0
    return exponential(math.log(new) - math.log(old))


def _summary(side: SideEvidence, values: Mapping[PairKey, float]) -> SideSummary:
    return SideSummary(
        release=shorten(side.release, NAME_LIMIT),
        sessions=len(values),
        value=typical_value(list(values.values())),
    )
