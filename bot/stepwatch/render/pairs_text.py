"""Verdicts on recorded pairs for a terminal: plain text, one line per benchmark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stepwatch.model import Outcome
from stepwatch.render.changes_text import ratio_text
from stepwatch.render.escape import plain
from stepwatch.units import format_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.policy import Policy
    from stepwatch.verdict.recorded import PairsVerdict

_ORDER = (Outcome.REGRESSED, Outcome.IMPROVED, Outcome.INCONCLUSIVE, Outcome.UNCHANGED)
_NAME_WIDTH = 44


def render_pairs(verdicts: Sequence[PairsVerdict], policy: Policy, *, corrected: bool) -> str:
    """A headline, the rows (changes first, the largest on top), and what they were judged by."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    headline = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _ORDER if counts[outcome])
    rows = [_cells(verdict, policy) for verdict in sorted(verdicts, key=_rank)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([headline, "", *lines, "", _judged_by(policy, corrected=corrected)]) + "\n"


def _rank(verdict: PairsVerdict) -> tuple[int, float]:
    ratio = verdict.measured.ratio or 1.0
    return _ORDER.index(verdict.outcome), -max(ratio, 1 / ratio)


def _cells(verdict: PairsVerdict, policy: Policy) -> tuple[str, ...]:
    found = verdict.measured
    changed = verdict.outcome in (Outcome.REGRESSED, Outcome.IMPROVED)
    proof = ""
    if changed and policy.min_effect:
        proven = "proven" if verdict.proven_beyond_min_effect else "not proven"
        proof = f"{proven} beyond {format_percent(policy.min_effect)}"
    return (
        plain(verdict.benchmark, _NAME_WIDTH),
        verdict.outcome.value,
        ratio_text(found.ratio, found.low, found.high),
        f"{verdict.pairs_used} pairs" if verdict.pairs_used != 1 else "1 pair",
        f"e {found.e_value or 0:.3g}",
        proof,
    )


def _judged_by(policy: Policy, *, corrected: bool) -> str:
    parts = [f"alpha {policy.alpha:.2g}", f"floor {format_percent(policy.floor)}"]
    if policy.min_effect:
        parts.append(f"minimal effect {format_percent(policy.min_effect)}")
    parts.append("e-BH over all benchmarks" if corrected else "each benchmark by itself")
    return " · ".join(parts)
