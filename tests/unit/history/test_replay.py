"""Replays: never a look ahead, every alert exactly once, and what it was worth in the end."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from asv_directory import step_values
from history_scenarios import DAY, FASTER, SLOWER, series
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.stats.changepoint import DEFAULT, ChangePoint, Detection, detect
from stepwatch.units import Direction
from stepwatch.verdict.backtest import judge_alerts, total
from stepwatch.verdict.changes import Turn, describe_changes, least_observations
from stepwatch.verdict.replay import MARGIN, Job, Raised, newcomers, occasions, replay


def job(values: list[float], **changes: int) -> Job:
    return Job(np.array(values), None, False, **changes)


FLAT = step_values(60, 60)
STEP = step_values(80, 40)
THERE_AND_BACK = [a * b for a, b in zip(step_values(120, 40), step_values(120, 80, size=-1 / 6), strict=True)]


def brute(values: list[float], first: int = 0) -> list[tuple[int, int]]:
    """(newest point, place) of every alert, by the definition and nothing else."""
    known: list[int] = []
    raised = []
    for end in range(1, len(values) + 1):
        found = [change.index for change in detect(np.array(values[:end])).changes]
        for place in found:
            if all(abs(place - other) > MARGIN for other in known):
                known.append(place)
                if end > first:
                    raised.append((end - 1, place))
    return raised


@pytest.mark.parametrize("values", [FLAT, STEP, THERE_AND_BACK])
def test_replay_is_the_detector_on_every_prefix(values: list[float]) -> None:
    found = [(one.at, one.change.index) for one in replay(job(values), settings=DEFAULT)]
    assert found == brute(values)
    assert len(found) == {60: 0, 80: 1, 120: 2}[len(values)]


@pytest.mark.parametrize("last", [300.0, 100.0])
def test_two_steps_close_together_are_two_alerts(last: float) -> None:
    exact = Job(np.repeat([100.0, 200.0, last], [10, MARGIN - 1, 20]), None, True)
    found = [(one.change.index, one.change.level) for one in replay(exact, settings=DEFAULT)]
    assert found == [(10, 200.0), (10 + MARGIN - 1, last)]


def test_a_known_place_accounts_for_the_nearest_change_within_the_margin() -> None:
    def at(*places: int) -> list[ChangePoint]:
        return [dataclasses.replace(SLOWER, index=place) for place in places]

    assert newcomers(at(20, 24), [24]) == at(20)
    assert newcomers(at(20, 24), [19, 26]) == []
    assert newcomers(at(20), [20 + MARGIN]) == []
    assert newcomers(at(20), [20 + MARGIN + 1]) == at(20)
    assert newcomers(at(20, 24), []) == at(20, 24)


@given(st.integers(20, 79), st.lists(st.floats(0.5, 2.0), max_size=30))
@settings(max_examples=30, deadline=None)
def test_later_points_never_alter_earlier_alerts(end: int, later: list[float]) -> None:
    then = replay(job(STEP[:end]), settings=DEFAULT)
    now = replay(job(STEP[:end] + later), settings=DEFAULT)
    assert now[: len(then)] == then
    assert all(one.at >= end for one in now[len(then) :])


@given(st.integers(1, 7), st.integers(20, 79), st.lists(st.floats(0.5, 2.0), max_size=10))
@settings(max_examples=20, deadline=None)
def test_nor_when_not_every_point_is_looked_at(step: int, end: int, later: list[float]) -> None:
    then = replay(job(STEP[:end]), settings=DEFAULT, step=step)
    now = replay(job(STEP[:end] + later), settings=DEFAULT, step=step)
    assert now[: len(then)] == then


def test_a_missing_point_is_no_occasion_to_look() -> None:
    gaps = job([1.0, math.nan] * 10)
    looks = occasions(gaps, settings=DEFAULT, step=1)
    assert looks == list(range(2 * least_observations(DEFAULT) - 1, 20, 2))
    assert occasions(gaps, settings=DEFAULT, step=3) == looks[::3]


def test_what_older_points_show_is_known_from_the_start() -> None:
    assert replay(job(STEP, first=70), settings=DEFAULT) == ()
    (late,) = replay(job(STEP, first=42), settings=DEFAULT)
    (early,) = replay(job(STEP), settings=DEFAULT)
    assert late == early
    assert replay(job(STEP, first=80), settings=DEFAULT) == ()


def test_an_alert_is_judged_by_all_the_data() -> None:
    one = series("a")
    found = Detection(changes=(SLOWER, FASTER))
    near = dataclasses.replace(SLOWER, index=SLOWER.index + MARGIN)
    far = dataclasses.replace(SLOWER, index=SLOWER.index - MARGIN - 1)
    raised = [Raised(at=68, change=near), Raised(at=62, change=far), Raised(at=93, change=FASTER)]
    first, second, third = judge_alerts(one, raised, found, min_effect=0.02)
    assert (first.supported, first.points_late) == (True, 9)
    assert first.recovered is not None
    assert (first.recovered.index, first.recovered.date) == (90, 1.7e9 + 90 * DAY)
    assert (second.supported, second.points_late, second.recovered) == (False, 9, None)
    assert (third.supported, third.points_late, third.recovered) == (True, 4, None)
    assert [alert.change.direction for alert in (first, second, third)] == [
        Turn.WORSE,
        Turn.WORSE,
        Turn.BETTER,
    ]
    strict = judge_alerts(one, raised[:1], found, min_effect=0.0001)
    assert strict[0].recovered is None


def test_late_points_are_measured_points() -> None:
    values = np.full(120, 0.001)
    values[61:64] = math.nan
    (alert,) = judge_alerts(
        series("a", values=values),
        [Raised(at=68, change=SLOWER)],
        Detection(changes=(SLOWER,)),
        min_effect=0.02,
    )
    assert alert.points_late == 6


def test_totals() -> None:
    one, other = series("a"), series("b", dates=None)
    alerts = judge_alerts(one, [Raised(at=64, change=SLOWER)], Detection(), min_effect=0.02)
    found = total([one, other], alerts, [0, 20])
    assert (found.series, found.points, found.alerts, found.unsupported) == (2, 220, 1, 1)
    assert found.months == pytest.approx(119 / 30.4375)
    assert found.per_month == pytest.approx(30.4375 / 119)
    nothing = total([other], [], [0])
    assert (nothing.months, nothing.per_month, nothing.median_points_late) == (None, None, None)
    alone = total([series("c", points=1)], [], [0])
    assert (alone.months, alone.per_month) == (None, None)


@pytest.mark.parametrize(("better", "turn"), [(Direction.LOWER, Turn.WORSE), (Direction.HIGHER, Turn.BETTER)])
def test_the_direction_of_the_metric_says_what_is_worse(better: Direction, turn: Turn) -> None:
    one = series("a", better=better)
    (change,) = describe_changes(one, Detection(changes=(SLOWER,))).changes
    assert change.direction is turn
    assert (change.revision, change.after, change.through) == tuple(one.revisions[i] for i in (60, 58, 61))


def test_too_short_is_not_unchanged() -> None:
    least = least_observations(DEFAULT)
    values = np.where(np.arange(120) < least - 1, 0.001, math.nan)
    assert describe_changes(series("a", values=values), Detection()).too_short
    values[-1] = 0.001
    assert not describe_changes(series("a", values=values), Detection()).too_short


def test_sessions_count_where_they_are_known() -> None:
    """Two points with three sessions each are enough to look; a one-point series never is."""
    three = np.ones(3)
    few = Job(np.array([1.0, math.nan, 2.0, 2.0]), (three, np.empty(0), three, np.empty(0)), False)
    assert occasions(few, settings=DEFAULT, step=1) == [3, 4]
    samples = (three,) * 2
    two = series("a", points=2, samples=samples)
    assert not describe_changes(two, Detection()).too_short
    assert describe_changes(series("a", points=1, samples=(np.ones(50),)), Detection()).too_short
