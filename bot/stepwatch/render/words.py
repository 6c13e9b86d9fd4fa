"""What every renderer says in the same words: headline, advice, numbers."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from stepwatch.model import Outcome
from stepwatch.render.escape import is_safe_argument
from stepwatch.units import format_duration, format_percent, format_ratio, format_ratios, format_value

if TYPE_CHECKING:
    from stepwatch.report import Report
    from stepwatch.verdict import Differences, Interval, TwinVariant, Verdict

_LONGEST_MINUTES = 99_999
"""What `--budget` takes."""


def outcome_counts(report: Report) -> dict[Outcome, int]:
    """How many verdicts each outcome has, all five words present."""
    counted = Counter(verdict.outcome for verdict in report.verdicts)
    return {outcome: counted[outcome] for outcome in Outcome}


def rows_of(report: Report, outcome: Outcome) -> list[Verdict]:
    """The verdicts of one outcome, in the report's order."""
    return [verdict for verdict in report.verdicts if verdict.outcome is outcome]


def headline(report: Report) -> tuple[str, str]:
    """The verdict in one clause, and what to do about it."""
    counts = outcome_counts(report)
    total = len(report.verdicts)
    if not total:
        return "nothing compared", "measure a range A..B to get verdicts"
    if report.baseline == report.contender and (counts[Outcome.REGRESSED] or counts[Outcome.IMPROVED]):
        called = counts[Outcome.REGRESSED] + counts[Outcome.IMPROVED]
        clause = f"{called} of {total} called different in a release measured against itself"
        return clause, "a false alarm, or a planted slowdown found; see the notes"
    if counts[Outcome.REGRESSED]:
        regressed = f"{counts[Outcome.REGRESSED]} of {total} regressed"
        return regressed, "hold the update, or accept the cost knowingly; the likely cause is below"
    if counts[Outcome.BROKEN]:
        return f"{counts[Outcome.BROKEN]} of {total} broken", "mend what failed before trusting the rest"
    if counts[Outcome.INCONCLUSIVE]:
        clause = f"no regression proven, {counts[Outcome.INCONCLUSIVE]} of {total} inconclusive"
        return clause, "measure more sessions to decide; this is no all-clear"
    return f"no regression in {total}", "nothing to do"


def blame(report: Report) -> str | None:
    """The blame range of the report's verdicts: `(after, through]`."""
    for verdict in report.verdicts:
        if verdict.blame_range:
            return f"({verdict.blame_range.after}, {verdict.blame_range.through}]"
    return None


def values(verdict: Verdict) -> str:
    """`1.2 ms -> 1.7 ms`."""
    old, new = (format_value(side.value, verdict.unit) for side in (verdict.baseline, verdict.contender))
    return f"{old} -> {new}"


def ratio_interval(verdict: Verdict) -> str:
    """`1.39x (1.33 to 1.46)`; an exact comparison has no interval."""
    if verdict.ratio is None or verdict.method == "exact":
        return format_ratio(verdict.ratio)
    return _ratios(verdict.ratio, verdict.ratio_low, verdict.ratio_high)


def margins(report: Report) -> list[str]:
    """What the verdicts were judged by: error rate, margins, and the budget where there was one."""
    policy = report.policy
    parts = [
        f"alpha {policy.alpha:.2g}",
        f"floor {format_percent(policy.floor)}",
        f"minimal effect {format_percent(policy.min_effect)}" if policy.min_effect else "no minimal effect",
    ]
    if policy.budget_seconds is not None:
        parts.append(f"budget {_budget(policy.budget_seconds)}")
    return parts


def proof(verdict: Verdict, report: Report) -> str:
    """Of a change: whether the minimal effect itself is proven, and what fresh pairs say; else empty.

    The reason of an inconclusive row says already what became of a suspicion.
    """
    parts = []
    if verdict.outcome in (Outcome.REGRESSED, Outcome.IMPROVED) and report.policy.min_effect:
        proven = "proven" if verdict.proven_beyond_min_effect else "not proven"
        parts.append(f"{proven} beyond the minimal effect of {format_percent(report.policy.min_effect)}")
    if verdict.outcome is not Outcome.INCONCLUSIVE:
        parts += _confirmation(verdict)
    return "; ".join(parts)


def _confirmation(verdict: Verdict) -> list[str]:
    found = verdict.confirmation
    if found is None:
        return []
    if found.outcome == "pending":
        return ["not confirmed yet: fresh pairs are pending"]
    said = {"confirmed": "confirmed", "refuted": "refuted", "inconclusive": "neither confirmed nor refuted"}
    pairs = f"{found.sessions} fresh {'pair' if found.sessions == 1 else 'pairs'}"
    ratio = "" if found.ratio is None else f", {_ratios(found.ratio, found.ratio_low, found.ratio_high)}"
    return [f"{said[found.outcome]} on {pairs}{ratio}"]


def detection(verdict: Verdict) -> str:
    """What is detected: `1.3% (1.1% to 1.6%) in 24 pairs; A/A 0.4% (0% to 1.8%)`; empty: nothing is known.

    Without a calibration the spread of the row's own pairs speaks: `about 2.8% (own pairs)`.
    """
    parts = []
    pairs = f"{verdict.mde_pairs} {'pair' if verdict.mde_pairs == 1 else 'pairs'}"
    if verdict.mde_beyond is not None:
        parts.append(f"nothing up to {format_percent(verdict.mde_beyond)} in {pairs}")
    elif verdict.mde is not None and verdict.mde_source == "pairs":
        parts.append(f"about {format_percent(verdict.mde)} (own pairs)")
    elif verdict.mde is not None:
        parts.append(f"{format_percent(verdict.mde)}{_mde_interval(verdict)} in {pairs}")
    if verdict.a_a_rate is not None:
        ends = [format_percent(end) for end in (verdict.a_a_low, verdict.a_a_high) if end is not None]
        interval = f" ({' to '.join(ends)})" if len(ends) > 1 else ""
        parts.append(f"A/A {format_percent(verdict.a_a_rate)}{interval}")
    return "; ".join(parts)


def _mde_interval(verdict: Verdict) -> str:
    if verdict.mde_low is None:
        return ""
    low = format_percent(verdict.mde_low)
    return f" ({low} to {format_percent(verdict.mde_high)})" if verdict.mde_high else f" ({low} or more)"


def calibration(report: Report) -> tuple[str, str, str] | None:
    """Where MDE and A/A rates come from, as (before, release, after) the one hostile word; None: no row."""
    found = report.calibration
    if found is None:
        return None
    budget = _budget(found.budget_seconds)
    old = "; that is long ago: run stepwatch calibrate again" if found.stale else ""
    said = (
        f"against itself ({found.pairs} pairs): what a budget of {budget} detects with probability 0.9, "
        f"and how often identical code is called changed (A/A){old}"
    )
    return f"calibrated {found.measured_at[:10]} on", found.release, said


CALIBRATE = "stepwatch calibrate"


def _budget(seconds: float) -> str:
    return format_duration(seconds).removesuffix(" 00 s")


def is_uncalibrated(report: Report) -> bool:
    """Whether verdicts were tested whose false-alarm rate and MDE nobody measured here."""
    return report.calibration is None and any(row.method not in ("exact", "none") for row in report.verdicts)


def step_interval(found: Interval | None) -> str:
    """A step's time with its interval."""
    if found is None:
        return "-"
    value, low, high = (format_value(number, "seconds") for number in (found.value, found.low, found.high))
    return value if found.low is None or found.high is None else f"{value} ({low} to {high})"


def twin_ratio(variant: TwinVariant, accelerator: str) -> str:
    """The ratio that counts on this accelerator, with its interval; empty for the reference itself."""
    found = variant.ratio_cpu if counts_cpu_time(accelerator) else variant.ratio_wall
    return "" if found is None else _ratios(found.value, found.low, found.high)


def counts_cpu_time(accelerator: str) -> bool:
    """Whether steps are compared by process CPU time; with a GPU most of a step is not CPU time."""
    return accelerator == "cpu"


def _ratios(value: float, low: float | None, high: float | None) -> str:
    """A ratio and its ends with equally many decimals."""
    if low is None or high is None:
        return format_ratio(value)
    first, *ends = format_ratios(value, low, high)
    return f"{first}x ({' to '.join(ends)})"


def main_differences(report: Report) -> Differences | None:
    """What differed between the two environments: of the first verdict that both sides were measured for."""
    for verdict in report.verdicts:
        if verdict.baseline.sessions and verdict.contender.sessions:
            return verdict.differences
    return None


def causes(found: Differences) -> list[tuple[str, str, str]]:
    """Candidates for a cause as (what, baseline, contender), packages first."""
    changes = [*found.packages, *([found.python] if found.python else []), *found.settings]
    return [(change.name, change.baseline or "absent", change.contender or "absent") for change in changes]


def _is_confirmed(verdict: Verdict) -> bool:
    return verdict.confirmation is not None and verdict.confirmation.outcome == "confirmed"


def next_commands(report: Report) -> list[tuple[str, str]]:
    """Commands that carry on from here, as (why, command); none for names that do not belong in a shell."""
    names = [_argument(name) for name in (report.baseline, report.contender) if name is not None]
    if len(names) < 2 or not all(map(is_safe_argument, names)):
        return []
    counts = outcome_counts(report)
    unconfirmed = [row for row in rows_of(report, Outcome.REGRESSED) if not _is_confirmed(row)]
    aa = names[0] == names[1]
    again, more = _measuring(report, names)
    commands = []
    if unconfirmed and not aa:
        commands.append(("confirm on more pairs", more))
    elif counts[Outcome.INCONCLUSIVE]:
        commands.append(("decide the inconclusive", more))
    elif counts[Outcome.BROKEN]:
        commands.append(("try again what failed", again))
    return [*commands, ("the history, as HTML", "stepwatch site")]


def _measuring(report: Report, names: list[str]) -> tuple[str, str]:
    """The command that measured this, and one that measures more; what `compare` began it goes on with."""
    budget = report.policy.budget_seconds
    if budget is not None:
        again = f"stepwatch compare {names[0]} {names[1]}"
        return again, f"{again} --budget {math.ceil(min(2 * budget / 60, _LONGEST_MINUTES))}m"
    again = f"stepwatch measure {f'--a-a {names[1]}' if names[0] == names[1] else '..'.join(names)}"
    most = max((verdict.sessions for verdict in report.verdicts), default=0)
    # Twice what was measured, and never fewer than could call a lone change in a usual family.
    return again, f"{again} --sessions {max(2 * most, 8)}"


def _argument(name: str) -> str:
    """What a side is called on a command line; empty for a lock, of which the report knows no path."""
    return "" if name.startswith("lock/") else name.removeprefix("commit/")
