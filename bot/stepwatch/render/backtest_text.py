"""A replayed history for a terminal: the totals first, then the alerts in the order of time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stepwatch.render.changes_text import blame_range, bullets, count, short_revision, step_text
from stepwatch.render.escape import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.verdict.backtest import Alert, Moment, Totals

_MINIMUM_WIDTH = 60
_ALERTS_SHOWN = 200
"""A terminal is no place for thousands."""


def render_backtest(
    alerts: Sequence[Alert], totals: Totals, notes: Sequence[str] = (), *, width: int = 80
) -> str:
    """Text of at most `width` columns (60 at the least; single long names may stick out)."""
    blocks = [
        "\n".join(_totals(totals)),
        _alerts(alerts),
        bullets("Notes", notes, max(width, _MINIMUM_WIDTH)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _totals(totals: Totals) -> list[str]:
    span = "" if totals.months is None else f", {totals.months:.1f} months"
    alerts = count(totals.alerts, "alert", "alerts")
    lines = [f"{alerts} in {totals.series} series, {count(totals.points, 'point', 'points')}{span}"]
    if not totals.alerts:
        return lines
    if totals.per_month is not None:
        lines.append(f"  per month             {totals.per_month:.2g}")
    share = 100 / totals.alerts
    return [
        *lines,
        f"  worse, better         {totals.worse}, {totals.better}",
        f"  median delay          {totals.median_points_late:g} points",
        f"  recovered             {totals.recovered} ({totals.recovered * share:.0f} %)",
        f"  not in all the data   {totals.unsupported} ({totals.unsupported * share:.0f} %)",
    ]


def _alerts(alerts: Sequence[Alert]) -> str:
    lines = [line for alert in alerts[:_ALERTS_SHOWN] for line in _alert(alert)]
    more = len(alerts) - _ALERTS_SHOWN
    return "\n".join([*lines, *([f"... and {more} more; see --json"] if more > 0 else [])])


def _alert(alert: Alert) -> list[str]:
    change = alert.change
    late = f"{count(alert.points_late, 'point', 'points')} late"
    place = f"at {short_revision(change.revision)} (index {change.index})"
    lines = [
        plain(alert.series),
        f"  raised {_when(alert.raised)}, {late}",
        f"    {change.direction} {step_text(change, alert.unit)}",
        f"    {place}, in {blame_range(change.after, change.through)}",
    ]
    if not alert.supported:
        lines.append("    not in all the data: probably a false alarm")
    if alert.recovered is not None:
        lines.append(f"    recovered at {_when(alert.recovered)}")
    return lines


def _when(moment: Moment) -> str:
    """`2024-07-30 1a2b3c4d5e`; without a date only the revision."""
    revision = short_revision(moment.revision)
    if moment.date is None:
        return revision
    return f"{datetime.fromtimestamp(moment.date, UTC):%Y-%m-%d} {revision}"
