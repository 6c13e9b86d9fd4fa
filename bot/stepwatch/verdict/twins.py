"""The same workload in several frameworks, side by side on one machine."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from stepwatch.model import Side
from stepwatch.stats import PairedTest, fewest_for_interval, typical_value
from stepwatch.verdict.differences import planted
from stepwatch.verdict.evidence import CampaignSession, Evidence, SideEvidence
from stepwatch.verdict.rows import NAME_LIMIT, Interval, Twin, TwinVariant, exponential, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stepwatch.policy import Policy
    from stepwatch.verdict.evidence import PairKey

REFERENCE = "jax-jit"
_VARIANTS = (REFERENCE, "torch-eager", "torch-compile")


def compare_twins(evidence: Evidence, policy: Policy) -> list[Twin]:
    """Twins of every workload measured in more than one variant, in name order.

    The contender's own sessions stand beside sessions of other libraries on the same machine, accelerator
    and size, measured in the same rounds (`--beside`) or alone. Only the former can be paired, so only they
    get an interval for the ratio.
    """
    groups: dict[str, dict[tuple[str, str], list[CampaignSession]]] = defaultdict(lambda: defaultdict(list))
    for session in evidence.sessions:
        record = session.record
        comparable = record.size == evidence.size and record.accelerator == evidence.accelerator
        if comparable and _belongs(session, evidence.contender, alone=evidence.baseline is None):
            groups[record.workload][record.variant, session.place.release].append(session)
    twins = []
    for workload, variants in sorted(groups.items()):
        if len({variant for variant, _ in variants}) > 1:
            twins.append(_twin(workload, variants, evidence, policy))
    return twins


def _belongs(session: CampaignSession, contender: str, *, alone: bool) -> bool:
    """The contender's own sessions, and those measured of other libraries (never its baseline's)."""
    release = session.place.release
    if session.place.side is Side.BASELINE and not alone:
        return False
    return release == contender or release.partition("/")[0] != contender.partition("/")[0]


def _twin(
    workload: str,
    variants: Mapping[tuple[str, str], Sequence[CampaignSession]],
    evidence: Evidence,
    policy: Policy,
) -> Twin:
    """One workload: the reference first, then the others in their fixed order, releases by name."""
    ordered = sorted(variants, key=lambda key: (_position(key[0]), key[0], key[1]))
    reference = variants[ordered[0]] if ordered[0][0] == REFERENCE else ()
    common = _common_rounds(reference, [variants[key] for key in ordered[1:]])
    rows = [
        _variant(variants[key], () if key == ordered[0] else reference, common, evidence, policy)
        for key in ordered
    ]
    notes = [] if reference else [f"no {REFERENCE} session of this workload: no ratio"]
    return Twin(workload=shorten(workload, NAME_LIMIT), variants=rows, notes=notes)


def _common_rounds(
    reference: Sequence[CampaignSession], others: Sequence[Sequence[CampaignSession]]
) -> set[PairKey]:
    """The rounds of the reference in which every variant was measured that was measured beside it at all."""
    rounds = {session.key for session in reference}
    shared = [rounds & {session.key for session in other} for other in others]
    return set.intersection(rounds, *filter(None, shared))


def _in_rounds(sessions: Sequence[CampaignSession], rounds: set[PairKey]) -> Sequence[CampaignSession]:
    """The sessions of these rounds; all of them where none is (measured alone)."""
    return [session for session in sessions if session.key in rounds] or sessions


def _position(variant: str) -> int:
    return _VARIANTS.index(variant) if variant in _VARIANTS else len(_VARIANTS)


def _variant(
    sessions: Sequence[CampaignSession],
    reference: Sequence[CampaignSession],
    common: set[PairKey],
    evidence: Evidence,
    policy: Policy,
) -> TwinVariant:
    """One row: absolute values, and ratios to the reference where there is one.

    Both come from the `common` rounds, so that the ratio is the quotient of the values shown.
    """
    first = sessions[0]
    used, against = _in_rounds(sessions, common), _in_rounds(reference, common)
    notes = []
    if text := planted(session.record for session in sessions):
        notes.append(f"SELF-TEST: a slowdown ({text}) was planted into these sessions")
    needed = fewest_for_interval(policy.alpha)
    if len(used) < needed:
        notes.append(f"an interval needs {needed} sessions, has {len(used)}")
    elif reference and not {session.key for session in used} & {session.key for session in against}:
        notes.append("not measured in the same rounds as the reference: no interval for the ratio")
    if len(used) < len(sessions):
        notes.append(f"steps are those of the {len(used)} rounds that all variants beside it share")

    def values(metric: str, of: Sequence[CampaignSession]) -> dict[PairKey, float]:
        side = SideEvidence(release="", sessions=tuple(of))
        return side.values(metric, evidence.traits_of(first.record.benchmark, metric))

    def ratio(metric: str) -> Interval | None:
        return _ratio(values(metric, used), values(metric, against), policy.alpha) if reference else None

    return TwinVariant(
        benchmark=shorten(first.record.benchmark, NAME_LIMIT),
        variant=shorten(first.record.variant, NAME_LIMIT),
        release=shorten(first.place.release, NAME_LIMIT),
        sessions=len(sessions),
        step_wall=_over_sessions(values("step_wall", used), policy.alpha),
        step_cpu=_over_sessions(values("step_cpu", used), policy.alpha),
        compile_cold=typical_value(list(values("compile_cold", sessions).values())),
        compile_warm=typical_value(list(values("compile_warm", sessions).values())),
        ratio_wall=ratio("step_wall"),
        ratio_cpu=ratio("step_cpu"),
        notes=notes,
    )


def _over_sessions(values: Mapping[PairKey, float], alpha: float) -> Interval | None:
    """A value with its interval over sessions, computed on the log scale; None: nothing measured."""
    positive = [value for value in values.values() if value > 0]
    return _interval([math.log(value) for value in positive], alpha) if positive else None


def _ratio(
    values: Mapping[PairKey, float], reference: Mapping[PairKey, float], alpha: float
) -> Interval | None:
    """This variant / the reference: paired by round where they share rounds, else of the typical values."""
    logs = [
        math.log(values[key]) - math.log(reference[key])
        for key in sorted(values.keys() & reference.keys())
        if values[key] > 0 and reference[key] > 0
    ]
    if logs:
        return _interval(logs, alpha)
    ours, theirs = typical_value(list(values.values())), typical_value(list(reference.values()))
    if not ours or not theirs or min(ours, theirs) < 0:
        return None
    return Interval(value=ours / theirs, low=None, high=None, sessions=min(len(values), len(reference)))


def _interval(logs: Sequence[float], alpha: float) -> Interval:
    test = PairedTest.of(logs)
    estimate = test.interval(alpha)
    return Interval(
        value=exponential(estimate.centre),
        low=exponential(estimate.low) if estimate.bounded else None,
        high=exponential(estimate.high) if estimate.bounded else None,
        sessions=test.n,
    )
