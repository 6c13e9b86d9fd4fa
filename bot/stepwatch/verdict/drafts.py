"""One row before the family is known: either decided already, or a paired test waiting for e-BH."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from stepwatch.model import Outcome
from stepwatch.stats import PairedTest, minimum_pairs, typical, typical_value
from stepwatch.units import Direction, format_percent
from stepwatch.verdict.differences import differences
from stepwatch.verdict.measured import Measured
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

    def shown(self) -> tuple[float | None, float | None]:
        """The values of the two sides over their paired sessions, so that the ratio is their quotient.

        Pairs that are wild count in neither. None where the sessions are in different units: no one number
        stands for them.
        """
        if len(self.evidence.baseline.units(self.metric) | self.evidence.contender.units(self.metric)) > 1:
            return None, None
        pairs = sorted(self.baseline.keys() & self.contender.keys())
        if self.test is not None:
            pairs = [pair for pair, kept in zip(pairs, typical(self.test.differences), strict=True) if kept]
        old, new = (
            [side[pair] for pair in pairs or sorted(side)] for side in (self.baseline, self.contender)
        )
        return typical_value(old), typical_value(new)

    def verdict(self, decision: Decision, policy: Policy, measured: Measured | None = None) -> Verdict:
        """The finished row; `measured` are the numbers of its test, if it has one."""
        shown = self.shown()
        measured = measured or _untested(self, *shown)
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
            baseline=_summary(sides[0], self.baseline, shown[0]),
            contender=_summary(sides[1], self.contender, shown[1]),
            blame_range=_range(*sides) if blamed and across else None,
            proven_beyond_min_effect=changed and measured.least_change > math.log1p(policy.min_effect),
            differences=differences(*records),
            notes=notes_on(self.evidence, paired=self.baseline.keys() & self.contender.keys()),
        )


def draft_verdict(
    benchmark: BenchmarkEvidence, metric: str, evidence: Evidence, policy: Policy
) -> Draft | None:
    """Decide what can be decided of one row alone; None: neither side measures this metric."""
    traits = evidence.traits_of(benchmark.benchmark, metric)
    sides = benchmark.baseline, benchmark.contender
    units = sorted(unit for side in sides for unit in side.units(metric))
    if not units and any(side.sessions for side in sides):
        return None
    old, new = (side.values(metric, traits) for side in sides)
    judged = (
        _without_values(benchmark, metric, old, new)
        or _exact(traits, old, new, policy)
        or _paired_test(traits, old, new, policy)
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
    if difference := incomparable(benchmark, metric):
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
    if set(baseline.values()) == set(contender.values()):
        return Decision(outcome=Outcome.UNCHANGED, reason="equal in every session", exact=True)
    if 0 < _least_change(baseline, contender) <= math.log1p(policy.floor):
        reason = f"differs in every session, by less than the floor of {format_percent(policy.floor)}"
        return Decision(outcome=Outcome.UNCHANGED, reason=reason, exact=True)
    return _separated(traits, baseline, contender)


def _paired_test(
    traits: MetricTraits,
    baseline: Mapping[PairKey, float],
    contender: Mapping[PairKey, float],
    policy: Policy,
) -> PairedTest | Decision:
    """The test on log ratios of complete pairs; where there are no ratios, what order alone can say."""
    pairs = sorted(baseline.keys() & contender.keys())
    if not pairs:
        return Decision(outcome=Outcome.INCONCLUSIVE, reason="no complete pair of sessions yet")
    old, new = ({pair: side[pair] for pair in pairs} for side in (baseline, contender))
    if min(*old.values(), *new.values()) > 0:
        return PairedTest.of([math.log(new[pair]) - math.log(old[pair]) for pair in pairs])
    return _by_order(traits, old, new, policy)


def _by_order(
    traits: MetricTraits,
    baseline: Mapping[PairKey, float],
    contender: Mapping[PairKey, float],
    policy: Policy,
) -> Decision:
    """Decide pairs that hold a zero (or less): equal everywhere, or one side wholly above the other.

    If the release makes no difference, n sessions of either side are exchangeable, and one side lies wholly
    above the other with probability 2 / C(2n, n): 0.2 % at n = 6. One may look after every pair: whatever
    is separated at n was separated at every smaller n, so later looks add nothing.
    """
    needed = minimum_pairs(1 / policy.alpha)
    gap = _least_change(baseline, contender)
    equal = len({*baseline.values(), *contender.values()}) == 1
    if (equal or gap > math.log1p(policy.floor)) and len(baseline) < needed:
        reason = f"needs {needed} sessions on each side, has {len(baseline)}"
        return Decision(outcome=Outcome.INCONCLUSIVE, reason=reason)
    if equal:
        return Decision(outcome=Outcome.UNCHANGED, reason="equal in every session", exact=True)
    if gap > math.log1p(policy.floor):
        return _separated(traits, baseline, contender)
    reason = "values of zero or below vary: no ratio can be tested"
    return Decision(outcome=Outcome.INCONCLUSIVE, reason=reason)


def _separated(
    traits: MetricTraits, baseline: Mapping[PairKey, float], contender: Mapping[PairKey, float]
) -> Decision:
    """The outcome where every session of one side lies above every session of the other."""
    worse = (min(contender.values()) > max(baseline.values())) == (traits.better is Direction.LOWER)
    reason = "every session of one side differs from every session of the other"
    return Decision(outcome=Outcome.REGRESSED if worse else Outcome.IMPROVED, reason=reason, exact=True)


def _least_change(baseline: Mapping[PairKey, float], contender: Mapping[PairKey, float]) -> float:
    """The smallest |log ratio| between any sessions of the two sides; 0 where they overlap.

    Infinite over zero; with a value below zero there is no ratio, which counts as no change.
    """
    low, high = sorted((set(baseline.values()), set(contender.values())), key=max)
    if min(low) < 0 or max(low) >= min(high):
        return 0.0
    return math.log(min(high)) - math.log(max(low)) if max(low) > 0 else math.inf


def _untested(draft: Draft, old: float | None, new: float | None) -> Measured:
    """The numbers of a row that was decided without a test, from the values shown."""
    if old is None or new is None or min(old, new) < 0:
        return Measured()
    ratio = _ratio(old, new)
    if not (draft.decision and draft.decision.exact):
        return Measured(ratio=ratio)
    end = ratio if old == new or _varies_nowhere(draft) else None
    return Measured(
        ratio=ratio, low=end, high=end, least_change=_least_change(draft.baseline, draft.contender)
    )


def _varies_nowhere(draft: Draft) -> bool:
    return all(len(set(side.values())) == 1 for side in (draft.baseline, draft.contender))


def _ratio(old: float, new: float) -> float | None:
    """Contender / baseline of non-negative values; 1 for two zeros, None over one zero."""
    if old == new:
        return 1.0
    if old == 0 or new == 0:
        return None if old == 0 else 0.0
    return exponential(math.log(new) - math.log(old))


def _range(baseline: SideEvidence, contender: SideEvidence) -> BlameRange:
    return BlameRange(
        after=shorten(baseline.release, NAME_LIMIT), through=shorten(contender.release, NAME_LIMIT)
    )


def _summary(side: SideEvidence, values: Mapping[PairKey, float], shown: float | None) -> SideSummary:
    return SideSummary(release=shorten(side.release, NAME_LIMIT), sessions=len(values), value=shown)
