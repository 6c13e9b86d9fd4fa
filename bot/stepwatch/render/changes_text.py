"""The change points of a history for a terminal: plain text, at home in 80 columns."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from stepwatch.render.escape import plain
from stepwatch.units import format_ratio, format_ratios, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.verdict.changes import Change, Drifting, SeriesChanges

_MINIMUM_WIDTH = 60
_SERIES_SHOWN = 200
_NAMES_SHOWN = 60
_NOTES_SHOWN = 20
"""A terminal is no place for thousands."""
_HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SHORT_HASH = 10
_SMALLEST_P = 1e-12
"""A smaller p-value is more precise than the model it comes from."""


def render_changes(judged: Sequence[SeriesChanges], notes: Sequence[str] = (), *, width: int = 80) -> str:
    """What was found, series by series; those without a change only by name.

    Text of at most `width` columns (60 at the least; single long names may stick out).
    """
    width = max(width, _MINIMUM_WIDTH)
    changed = [series for series in judged if series.changes]
    drifting = [series for series in judged if series.drift]
    quiet = [series for series in judged if not (series.changes or series.drift or series.too_short)]
    short = [series for series in judged if series.too_short]
    blocks = [
        headline(judged),
        _section("CHANGED", [line for one in changed[:_SERIES_SHOWN] for line in _changes(one)], changed),
        _section("DRIFTING", [_drift_line(one) for one in drifting[:_SERIES_SHOWN]], drifting),
        _names("TOO SHORT TO JUDGE", [f"{one.series} ({_points(one)})" for one in short], width),
        _names("NO CHANGE", [one.series for one in quiet], width),
        bullets("Notes", [*notes, *(f"{one.series}: {note}" for one in judged for note in one.notes)], width),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline(judged: Sequence[SeriesChanges]) -> str:
    """The outcome in one line."""
    changes = [change for series in judged for change in series.changes]
    changed = sum(bool(series.changes) for series in judged)
    parts = [f"{changed} of {count(len(judged), 'series', 'series')} changed"]
    if changes:
        worse = sum(change.direction == "worse" for change in changes)
        parts[0] += f": {count(worse, 'change', 'changes')} worse, {len(changes) - worse} better"
    drifting = sum(series.drift is not None for series in judged)
    short = sum(series.too_short for series in judged)
    parts += [f"{drifting} drifting"] if drifting else []
    parts += [f"{short} too short to judge"] if short else []
    return " · ".join(parts)


def short_revision(revision: str) -> str:
    """A revision as people write it: a full commit hash is cut."""
    return revision[:_SHORT_HASH] if _HASH.fullmatch(revision) else plain(revision, 40)


def blame_range(after: str, through: str) -> str:
    """`(after, through]`."""
    return f"({short_revision(after)}, {short_revision(through)}]"


def ratio_text(ratio: float | None, low: float | None, high: float | None) -> str:
    """`1.049x (1.046 to 1.052)`; `-` where there is no ratio."""
    if ratio is None or low is None or high is None:
        return format_ratio(ratio)
    first, *ends = format_ratios(ratio, low, high)
    return f"{first}x ({' to '.join(ends)})"


def step_text(change: Change, unit: str) -> str:
    """How large a step is and how sure; values that repeat to the digit with all their digits."""
    if change.p_value == 0.0 and change.ratio_low == change.ratio_high:
        base = {"bytes": " B", "seconds": " s"}.get(unit, "")
        before, level = (f"{value:,.12g}{base}" for value in (change.before, change.level))
        ratio = "-" if change.ratio is None else f"{change.ratio:.9g}x"
        return f"{ratio}  {before} -> {level}  exact"
    levels = f"{format_value(change.before, unit)} -> {format_value(change.level, unit)}"
    ratio = ratio_text(change.ratio, change.ratio_low, change.ratio_high)
    return f"{ratio}  {levels}  {_p_value(change.p_value)}"


def bullets(title: str, notes: Sequence[str], width: int) -> str:
    """A list of remarks under a title; empty when there are none."""
    if not notes:
        return ""
    more = len(notes) - _NOTES_SHOWN
    lines = [
        line for note in notes[:_NOTES_SHOWN] for line in _wrapped(plain(note, 400), width, "  ", "    ")
    ]
    return "\n".join([title, *lines, *([f"  ... and {more} more"] if more > 0 else [])])


def count(number: int, one: str, many: str) -> str:
    """`1 point`, `1,200 points`."""
    return f"{number:,} {one if number == 1 else many}"


def _section(title: str, lines: Sequence[str], members: Sequence[SeriesChanges]) -> str:
    if not members:
        return ""
    more = len(members) - _SERIES_SHOWN
    return "\n".join(
        [f"{title} ({len(members)})", *lines, *([f"  ... and {more} more; see --json"] if more > 0 else [])]
    )


def _changes(series: SeriesChanges) -> list[str]:
    lines = [f"  {plain(series.series)}  {_points(series)}"]
    for change in series.changes:
        lines += [_change_line(change, series.unit), f"           {_place(change)}"]
    return lines


def _change_line(change: Change, unit: str) -> str:
    return f"    {change.direction:6} {step_text(change, unit)}"


def _place(change: Change) -> str:
    revision = short_revision(change.revision)
    return f"at {revision} (index {change.index}), in {blame_range(change.after, change.through)}"


def _drift_line(series: SeriesChanges) -> str:
    drift: Drifting = series.drift  # type: ignore[assignment]  # only drifting series come here
    ratio = ratio_text(drift.ratio, drift.ratio_low, drift.ratio_high)
    return f"  {plain(series.series)}\n    {drift.direction:6} {ratio} since {short_revision(drift.since)}"


def _p_value(p_value: float) -> str:
    return f"p < {_SMALLEST_P:.0e}" if p_value < _SMALLEST_P else f"p {p_value:.1g}"


def _points(series: SeriesChanges) -> str:
    points = count(series.points, "point", "points")
    missing = series.points - series.measured
    return f"{points}, {missing} missing" if missing else points


def _names(title: str, names: Sequence[str], width: int) -> str:
    if not names:
        return ""
    more = len(names) - _NAMES_SHOWN
    shown = [plain(name) for name in names[:_NAMES_SHOWN]] + ([f"and {more} more"] if more > 0 else [])
    text = ", ".join(shown)
    return "\n".join([f"{title} ({len(names)})", *_wrapped(text, width, "  ", "  ")])


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
