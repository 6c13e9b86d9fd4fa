"""Replayed A/A pairs: false-alarm rate and detectable effect, against closed forms and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evidence_factory import evidence, pairs
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from stand_in_rules import MeanRule, TProcessRule

from stepwatch.policy import Policy
from stepwatch.stats import PairedTest
from stepwatch.stats.calibration import (
    LARGEST_EFFECT,
    Detectable,
    clopper_pearson,
    detectable,
    detectable_by_interval,
    false_alarms,
    power_at,
    replay,
)
from stepwatch.verdict import judge
from stepwatch.verdict.rule import decision_rule

PAIRS = 16


def normal_places(sd: float = 0.01, *, count: int = 400, seed: int = 4) -> np.ndarray:
    """Place differences whose scale is exactly `sd`, about zero."""
    draws = np.random.default_rng(seed).normal(size=count)
    return np.asarray(draws * sd / math.sqrt(float(np.mean(draws**2))))


def test_the_false_alarm_rate_of_a_mean_is_that_of_the_normal_distribution() -> None:
    sd, bound = 0.01, 0.004
    found = false_alarms(normal_places(sd), MeanRule(bound=bound), pairs=PAIRS, seed=1)
    expected = 2 * norm.sf(bound / (sd / math.sqrt(PAIRS)))
    assert found.low < expected < found.high
    assert found.rate == pytest.approx(expected, abs=0.02)
    assert found.unchanged == pytest.approx(1 - found.rate)
    assert found.mean_pairs == PAIRS


def test_the_detectable_effect_of_a_mean_has_a_closed_form() -> None:
    sd, bound = 0.01, 0.005
    found = detectable(normal_places(sd), MeanRule(bound=bound), pairs=PAIRS, seed=1)
    expected = math.expm1(bound + norm.ppf(0.9) * sd / math.sqrt(PAIRS))
    assert found.effect == pytest.approx(expected, rel=0.04)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= expected <= found.high


def test_the_detectable_effect_is_found_nine_times_in_ten() -> None:
    places, rule = normal_places(0.012, count=24), TProcessRule()
    found = detectable(places, rule, pairs=PAIRS, seed=2)
    assert found.effect is not None
    assert power_at(places, rule, found.effect, pairs=PAIRS, seed=77) == pytest.approx(0.9, abs=0.03)
    assert power_at(places, rule, found.effect * 0.6, pairs=PAIRS, seed=77) < 0.8


def test_brute_force_agrees_on_normal_noise() -> None:
    """Fresh normal noise instead of replays."""
    sd, rule = 0.008, TProcessRule()
    found = detectable(normal_places(sd), rule, pairs=12, seed=3)
    assert found.effect is not None
    rng = np.random.default_rng(9)
    fresh = rng.normal(math.log1p(found.effect), sd, (4000, 12))
    assert float((rule(fresh).direction > 0).mean()) == pytest.approx(0.9, abs=0.02)


def test_a_rule_that_is_valid_cries_wolf_rarely() -> None:
    found = false_alarms(normal_places(0.01, count=30), TProcessRule(), pairs=30, seed=1)
    assert found.rate <= 0.02
    assert found.high <= 0.05
    assert found.unchanged > 0.9
    assert found.mean_pairs < 20


def test_an_effect_of_order_raises_no_alarm() -> None:
    """Whoever runs second is 5 % slower, at 0.3 % noise: sides take turns in going first, so it cancels."""
    places = 0.05 + normal_places(0.003, count=24)
    assert false_alarms(places, TProcessRule(floor=0.0), pairs=30, seed=1).rate <= 0.02


@given(st.floats(1.1, 4.0))
def test_more_noise_hides_more(factor: float) -> None:
    places = normal_places(0.01, count=20)
    quiet = _effect(detectable(places, MeanRule(bound=0.005), pairs=8, seed=1))
    noisy = _effect(detectable(places * factor, MeanRule(bound=0.005), pairs=8, seed=1))
    assert noisy > quiet


def test_more_pairs_find_less() -> None:
    places = normal_places(0.02, count=20)
    effects = [_effect(detectable(places, TProcessRule(), pairs=n, seed=1)) for n in (8, 16, 32)]
    assert effects == sorted(effects, reverse=True)


def _effect(found: Detectable) -> float:
    return math.inf if found.effect is None else found.effect


def test_what_no_number_of_these_pairs_can_find_has_no_effect() -> None:
    found = detectable(normal_places(3.0, count=20), TProcessRule(), pairs=8, seed=1)
    assert found == Detectable(effect=None, low=found.low, high=None)
    assert detectable(normal_places(0.01), TProcessRule(), pairs=3, seed=1).effect is None
    assert LARGEST_EFFECT == 1.0


def test_the_same_seed_gives_the_same_figures() -> None:
    places = normal_places(0.01, count=12)
    first, second = (false_alarms(places, TProcessRule(), pairs=10, seed=8) for _ in range(2))
    assert first == second


def test_sides_are_drawn_as_a_campaign_does() -> None:
    drawn = replay(np.ones((1, 9)), np.random.default_rng(0), replays=200, pairs=7)[0]
    assert drawn.shape == (200, 7)
    assert np.all(drawn[:, 0:6:2] == -drawn[:, 1:6:2]), "every second round reverses the one before"
    assert abs(drawn[:, ::2].mean()) < 0.15


def test_neighbours_stay_neighbours() -> None:
    places = np.arange(1.0, 28.0)[None]
    drawn = np.abs(replay(places, np.random.default_rng(0), replays=50, pairs=9)[0])
    for block in (drawn[:, 0:3], drawn[:, 3:6], drawn[:, 6:9]):
        assert set(np.unique(np.diff(block, axis=1) % 27)) == {1.0}


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_binomial_interval_is_scipys(hits: int, trials: int) -> None:
    hits = min(hits, trials)
    expected = binomtest(hits, trials).proportion_ci(0.95, method="exact")
    assert clopper_pearson(hits, trials) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("places", [[0.1] * 5, [0.1] * 6 + [float("nan")], [float("inf")] * 9])
def test_what_is_no_calibration_is_refused(places: list[float]) -> None:
    for find in (false_alarms, detectable):
        with pytest.raises(ValueError, match="6 finite pairs"):
            find(places, TProcessRule(), pairs=8, seed=1)


def test_a_rows_own_interval_says_what_so_many_such_pairs_find() -> None:
    sd, n, policy = 0.01, 12, Policy(floor=0.0025, min_effect=0.0)
    floor = math.log1p(policy.floor)
    rng = np.random.default_rng(6)
    effects = []
    for _ in range(40):
        test = PairedTest.of(rng.normal(0, sd, n))
        interval = test.interval(policy.alpha)
        half = (interval.high - interval.low) / 2
        effects.append(detectable_by_interval(half, test.scale, pairs=n, floor=floor))
    typical = float(np.median([effect for effect in effects if effect is not None]))
    power = power_at(normal_places(sd), decision_rule(policy, family=1), typical, pairs=n, seed=1)
    assert 0.85 <= power <= 0.97
    assert detectable_by_interval(math.inf, 0.1, pairs=2, floor=floor) is None
    assert detectable_by_interval(80.0, 0.1, pairs=9, floor=floor) is None, "beyond every number"


def test_the_rule_ends_rows_as_verdicts_do() -> None:
    """A report after every pair: the first one that decides is where a replay stops."""
    policy = Policy(metrics=("step_cpu",))
    rng = np.random.default_rng(3)
    rows = rng.normal(np.repeat([0.0, 0.01, 0.03], 4)[:, None], 0.008, (12, 12))
    found = decision_rule(policy, family=1)(rows)
    assert found.unchanged.any()
    assert (found.direction > 0).any()
    for row, direction, unchanged, used in zip(
        rows, found.direction, found.unchanged, found.pairs, strict=True
    ):
        outcomes = [_verdict(row[:n], policy) for n in range(1, row.size + 1)]
        decided = next((n for n, one in enumerate(outcomes) if one != "inconclusive"), row.size - 1)
        assert outcomes[decided] == (
            "unchanged" if unchanged else {1: "regressed", -1: "improved", 0: "inconclusive"}[int(direction)]
        )
        assert used == decided + 1


def _verdict(differences: np.ndarray, policy: Policy) -> str:
    (verdict,) = judge(evidence(pairs(np.exp(differences).tolist())), policy)
    return verdict.outcome


def test_one_among_many_needs_more_evidence_to_be_called_and_no_more_to_be_unchanged() -> None:
    rows = np.random.default_rng(3).normal(np.repeat([0.0, 0.03], 200)[:, None], 0.012, (400, 12))
    alone, among = (decision_rule(Policy(), family=family)(rows) for family in (1, 100))
    assert np.count_nonzero(among.direction) < np.count_nonzero(alone.direction)
    assert np.all(among.unchanged[alone.unchanged])
