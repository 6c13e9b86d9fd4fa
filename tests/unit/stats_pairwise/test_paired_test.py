"""The paired test: thresholds, intervals, error rates, and a change that is found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.stats import (
    FEWEST_CALLED,
    PairedTest,
    fewest_for_interval,
    intervals,
    log_e_beyond,
    log_e_within,
    minimum_pairs,
)
from stepwatch.stats.e_process import final_evidence

SAMPLES = st.lists(st.floats(-0.5, 0.5).map(lambda value: round(value, 5)), min_size=2, max_size=16)
ANYTHING = st.lists(st.floats(-700, 700), min_size=1, max_size=10)


def test_the_least_numbers_of_pairs() -> None:
    assert {threshold: minimum_pairs(threshold) for threshold in (20, 100, 400, 4000)} == {
        20: 6,
        100: 6,
        400: 8,
        4000: 11,
    }
    assert fewest_for_interval(0.05) == 4


@pytest.mark.parametrize("threshold", [400, 4000])
@pytest.mark.parametrize("effect", [0.05, 1.0, 3.0])
def test_no_effect_however_large_reaches_the_threshold_below_the_minimum(
    threshold: float, effect: float
) -> None:
    needed = minimum_pairs(threshold)
    for noise in (0.0, 0.1, 0.3):
        values = effect * (1 + noise * np.sin(np.arange(needed)))
        assert PairedTest.of(values[:-1]).log_e_beyond(0.0) < math.log(threshold)
    assert PairedTest.of([effect] * needed).log_e_beyond(0.0) >= math.log(threshold) - 0.1


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_is_not_finite_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        PairedTest.of(values)


def test_too_few_values_have_no_interval() -> None:
    assert not PairedTest.of([0.5]).interval(0.05).bounded
    assert not PairedTest.of([0.1, 0.2, 0.15]).interval(0.05).bounded
    assert PairedTest.of([0.1, 0.11, 0.12, 0.1, 0.11]).interval(0.05).bounded


@settings(max_examples=25)
@given(SAMPLES)
def test_swapping_the_sides_mirrors_everything(values: list[float]) -> None:
    ours, swapped = PairedTest.of(values), PairedTest.of(-np.array(values))
    assert swapped.centre == pytest.approx(-ours.centre, abs=1e-12)
    assert swapped.log_e_beyond(0.01) == pytest.approx(ours.log_e_beyond(0.01), rel=1e-9, abs=1e-9)
    assert swapped.log_e_within(0.02) == pytest.approx(ours.log_e_within(0.02), rel=1e-9, abs=1e-9)
    there, back = ours.interval(0.05), swapped.interval(0.05)
    assert there.bounded == back.bounded
    if there.bounded:
        assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(4, 16), st.sampled_from([0.001, 0.02, 0.3]))
def test_interval_and_evidence_agree(seed: int, n: int, noise: float) -> None:
    """At the ends of the confidence sequence the evidence is 2/alpha: the two are one statement."""
    values = noise * np.random.default_rng(seed).standard_t(5, n)
    interval = PairedTest.of(values).interval(0.05)
    if not interval.bounded:
        return
    assert interval.low <= interval.centre <= interval.high
    wider, threshold = 0.02 * (interval.high - interval.low), math.log(40)
    outside, inside = (values - interval.low + side * wider for side in (1, -1))
    assert evidence_above_zero(outside) >= threshold - 0.1
    assert evidence_above_zero(inside) < threshold + 0.1


def evidence_above_zero(values: np.ndarray) -> float:
    return float(final_evidence([values], np.zeros(1), np.ones(1))[0])


@settings(max_examples=25)
@given(st.lists(SAMPLES, min_size=1, max_size=4))
def test_many_tests_at_once_are_what_they_are_alone(rows: list[list[float]]) -> None:
    tests = [PairedTest.of(row) for row in rows]
    assert log_e_beyond(tests, 0.01) == pytest.approx([test.log_e_beyond(0.01) for test in tests])
    assert log_e_within(tests, 0.02) == pytest.approx([test.log_e_within(0.02) for test in tests])
    for together, test in zip(intervals(tests, 0.05), tests, strict=True):
        alone = test.interval(0.05)
        assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
    assert intervals([], 0.05) == []


@settings(max_examples=25)
@given(ANYTHING, st.floats(0, 10))
def test_nothing_crashes_or_becomes_nan(values: list[float], margin: float) -> None:
    test = PairedTest.of(values)
    for found in (test.log_e_beyond(margin), test.log_e_within(margin)):
        assert math.isfinite(found)
    interval = test.interval(0.05)
    assert not math.isnan(interval.low)
    assert interval.low <= interval.centre <= interval.high


@settings(max_examples=25)
@given(SAMPLES, st.floats(0.001, 0.05), st.floats(0.001, 0.2))
def test_a_larger_margin_is_harder_to_exceed(values: list[float], margin: float, more: float) -> None:
    """But for the ripple of the grid of sigmas, which equal values show most."""
    test = PairedTest.of(values)
    ripple = 0.15 * test.n
    assert test.log_e_beyond(margin + more) <= test.log_e_beyond(margin) + ripple
    assert test.log_e_within(margin + more) >= test.log_e_within(margin) - ripple


def test_the_interval_covers_the_truth_at_every_look() -> None:
    """95 % promised for all looks together; at a shift of 1 %, in three kinds of noise."""
    rng = np.random.default_rng(3)
    for draw in (rng.standard_normal, lambda shape: rng.standard_t(3, shape), _with_wild(rng)):
        rows = 0.01 + 0.01 * draw((60, 14))
        looks = [PairedTest.of(row[:n]) for row in rows for n in (6, 9, 14)]
        missed = np.array([not (low.low <= 0.01 <= low.high) for low in intervals(looks, 0.05)])
        assert missed.reshape(60, 3).any(axis=1).mean() <= 0.05


def _with_wild(rng: np.random.Generator):  # noqa: ANN202  a function
    return lambda shape: rng.standard_normal(shape) + 40.0 * (rng.random(shape) < 0.08)


def order_effect_alarms(signs: np.ndarray, rng: np.random.Generator) -> float:
    """Share of A/A comparisons called while whoever runs second is 5 % slower, at 0.5 % noise.

    Args:
        signs: shape (comparisons, pairs), +1 where the contender ran second, else -1.
        rng: gives the noise of both sessions of a pair.
    """
    noise = rng.normal(0, 0.005, signs.shape) - rng.normal(0, 0.005, signs.shape)
    alarms = np.zeros(len(signs), dtype=bool)
    for n in range(FEWEST_CALLED, signs.shape[1] + 1, 2):
        tests = [PairedTest.of(row[:n]) for row in 0.05 * signs + noise]
        alarms |= log_e_beyond(tests, math.log1p(0.0025)) >= math.log(20)
    return float(np.mean(alarms))


def test_an_order_effect_raises_no_alarm_where_the_order_is_balanced() -> None:
    """Two humps at +-5 %, each second pair in the other order, as campaigns do it."""
    rng = np.random.default_rng(8)
    first = rng.choice([-1, 1], (300, 10))
    signs = np.stack([first, -first], axis=2).reshape(300, 20)
    assert order_effect_alarms(signs, rng) == 0


def test_an_order_effect_with_tossed_coins_is_the_known_weakness() -> None:
    """docs/adr/0007 gives 8.6 %: coins fall alike, and what a likelihood takes for outliers."""
    rng = np.random.default_rng(9)
    assert 0.03 <= order_effect_alarms(rng.choice([-1, 1], (400, 20)), rng) <= 0.14


def test_one_wild_pair_hides_no_change() -> None:
    """A mean and its t-test would be lost: the spread explodes."""
    rng = np.random.default_rng(4)
    rows = rng.normal(0.03, 0.01, (100, 12))
    rows[np.arange(100), rng.integers(0, 12, 100)] -= 0.7
    found = log_e_beyond([PairedTest.of(row) for row in rows], math.log1p(0.0025)) >= math.log(20)
    assert found.mean() >= 0.9


def test_a_real_change_is_found() -> None:
    rng = np.random.default_rng(6)
    tests = [PairedTest.of(rng.normal(0.05, 0.015, 8)) for _ in range(100)]
    assert np.mean(log_e_beyond(tests, 0.01) > math.log(20)) >= 0.95
