"""The generators draw what statistics.md says they draw."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from stats_bench import generators


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("kind", "mean", "sd"),
    [
        ("iid", 1.0, 0.01),
        ("t3", 1.0, 0.01 * np.sqrt(3)),
        ("ar1", 1.0, 0.01),
        ("bimodal", 1.015, np.hypot(0.003, 0.05 * np.sqrt(0.21))),
        ("spikes", 1.006, np.sqrt(0.005**2 + 0.03 * 2 * 0.2**2 - 0.006**2)),
        ("drift", 1.025, np.hypot(0.01, 0.05 / np.sqrt(12))),
        ("variance", 1.0, np.sqrt((0.005**2 + 0.015**2) / 2)),
    ],
)
def test_histories_have_the_moments_of_their_kind(kind: str, mean: float, sd: float) -> None:
    values = generators.no_change(kind, rng(), n=500, series=400)
    assert values.shape == (400, 500)
    assert values.mean() == pytest.approx(mean, abs=4e-4)
    assert values.std() == pytest.approx(sd, rel=0.1 if kind == "t3" else 0.02)


def test_the_two_halves_of_a_changing_variance() -> None:
    values = generators.no_change("variance", rng(), n=500, series=400)
    assert values[:, :250].std() == pytest.approx(0.005, rel=0.02)
    assert values[:, 250:].std() == pytest.approx(0.015, rel=0.02)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no such kind"):
        generators.no_change("pink", rng())


def test_autocorrelation_is_one_half_from_the_first_point_on() -> None:
    errors = generators.no_change("ar1", rng(), n=200, series=4000) - 1
    first, second = errors[:, 0], errors[:, 1]
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.5, abs=0.05)
    assert np.corrcoef(errors[:, 100], errors[:, 102])[0, 1] == pytest.approx(0.25, abs=0.05)
    assert first.std() == pytest.approx(errors[:, 150].std(), rel=0.05)


def test_steps_keep_their_distances_and_sizes() -> None:
    drawn = generators.signed_steps("iid", 0.05, rng(), series=300)
    counts = [len(ratios) for _, ratios in drawn]
    assert sorted(set(counts)) == [0, 1, 2, 3]
    for values, ratios in drawn:
        places = list(ratios)
        assert places == sorted(places)
        assert all(30 <= place <= 469 for place in places)
        assert all(b - a >= 40 for a, b in pairwise(places))
        for place, ratio in ratios.items():
            measured = values[place : place + 30].mean() / values[place - 30 : place].mean()
            assert measured == pytest.approx(ratio, abs=0.02)
    ups = [ratio > 1 for _, ratios in drawn for ratio in ratios.values()]
    assert 0.4 < np.mean(ups) < 0.6


def test_steps_and_signed_steps_draw_the_same_series() -> None:
    plain = generators.steps("t3", 0.02, rng(7), series=5)
    signed = generators.signed_steps("t3", 0.02, rng(7), series=5)
    for (left, places), (right, ratios) in zip(plain, signed, strict=True):
        assert np.array_equal(left, right)
        assert places == list(ratios)


def test_an_online_series_steps_up_once() -> None:
    without = generators.online("iid", 0.0, rng(3), series=4)
    with_step = generators.online("iid", 0.05, rng(3), series=4)
    assert np.allclose(with_step[:, :110], without[:, :110])
    assert np.allclose(with_step[:, 110:], without[:, 110:] * 1.05)
    assert generators.online("iid", 0.0, rng(), series=200, scale=2.0).std() == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize("scenario", [*generators.SCENARIOS, "C"])
def test_sessions_have_the_between_and_within_noise_of_their_machine(scenario: str) -> None:
    machine = (generators.SCENARIOS | generators.NOISES)[scenario]
    base, head = generators.process_pairs(scenario, rng(), 10, 0.02, repetitions=2000)
    assert base.shape == head.shape == (2000, 10, 10)
    # Means instead of medians: the spikes then only shift both sides alike.
    assert np.log(head).mean() - np.log(base).mean() == pytest.approx(np.log(1.02), abs=1e-3)
    within = np.log(base).var(axis=2, ddof=1).mean()
    spikes = machine.spike * 2 * 0.2**2 - (machine.spike * 0.2) ** 2
    # Autocorrelation .5 lets 10 iterations show about 0.82 of their variance around their own mean.
    assert within == pytest.approx(machine.iteration**2 * 0.822 + spikes, rel=0.2)


def test_one_comparison_has_no_leading_axis() -> None:
    base, head = generators.process_pairs("gpu", rng(), 6)
    assert base.shape == head.shape == (6, 10)
    assert generators.pair_log_ratios("G", rng(), 6).shape == (6,)


def test_the_order_inside_a_pair_is_random() -> None:
    first, second = generators._sides(np.arange(20000.0).reshape(1, -1), rng())
    assert 0.45 < np.mean(first < second) < 0.55
    assert set(np.abs(first - second).ravel()) == {1.0}


@pytest.mark.parametrize("noise", generators.NOISES)
def test_pair_log_ratios_have_the_variance_of_their_parts(noise: str) -> None:
    machine = generators.NOISES[noise]
    ratios = generators.pair_log_ratios(noise, rng(), 30, 0.05, repetitions=4000)
    slot = machine.process**2 + (1.25 * machine.iteration) ** 2 / 10 + machine.spike * 2 * 0.1**2
    expected = 2 * (slot + machine.drift**2 * (1 - np.exp(-1 / 8)))
    assert ratios.mean() == pytest.approx(np.log(1.05), abs=1e-3)
    assert ratios.var() == pytest.approx(expected, rel=0.08)


def test_a_family_changes_ten_of_two_hundred() -> None:
    ratios, changed = generators.family(rng(), noise="G")
    assert ratios.shape == (200, 30)
    assert changed.sum() == 10
    assert np.median(ratios[changed]) == pytest.approx(np.log(1.03), abs=2e-3)
    assert np.median(ratios[~changed]) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("kind", generators.PAIR_NOISES)
def test_pair_noises_are_symmetric_and_scaled(kind: str) -> None:
    drawn = generators.pair_noise(kind, rng(), 4000, 30)
    assert np.mean(drawn > 0) == pytest.approx(0.5, abs=0.02)
    if kind in {"normal", "t4", "ar1"}:
        assert drawn.std() == pytest.approx(0.01 * np.sqrt(2), rel=0.05)
    if kind == "wild":
        # A pair is untouched unless one of its two sessions is wild, which moves it by at least ln 1.2.
        assert np.mean(np.abs(drawn) > 0.12) == pytest.approx(1 - 0.95**2, abs=0.02)
    if kind == "ar1":
        assert np.corrcoef(drawn[:, 4], drawn[:, 5])[0, 1] == pytest.approx(0.5, abs=0.05)


def test_the_same_seed_draws_the_same_numbers() -> None:
    assert np.array_equal(generators.no_change("t3", rng(5)), generators.no_change("t3", rng(5)))
