"""The machinery of `backtest`: read, cut to the time asked for, replay, and judge from the end."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.commands.counting import count_on_stderr
from stepwatch.commands.histories import read_policies, read_request, survey
from stepwatch.errors import UsageError
from stepwatch.history.executors import open_executor
from stepwatch.history.work import Detecting, Replaying, jobs_of
from stepwatch.stats.changepoint import Detection
from stepwatch.verdict.backtest import judge_alerts, total
from stepwatch.verdict.replay import Raised

if TYPE_CHECKING:
    from stepwatch.commands.histories import Request
    from stepwatch.verdict.backtest import Alert, Totals
    from stepwatch.verdict.series import Series

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time that is replayed."""

    since: float | None
    """First moment of the first day, Unix time in seconds; None: from the beginning."""
    until: float | None
    """First moment of the last day; None: to the end."""
    step: int
    """Look after every so many points."""


def backtest_history(request: Request, window: Window) -> tuple[list[Alert], Totals, tuple[str, ...]]:
    """Replay a history.

    Returns:
        The alerts in the order of time, their totals, and notes on what could not be read.

    Raises:
        StepwatchError: see `read_request` and `open_executor`.
        UsageError: no point lies in the window.
    """
    policy, settings = read_policies(request.policy)
    with count_on_stderr() as show:
        history = read_request(request, show)
        series = [cut for one in history.series if len((cut := _until(one, window.until)).values)]
        first = [_first(one, window.since) for one in series]
        if not any(start < len(one.values) for one, start in zip(series, first, strict=True)):
            raise UsageError("no point lies between --since and --until")
        jobs = jobs_of(series)
        whole = survey(Detecting(settings=settings), Detection, jobs, request)
        starting = [job._replace(first=start) for job, start in zip(jobs, first, strict=True)]
        growing = survey(
            Replaying(settings=settings, step=window.step), tuple[Raised, ...], starting, request
        )
        with open_executor(request.executor, whole.points + growing.points) as executor:
            found = whole.run(executor)
            raised = growing.run(executor, lambda done, total: show("series", done, total))
    alerts = [
        alert
        for one, each, detection in zip(series, raised, found, strict=True)
        for alert in judge_alerts(one, each, detection, min_effect=policy.min_effect)
    ]
    alerts.sort(key=lambda alert: (alert.raised.date or 0.0, alert.series, alert.raised.index))
    return alerts, total(series, alerts, first), history.notes


def _until(series: Series, until: float | None) -> Series:
    """The series up to the end of a day."""
    if until is None or series.dates is None:
        return series
    end = int(np.searchsorted(series.dates, until + _DAY_SECONDS))
    return dataclasses.replace(
        series,
        revisions=series.revisions[:end],
        values=series.values[:end],
        samples=series.samples and series.samples[:end],
        dates=series.dates[:end],
    )


def _first(series: Series, since: float | None) -> int:
    """The index of the first point that can raise an alert."""
    if since is None or series.dates is None:
        return 0
    return int(np.searchsorted(series.dates, since))
