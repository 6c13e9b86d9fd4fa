"""What every renderer says in the same words: headline, advice, numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stepwatch.model import Outcome
from stepwatch.render.escape import is_safe_argument
from stepwatch.units import format_ratio, format_ratios, format_value

if TYPE_CHECKING:
    from stepwatch.report import Report
    from stepwatch.verdict import Differences, Interval, TwinVariant, Verdict


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


def next_commands(report: Report) -> list[tuple[str, str]]:
    """Commands that carry on from here, as (why, command); none for names that do not belong in a shell."""
    names = [name for name in (report.baseline, report.contender) if name is not None]
    if len(names) < 2 or not all(map(is_safe_argument, names)):
        return []
    aa = names[0] == names[1]
    measure = f"stepwatch measure {f'--a-a {names[1]}' if aa else '..'.join(names)}"
    most = max((verdict.sessions for verdict in report.verdicts), default=0)
    # Twice what was measured, and never fewer than could call a lone change in a usual family.
    more = max(2 * most, 8)
    counts = outcome_counts(report)
    commands = []
    if counts[Outcome.REGRESSED] and not aa:
        commands.append(("confirm on more pairs", f"{measure} --sessions {more}"))
    elif counts[Outcome.INCONCLUSIVE]:
        commands.append(("decide the inconclusive", f"{measure} --sessions {more}"))
    elif counts[Outcome.BROKEN]:
        commands.append(("try again what failed", measure))
    return [*commands, ("the history, as HTML", "stepwatch site")]
