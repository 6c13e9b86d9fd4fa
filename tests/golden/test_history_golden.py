"""What `changepoints` and `backtest` print, in a narrow and in a wide terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from history_scenarios import judged, replayed, series

from stepwatch.render.backtest_text import render_backtest
from stepwatch.render.changes_text import render_changes
from stepwatch.stats.changepoint import Detection
from stepwatch.verdict.backtest import total
from stepwatch.verdict.changes import describe_changes

if TYPE_CHECKING:
    from collections.abc import Callable

NOTES = [
    "2 files left out; the first: results/lab/a.json:1:29: not JSON, perhaps truncated; move the file away"
]


@pytest.mark.parametrize("width", [80, 120])
def test_changes(width: int, golden: Callable[[str, str], None]) -> None:
    golden(f"history/changes-{width}.txt", render_changes(judged(), NOTES, width=width))


def test_nothing_changed(golden: Callable[[str, str], None]) -> None:
    quiet = [describe_changes(series("fft.time_forward"), Detection())]
    golden("history/quiet.txt", render_changes(quiet, width=80))


@pytest.mark.parametrize("width", [80, 120])
def test_backtest(width: int, golden: Callable[[str, str], None]) -> None:
    golden(f"history/backtest-{width}.txt", render_backtest(*replayed(), NOTES, width=width))


def test_backtest_without_dates(golden: Callable[[str, str], None]) -> None:
    alerts, _ = replayed()
    one = series("other.time_undated", dates=None)
    golden(
        "history/backtest-undated.txt", render_backtest(alerts[3:], total([one], alerts[3:], [0]), width=80)
    )


def test_backtest_without_alerts(golden: Callable[[str, str], None]) -> None:
    one = series("fft.time_forward")
    golden("history/backtest-quiet.txt", render_backtest([], total([one], [], [0]), width=80))
