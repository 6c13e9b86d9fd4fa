"""The scorers, against examples worked out by hand from their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from stats_bench import metrics

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("truth", "detections", "matched"),
    [
        ([], [], 0),
        ([10], [], 0),
        ([10], [15], 1),
        ([10], [16], 0),
        ([10, 14], [12], 1),  # a detection is used once
        ([10, 14], [12, 13], 2),  # 10 takes 12, 14 takes 13
        ([10, 14], [13, 19], 2),  # 10 takes the nearest, 13; 14 is left with 19
        ([100], [96, 101, 104], 1),
    ],
)
def test_matches(truth: list[int], detections: list[int], matched: int) -> None:
    assert metrics.match(truth, detections) == matched


def test_scores_are_summed_before_they_are_divided() -> None:
    total = metrics.Score.of([100], [100, 200]) + metrics.Score.of([50, 300], [49])
    assert (total.precision, total.recall) == (2 / 3, 2 / 3)
    assert total.f1 == pytest.approx(2 / 3)
    nothing = metrics.Score.of([100], [])
    assert (nothing.precision, nothing.recall, nothing.f1) == (1.0, 0.0, 0.0)
    assert metrics.Score.of([], []).f1 == 1.0


def test_tcpd_f1_counts_index_zero() -> None:
    # Annotators {0, 50} and {0}; found {0, 52, 80}: P = 2/3, R = mean(2/2, 1/1).
    assert metrics.tcpd_f1([[50], []], [52, 80]) == pytest.approx(2 * (2 / 3) / (2 / 3 + 1))
    # Predicting nothing: P = 1, R = mean(1/2, 1).
    assert metrics.tcpd_f1([[50], []], []) == pytest.approx(2 * 0.75 / 1.75)


def test_precision_counts_marks_of_several_annotators_once_per_detection() -> None:
    # The union holds 0, 50, 52; the only detection besides 0 can match one of them.
    assert metrics.tcpd_f1([[50], [52]], [51]) == 1.0


def test_consensus_needs_more_than_half() -> None:
    assert metrics.consensus([[100], [103], [], []]) == []
    assert metrics.consensus([[100], [103], [104], []]) == [103]
    assert metrics.consensus([[100, 300], [100, 301], [101], [299]]) == [100, 300]
    assert metrics.consensus([[], [], []]) == []


def _when_longer_than(length: int, *places: int) -> metrics.Detector:
    def detect(values: np.ndarray) -> Sequence[int]:
        return list(places) if values.size > length else []

    return detect


def test_an_alarm_counts_when_it_first_rises() -> None:
    series = np.ones(160)
    outcome = metrics.replay(_when_longer_than(116, 112), series, at=110)
    # First raised with 117 points: 7 of the new level.
    assert (outcome.delay, outcome.alarms, outcome.spurious, outcome.appended) == (7, 1, 0, 100)
    assert outcome.found


def test_what_is_known_at_the_start_never_alarms() -> None:
    outcome = metrics.replay(_when_longer_than(0, 30), np.ones(160), at=None)
    assert (outcome.alarms, outcome.delay) == (0, None)


def test_alarms_elsewhere_and_before_the_step_are_spurious() -> None:
    outcome = metrics.replay(_when_longer_than(105, 80, 107), np.ones(160), at=110)
    assert (outcome.alarms, outcome.spurious, outcome.delay) == (2, 2, None)
    assert not outcome.found


def test_a_late_alarm_is_not_found() -> None:
    outcome = metrics.replay(_when_longer_than(145, 110), np.ones(160), at=110)
    assert outcome.delay == 36
    assert not outcome.found


def test_a_wandering_detection_alarms_again_only_beyond_the_margin() -> None:
    def detect(values: np.ndarray) -> list[int]:
        return [] if values.size < 70 else [values.size - 10]

    outcome = metrics.replay(detect, np.ones(82), at=None)
    # 60, 66 and 72 rise; what lies within 5 of a raised one does not.
    assert outcome.alarms == 3


@given(st.integers(0, 40), st.integers(1, 40))
def test_the_interval_of_a_share_is_scipys_exact_one(hits: int, trials: int) -> None:
    hits = min(hits, trials)
    expected = binomtest(hits, trials).proportion_ci(method="exact")
    assert metrics.binomial_interval(hits, trials) == pytest.approx((expected.low, expected.high))


def test_no_trial_knows_nothing() -> None:
    assert metrics.binomial_interval(0, 0) == (0.0, 1.0)


def test_the_bootstrap_covers_a_mean() -> None:
    values = np.random.default_rng(2).normal(3.0, 1.0, 200)
    low, high = metrics.bootstrap_interval(
        lambda chosen: float(values[chosen].mean()), values.size, np.random.default_rng(0), draws=2000
    )
    half = 1.96 * values.std() / np.sqrt(200)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.02)
