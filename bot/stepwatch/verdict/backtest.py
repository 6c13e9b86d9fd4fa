"""What the alerts of a replayed history were worth, seen from its end."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from stepwatch.verdict.changes import Change, Turn, change_of
from stepwatch.verdict.replay import MARGIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stepwatch.stats.changepoint import ChangePoint, Detection
    from stepwatch.verdict.replay import Raised
    from stepwatch.verdict.series import Series

_MONTH_SECONDS = 365.25 / 12 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A point of a series."""

    index: int
    revision: str
    date: float | None
    """Of the revision, Unix time, seconds; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A change point that would have been told, and what became of it."""

    series: str
    raised: Moment
    """The newest point when it was first seen."""
    change: Change
    """As it looked then."""
    unit: str
    points_late: int
    """Measured points at the new level when it was raised, from the place that all data give."""
    supported: bool
    """Whether all data still show a change there; else it was probably a false alarm."""
    recovered: Moment | None
    """Where the level came back to within the minimal effect of the one before; None also where there was no
    change to recover from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """All alerts together."""

    series: int
    points: int
    months: float | None
    """From the first revision that could raise an alert to the last; None: the dates are not known."""
    alerts: int
    worse: int
    better: int
    per_month: float | None
    median_points_late: float | None
    recovered: int
    unsupported: int


def judge_alerts(
    series: Series, raised: Iterable[Raised], found: Detection, *, min_effect: float
) -> list[Alert]:
    """What became of the alerts of one series.

    Args:
        series: all of it.
        raised: what the replay raised.
        found: the detection on all data.
        min_effect: a level this close (relative) to the old one has recovered.
    """
    alerts = []
    for one in raised:
        truth = min(found.changes, key=lambda change: abs(change.index - one.change.index), default=None)
        supported = truth is not None and abs(truth.index - one.change.index) <= MARGIN
        place = truth.index if truth is not None and supported else one.change.index
        alerts.append(
            Alert(
                series=series.name,
                raised=_moment(series, one.at),
                change=change_of(series, one.change),
                unit=series.unit,
                points_late=int(np.count_nonzero(~np.isnan(series.values[place : one.at + 1]))),
                supported=supported,
                recovered=_recovery(series, one.change, place, found.changes, min_effect)
                if supported
                else None,
            )
        )
    return alerts


def total(series: Sequence[Series], alerts: Sequence[Alert], first: Sequence[int]) -> Totals:
    """Counts over all series; `first` are the indices of the first points that could raise an alert."""
    months = _months(series, first)
    worse = sum(alert.change.direction is Turn.WORSE for alert in alerts)
    return Totals(
        series=len(series),
        points=sum(len(one.values) - start for one, start in zip(series, first, strict=True)),
        months=months,
        alerts=len(alerts),
        worse=worse,
        better=len(alerts) - worse,
        per_month=len(alerts) / months if months else None,
        median_points_late=statistics.median(alert.points_late for alert in alerts) if alerts else None,
        recovered=sum(alert.recovered is not None for alert in alerts),
        unsupported=sum(not alert.supported for alert in alerts),
    )


def backtest_as_json(alerts: Sequence[Alert], totals: Totals, notes: Sequence[str]) -> bytes:
    """Everything found, for machines."""
    return msgspec.json.encode({"alerts": alerts, "totals": totals, "notes": notes})


def _recovery(
    series: Series, raised: ChangePoint, place: int, changes: Sequence[ChangePoint], min_effect: float
) -> Moment | None:
    """The first later change that leads back to the level before."""
    for change in changes:
        if change.index > place and abs(change.level - raised.before) <= min_effect * abs(raised.before):
            return _moment(series, change.index)
    return None


def _moment(series: Series, index: int) -> Moment:
    date = None if series.dates is None else float(series.dates[index])
    return Moment(index=index, revision=series.revisions[index], date=date)


def _months(series: Sequence[Series], first: Sequence[int]) -> float | None:
    spans = [
        (float(one.dates[start]), float(one.dates[-1]))
        for one, start in zip(series, first, strict=True)
        if one.dates is not None and start < len(one.values)
    ]
    if not spans:
        return None
    seconds = max(end for _, end in spans) - min(begin for begin, _ in spans)
    return seconds / _MONTH_SECONDS or None
