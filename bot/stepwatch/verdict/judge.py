"""From evidence to outcomes: test every benchmark, control the family's error rate, say why.

The order of judgement: a side without a finished session is `broken` (or says what is missing); a metric
that repeats exactly is compared exactly, one that is zero now and then by order; everything else is tested
on pairs, and `regressed` or `improved` needs the family's e-BH procedure to reject "within the floor".
`unchanged` needs proof that the change is smaller than the minimal effect; whatever is left is
`inconclusive`, with what would decide it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stepwatch.model import Outcome
from stepwatch.policy import judged_metrics
from stepwatch.stats import FEWEST_CALLED, FEWEST_SAME, e_bh, minimum_pairs
from stepwatch.units import format_percent
from stepwatch.verdict.drafts import Decision, Draft, draft_verdict
from stepwatch.verdict.evidence import BenchmarkEvidence, Evidence, by_benchmark
from stepwatch.verdict.measured import margins_of, tested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.policy import Policy
    from stepwatch.verdict.measured import Tested
    from stepwatch.verdict.rows import Verdict

ORDER = (
    Outcome.REGRESSED,
    Outcome.BROKEN,
    Outcome.IMPROVED,
    Outcome.INCONCLUSIVE,
    Outcome.UNCHANGED,
)
"""Of the rows of a report."""


def judge(evidence: Evidence, policy: Policy) -> list[Verdict]:
    """One verdict per benchmark and judged metric, regressions first, the worst of them on top."""
    if evidence.baseline is None:
        return []
    drafts = [
        draft
        for benchmark in by_benchmark(evidence)
        for metric in _metrics(benchmark, evidence, policy)
        if (draft := draft_verdict(benchmark, metric, evidence, policy)) is not None
    ]
    return sorted(_settle(drafts, policy), key=_rank)


def _settle(drafts: Sequence[Draft], policy: Policy) -> list[Verdict]:
    """Decide the waiting rows together: the error rate belongs to the whole family."""
    waiting = [draft for draft in drafts if draft.test is not None]
    found = tested([draft.test for draft in waiting if draft.test is not None], policy)
    evidence = [row.log_e_beyond if row.pairs >= FEWEST_CALLED else -math.inf for row in found]
    rejections = e_bh(evidence, alpha=policy.alpha).tolist()
    return [
        *(draft.verdict(draft.decision, policy) for draft in drafts if draft.decision is not None),
        *(
            draft.verdict(
                _decide(row, rejected=rejected, family=len(waiting), policy=policy, worse=draft.sign),
                policy,
                row.measured,
            )
            for draft, row, rejected in zip(waiting, found, rejections, strict=True)
        ),
    ]


def _metrics(benchmark: BenchmarkEvidence, evidence: Evidence, policy: Policy) -> Sequence[str]:
    """The judged metrics; one where every session failed (said once); none where both sides were skipped."""
    metrics = judged_metrics(policy, evidence.accelerator)
    sides = benchmark.baseline, benchmark.contender
    if any(side.sessions for side in sides):
        return metrics
    skipped = all(failure.stage == "skipped" for side in sides for failure in side.failures)
    return () if skipped else metrics[:1]


def _decide(row: Tested, *, rejected: bool, family: int, policy: Policy, worse: float) -> Decision:
    """The outcome of a tested row.

    Args:
        row: what its test says.
        rejected: whether e-BH rejects "the change lies within the floor".
        family: how many rows are tested together.
        policy: the margins.
        worse: +1 if a larger value is worse, else -1.
    """
    if rejected:
        is_worse = row.centre * worse > 0
        return Decision(
            outcome=Outcome.REGRESSED if is_worse else Outcome.IMPROVED,
            reason=f"{'worse' if is_worse else 'better'} by more than the floor of "
            f"{format_percent(policy.floor)}",
        )
    if row.pairs >= FEWEST_SAME and row.log_e_within >= margins_of(policy).log_same:
        return Decision(
            outcome=Outcome.UNCHANGED,
            reason=f"proven to lie within the minimal effect of {format_percent(policy.min_effect)}",
        )
    return Decision(outcome=Outcome.INCONCLUSIVE, reason=_what_is_missing(row.pairs, family, policy))


def _what_is_missing(pairs: int, family: int, policy: Policy) -> str:
    """Why a row is undecided: e-BH asks for 1/alpha where all rows change, family/alpha where one does."""
    least, alone = minimum_pairs(1 / policy.alpha), minimum_pairs(family / policy.alpha)
    if pairs < least:
        return f"needs {least} sessions on each side, has {pairs}"
    beyond = f"beyond the floor of {format_percent(policy.floor)}"
    within = f"within the minimal effect of {format_percent(policy.min_effect)}"
    missing = f"proven neither {beyond} nor {within}" if policy.min_effect else f"not proven {beyond}"
    missing += "; more sessions decide it"
    if pairs < alone:
        missing += f" (a lone change among {family} rows needs {alone} on each side)"
    return missing


def _rank(verdict: Verdict) -> tuple[int, float, str]:
    """Position in the report: by outcome, then the largest change first, then by name."""
    size = 0.0
    if verdict.outcome in (Outcome.REGRESSED, Outcome.IMPROVED):
        size = abs(math.log(verdict.ratio)) if verdict.ratio else math.inf
    return ORDER.index(verdict.outcome), -size, verdict.benchmark
