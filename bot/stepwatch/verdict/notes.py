"""Doubts that travel with a verdict: what was left out, what makes two sides incomparable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepwatch.verdict.differences import planted
from stepwatch.verdict.rows import shorten

if TYPE_CHECKING:
    from collections.abc import Collection

    from stepwatch.model import SessionRecord
    from stepwatch.verdict.evidence import BenchmarkEvidence, PairKey, SideEvidence

LOSS_TOLERANCE = 1e-3
"""Relative difference of the last loss above which two sides may not do the same work."""


def incomparable(benchmark: BenchmarkEvidence, metric: str) -> str | None:
    """Why the two sides did not measure the same work in the same unit; None: nothing says so."""
    left, right = (
        {**_work(side), "unit": side.units(metric)} for side in (benchmark.baseline, benchmark.contender)
    )
    for what in left:
        if len(left[what] | right[what]) > 1:
            return f"{what} {_listed(left[what])} on the baseline, {_listed(right[what])} on the contender"
    return None


def _work(side: SideEvidence) -> dict[str, set[str]]:
    """What identifies the measured work, with every value that the side's sessions gave."""
    records = [session.record for session in side.sessions]
    return {
        "benchmark version": {str(record.settings.get("benchmark_version", "?")) for record in records},
        "specification": {str(record.settings.get("spec", "?")) for record in records},
        "size": {record.size for record in records},
        "parameters": {str(record.parameters) for record in records},
    }


def notes_on(benchmark: BenchmarkEvidence, *, paired: Collection[PairKey]) -> list[str]:
    """What a reader must know before believing the row.

    Args:
        benchmark: the evidence of the row.
        paired: the pairs that both sides completed.
    """
    sides = (("baseline", benchmark.baseline), ("contender", benchmark.contender))
    notes = []
    for name, side in sides:
        records = [session.record for session in side.sessions]
        if text := planted(records):
            notes.append(f"SELF-TEST: a slowdown ({text}) was planted into the {name}'s sessions")
        if side.failures and side.sessions:
            notes.append(f"{len(side.failures)} failed on the {name}: {side.failures[-1].reason}")
    halves = sum(session.key not in paired for _, side in sides for session in side.sessions)
    if halves and all(side.sessions for _, side in sides):
        notes.append(f"{halves} {'session' if halves == 1 else 'sessions'} without a partner left out")
    if note := _loss_note(benchmark.baseline, benchmark.contender):
        notes.append(note)
    return [shorten(note) for note in notes]


def _loss_note(baseline: SideEvidence, contender: SideEvidence) -> str | None:
    """The last losses of the first sessions that have any, if they disagree."""
    left, right = (_last_loss([s.record for s in side.sessions]) for side in (baseline, contender))
    if left is None or right is None or abs(left - right) <= LOSS_TOLERANCE * max(abs(left), abs(right)):
        return None
    return f"the loss differs ({left:.6g} against {right:.6g}): the two sides may not do the same work"


def _last_loss(records: list[SessionRecord]) -> float | None:
    return next((record.losses[-1] for record in records if record.losses), None)


def _listed(values: set[str]) -> str:
    return " and ".join(sorted(values))
