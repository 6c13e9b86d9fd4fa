"""A suspected regression is tested again, on fresh pairs, before anyone is told.

The search looks at many rows and reports those that stand out; what stands out by luck, by a disturbed hour
or because a promise of the statistics did not hold here does not do so twice. The fresh pairs (stage
`confirm`) are judged alone and as a family of one: the chance that they confirm a change that lies within
the floor is at most alpha, whatever made the search suspect it. A regression is reported only if both say
so, so the error rate of the report can only get smaller (docs/adr/0009).
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal

import msgspec

from stepwatch.model import Outcome
from stepwatch.units import format_ratio
from stepwatch.verdict.judge import ORDER, judge
from stepwatch.verdict.rows import NAME_LIMIT, Confirmation, Verdict, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.policy import Policy
    from stepwatch.verdict.evidence import CampaignSession, Evidence

_WORDS: dict[Outcome, Literal["confirmed", "refuted", "inconclusive"]] = {
    Outcome.REGRESSED: "confirmed",
    Outcome.IMPROVED: "refuted",
    Outcome.UNCHANGED: "refuted",
}


def judge_confirmed(evidence: Evidence, policy: Policy) -> list[Verdict]:
    """`judge`, with every regression tested against the fresh pairs of the evidence."""
    return confirm(judge(evidence, policy), evidence, policy)


def confirm(verdicts: Sequence[Verdict], evidence: Evidence, policy: Policy) -> list[Verdict]:
    """Let the fresh pairs decide about each regression.

    A regression that has fresh pairs, or of a comparison that asks for them (`evidence.must_confirm`), stays
    one only if they confirm it. Else it becomes inconclusive, or unchanged where the search and the fresh
    pairs both prove that it lies within the minimal effect. Suspects come first among the inconclusive rows.

    Args:
        verdicts: what the search says, as `judge` orders it.
        evidence: whose `fresh` sessions are used; `sessions` are not.
        policy: as the search was judged by.
    """
    settled = [
        _settle(row, _fresh_verdict(row, evidence, policy), policy, must=evidence.must_confirm)
        if row.outcome is Outcome.REGRESSED
        else row
        for row in verdicts
    ]
    return sorted(settled, key=_rank)


def _rank(row: Verdict) -> tuple[int, bool]:
    """By outcome; suspects before the rows that nobody suspected. What is equal here keeps its place."""
    suspected = row.confirmation is not None and row.outcome is not Outcome.REGRESSED
    return ORDER.index(row.outcome), not suspected


def _fresh_verdict(row: Verdict, evidence: Evidence, policy: Policy) -> Verdict | None:
    sessions = tuple(session for session in evidence.fresh if _measures(session, row))
    if not sessions:
        return None
    alone = dataclasses.replace(evidence, sessions=sessions, failures=(), fresh=())
    rows = judge(alone, msgspec.structs.replace(policy, metrics=(row.metric,)))
    return next(iter(rows), None)


def _measures(session: CampaignSession, row: Verdict) -> bool:
    named = f"{session.record.benchmark}.track_{row.metric}"
    return shorten(named, NAME_LIMIT) == row.benchmark


def _settle(row: Verdict, fresh: Verdict | None, policy: Policy, *, must: bool) -> Verdict:
    """A row that the search calls regressed, after its fresh pairs."""
    if fresh is None:
        if not must:
            return row
        pending = Confirmation(outcome="pending", sessions=0)
        return _doubted(row, pending, f"{_suspicion(row)}; no fresh pair has tested it yet")
    confirmation = Confirmation(
        outcome=_WORDS.get(fresh.outcome, "inconclusive"),
        sessions=fresh.sessions,
        ratio=fresh.ratio,
        ratio_low=fresh.ratio_low,
        ratio_high=fresh.ratio_high,
        e_value=fresh.e_value,
    )
    pairs = f"{fresh.sessions} fresh {'pair' if fresh.sessions == 1 else 'pairs'}"
    if confirmation.outcome == "confirmed":
        reason = shorten(f"{row.reason}; confirmed on {pairs}")
        return msgspec.structs.replace(row, reason=reason, confirmation=confirmation)
    if confirmation.outcome == "inconclusive":
        return _doubted(row, confirmation, f"{_suspicion(row)}; not confirmed on {pairs}: {fresh.reason}")
    found = f"{pairs} refute it ({format_ratio(fresh.ratio)}): {fresh.reason}"
    both_within = fresh.outcome is Outcome.UNCHANGED and _within(row, policy)
    outcome = Outcome.UNCHANGED if both_within else Outcome.INCONCLUSIVE
    return _doubted(row, confirmation, f"{_suspicion(row)}; {found}", outcome)


def _suspicion(row: Verdict) -> str:
    return f"suspected regression ({format_ratio(row.ratio)} over {row.sessions} pairs)"


def _within(row: Verdict, policy: Policy) -> bool:
    """Whether the search's own interval lies within the minimal effect."""
    if not row.ratio_low or not row.ratio_high:
        return False
    return max(abs(math.log(row.ratio_low)), abs(math.log(row.ratio_high))) <= math.log1p(policy.min_effect)


def _doubted(
    row: Verdict, confirmation: Confirmation, reason: str, outcome: Outcome = Outcome.INCONCLUSIVE
) -> Verdict:
    return msgspec.structs.replace(
        row,
        outcome=outcome,
        reason=shorten(reason),
        confirmation=confirmation,
        blame_range=None,
        proven_beyond_min_effect=False,
    )
