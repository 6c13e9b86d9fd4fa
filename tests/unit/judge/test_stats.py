"""The test statistics: closed forms, oracles, symmetries, and the promise of an e-value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import integrate, stats

from stepwatch.stats import PairedTest, e_bh, minimum_pairs, session_value, typical_value

FLOATS = st.floats(-5, 5, allow_nan=False).map(lambda value: round(value, 6))
SAMPLES = st.lists(FLOATS, min_size=2, max_size=30)
ANYTHING = st.lists(st.floats(-700, 700), min_size=1, max_size=12)


def test_reference_thresholds_of_the_statistics_page() -> None:
    thresholds = {10: 4, 20: 5, 100: 6, 400: 7, 1000: 8, 4000: 9}
    assert {threshold: minimum_pairs(threshold) for threshold in thresholds} == thresholds


def test_no_effect_however_large_reaches_the_threshold_below_the_minimum() -> None:
    for threshold in (20, 100, 4000):
        needed = minimum_pairs(threshold)
        assert PairedTest.of([1.0] * (needed - 1)).log_e(0) <= math.log(threshold)
        assert PairedTest.of([1.0] * needed).log_e(0) > math.log(threshold)


def test_the_e_value_is_the_bayes_factor_it_claims_to_be() -> None:
    """Integrate the noncentral t density over the prior normal(0, 1) of the standardised effect."""
    values = np.array([0.3, 0.1, 0.25, 0.05, 0.2, 0.15])
    n = values.size
    t = values.mean() / (values.std(ddof=1) / math.sqrt(n))

    def weighted(effect: float) -> float:
        return float(stats.nct.pdf(t, n - 1, effect * math.sqrt(n)) * stats.norm.pdf(effect))

    marginal, _ = integrate.quad(weighted, -12, 12, limit=200)
    oracle = marginal / stats.t.pdf(t, n - 1)
    assert math.exp(PairedTest.of(values).log_e(0)) == pytest.approx(oracle, rel=1e-5)


def test_without_outliers_centre_and_scale_are_the_ordinary_ones() -> None:
    values = [0.1, 0.2, 0.15, 0.12, 0.18]
    test = PairedTest.of(values)
    assert test.centre == pytest.approx(np.mean(values))
    assert test.scale == pytest.approx(stats.sem(values))
    assert test.n == 5


def test_an_outlier_is_believed() -> None:
    """Pulling it in would make an e-value of the rest, which is none (docs/adr/0005)."""
    wild = [0.10, 0.11, 0.12, 0.10, 0.11, 0.12, 0.11, 0.10, 0.12, 5.0]
    test = PairedTest.of(wild)
    assert (test.centre, test.scale) == (pytest.approx(np.mean(wild)), pytest.approx(stats.sem(wild)))


def test_one_value_tests_nothing() -> None:
    test = PairedTest.of([0.5])
    assert test.log_e(0) == -math.inf
    assert test.log_e_beyond(0.01) == -math.inf
    assert not test.interval(0.05).bounded


def test_too_few_values_have_no_interval() -> None:
    assert not PairedTest.of([0.1, 0.2, 0.15, 0.12]).interval(0.05).bounded
    assert PairedTest.of([0.1, 0.2, 0.15, 0.12, 0.14]).interval(0.05).bounded


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_is_not_finite_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        PairedTest.of(values)
    with pytest.raises(ValueError, match="finite"):
        session_value(values)


@given(SAMPLES, st.floats(0.01, 100))
def test_scaling_the_differences_changes_no_evidence_against_zero(values: list[float], factor: float) -> None:
    ours = PairedTest.of(values)
    scaled = PairedTest.of(np.array(values) * factor)
    assert scaled.log_e(0) == pytest.approx(ours.log_e(0), rel=1e-6, abs=1e-6)


@given(SAMPLES, st.floats(-3, 3))
def test_shifting_values_and_null_together_changes_nothing(values: list[float], shift: float) -> None:
    ours, moved = PairedTest.of(values), PairedTest.of(np.array(values) + shift)
    if ours.scale > 1e-6:
        assert moved.log_e(shift) == pytest.approx(ours.log_e(0), rel=1e-6, abs=1e-6)


@given(SAMPLES)
def test_swapping_the_sides_mirrors_everything(values: list[float]) -> None:
    ours, swapped = PairedTest.of(values), PairedTest.of(-np.array(values))
    assert swapped.centre == pytest.approx(-ours.centre, abs=1e-12)
    assert swapped.log_e_beyond(0.01) == pytest.approx(ours.log_e_beyond(0.01), rel=1e-9, abs=1e-9)
    there, back = ours.interval(0.05), swapped.interval(0.05)
    assert there.bounded == back.bounded
    if there.bounded:
        assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=1e-9)


@given(SAMPLES)
def test_interval_and_evidence_agree(values: list[float]) -> None:
    """Inside the confidence sequence e < 1/alpha, outside above: the two are one statement."""
    test = PairedTest.of(values)
    interval = test.interval(0.05)
    if not interval.bounded or test.scale < 1e-9:
        return
    width = interval.high - interval.low
    assert test.log_e(interval.high) == pytest.approx(math.log(20), rel=1e-6)
    assert test.log_e(interval.high + 0.01 * width) > math.log(20)
    assert test.log_e(interval.high - 0.01 * width) < math.log(20)


@given(SAMPLES, st.floats(0.1, 3))
def test_a_farther_null_has_more_evidence_against_it(values: list[float], step: float) -> None:
    test = PairedTest.of(values)
    assert test.log_e(test.centre + 2 * step) >= test.log_e(test.centre + step)
    assert test.log_e_beyond(0.1) <= max(test.log_e(0), test.log_e(test.centre)) + 1e-9


@given(ANYTHING, st.floats(0, 10))
def test_nothing_crashes_or_becomes_nan(values: list[float], margin: float) -> None:
    test = PairedTest.of(values)
    for found in (test.log_e(0), test.log_e(margin), test.log_e_beyond(margin)):
        assert not math.isnan(found)
        assert found < math.inf
    interval = test.interval(0.05)
    assert interval.low <= interval.centre <= interval.high


@given(st.floats(-3, 3).filter(lambda value: abs(value) > 1e-6), st.integers(2, 40))
def test_identical_differences_give_the_largest_e_value_there_is(value: float, n: int) -> None:
    """No spread at all: the limit of a large t, not an infinity."""
    log_e = PairedTest.of([value] * n).log_e(0)
    assert log_e == pytest.approx(0.5 * (n - 1) * math.log1p(n), rel=1e-6)


@pytest.mark.parametrize("shape", ["normal", "heavy", "bimodal"])
def test_the_expected_e_value_under_the_null_is_about_one(shape: str) -> None:
    """What winsorising would break (1.5 and 60, docs/adr/0005)."""
    rng = np.random.default_rng(11)
    found = []
    for _ in range(3000):
        n = 10
        if shape == "normal":
            values = rng.normal(size=n)
        elif shape == "heavy":
            values = rng.standard_t(4, size=n)
        else:
            values = 0.3 * rng.normal(size=n) + 5 * ((rng.random(n) < 0.3) * 1.0 - (rng.random(n) < 0.3))
        found.append(min(100.0, math.exp(PairedTest.of(values).log_e(0))))
    assert np.mean(found) < 1.3
    assert np.mean(np.array(found) >= 20) < 0.02


def test_looking_after_every_pair_keeps_the_error_rate() -> None:
    """Of 400 A/A comparisons, looked at after each of 20 pairs, at most 5 % may raise an alarm."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(400):
        values = rng.normal(0, 0.02, 20)
        alarms += any(PairedTest.of(values[:n]).log_e(0) >= math.log(20) for n in range(5, 21))
    assert alarms <= 20


def order_effect_alarms(signs: np.ndarray, rng: np.random.Generator) -> float:
    """Share of A/A comparisons ever called while whoever runs second is 5 % slower, at 0.5 % noise.

    Args:
        signs: shape (comparisons, pairs), +1 where the contender ran second, else -1.
        rng: gives the noise of both sessions of a pair.
    """
    noise = rng.normal(0, 0.005, signs.shape) - rng.normal(0, 0.005, signs.shape)
    floor, threshold = math.log1p(0.01), math.log(20)
    alarms = [
        any(PairedTest.of(row[:n]).log_e_beyond(floor) >= threshold for n in range(5, row.size + 1))
        for row in 0.05 * signs + noise
    ]
    return float(np.mean(alarms))


def test_an_order_effect_raises_no_alarm_where_the_order_is_balanced() -> None:
    """Two humps at +-5 %, looked at after each of 5 to 24 pairs, each second pair in the other order."""
    rng = np.random.default_rng(8)
    first = rng.choice([-1, 1], (1000, 12))
    signs = np.stack([first, -first], axis=2).reshape(1000, 24)
    assert order_effect_alarms(signs, rng) <= 0.05


def test_an_order_effect_with_tossed_coins_alarms_no_more_often_than_the_coins_fall_alike() -> None:
    """Winsorised it was 61 %; plain it is what five equal coins are worth, 2^-4 = 6.25 % (docs/adr/0005)."""
    rng = np.random.default_rng(9)
    found = order_effect_alarms(rng.choice([-1, 1], (1000, 24)), rng)
    assert found <= 0.0625 + 3 * math.sqrt(0.0625 * 0.9375 / 1000)


def test_a_real_change_is_found() -> None:
    rng = np.random.default_rng(6)
    found = sum(
        PairedTest.of(rng.normal(0.05, 0.015, 8)).log_e_beyond(0.01) > math.log(20) for _ in range(100)
    )
    assert found >= 95


def test_e_bh_by_hand() -> None:
    """M = 4, alpha 0.1: thresholds 40, 20, 13.3, 10."""
    assert e_bh(np.log([39, 19, 13, 11]), alpha=0.1).tolist() == [True, True, True, True]
    assert e_bh(np.log([39, 19, 13, 9]), alpha=0.1).tolist() == [False, False, False, False]
    assert e_bh(np.log([1, 41, 2, 3]), alpha=0.1).tolist() == [False, True, False, False]
    assert e_bh([], alpha=0.1).tolist() == []
    assert e_bh([-math.inf, math.log(40)], alpha=0.05).tolist() == [False, True]


@given(st.lists(st.floats(-5, 12), min_size=1, max_size=30), st.integers(0, 29), st.floats(0, 5))
def test_more_evidence_never_takes_a_discovery_away(values: list[float], place: int, more: float) -> None:
    raised = list(values)
    raised[place % len(values)] += more
    assert (e_bh(raised, alpha=0.05) | ~e_bh(values, alpha=0.05)).all()


@given(st.lists(st.floats(-5, 12), min_size=1, max_size=30), st.randoms())
def test_e_bh_does_not_depend_on_the_order(values: list[float], shuffler) -> None:  # noqa: ANN001  hypothesis' own
    order = list(range(len(values)))
    shuffler.shuffle(order)
    shuffled = e_bh([values[place] for place in order], alpha=0.05)
    assert shuffled.tolist() == e_bh(values, alpha=0.05)[order].tolist()


def test_a_session_is_its_better_decile() -> None:
    samples = [float(number) for number in range(100, -1, -1)]
    assert session_value(samples) == pytest.approx(10.0)
    assert session_value(samples, higher_is_better=True) == pytest.approx(90.0)
    assert session_value([1.0, 2.0, 3.0, 4.0, 100.0]) == pytest.approx(1.4)
    assert session_value([7.0]) == 7.0


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40), st.booleans())
@example([-1.7e308, 1.7e308], False)
def test_the_decile_is_numpys_wherever_numpy_does_not_overflow(values: list[float], higher: bool) -> None:  # noqa: FBT001
    found = session_value(values, higher_is_better=higher)
    assert min(values) <= found <= max(values)
    if max(map(abs, values)) < 1e300:
        assert found == pytest.approx(np.quantile(values, 0.9 if higher else 0.1), rel=1e-9, abs=1e-290)


def test_the_typical_value_is_the_geometric_mean_over_sessions() -> None:
    assert typical_value([1.0, 4.0, 2.0]) == pytest.approx(2.0)
    assert typical_value([0.0, 4.0, 3.0]) == 3.0, "the median where there is none"
    assert typical_value([]) is None


@given(st.lists(st.floats(1e-300, 1.79e308), min_size=1, max_size=9))
@example([1.7976931348623157e308, 1.7976931348623155e308])
def test_the_typical_value_lies_within_the_values(values: list[float]) -> None:
    found = typical_value(values)
    assert found is not None
    assert min(values) <= found <= max(values)
    assert typical_value([values[0]] * 3) == values[0], "exact where nothing varies"
