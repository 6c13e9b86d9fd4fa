"""The evidence: an integral as oracle, symmetries, and the promise of an e-value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from stepwatch.stats import e_process
from stepwatch.stats.e_process import EProcess, final_evidence, log_evidence, two_sided

VALUES = st.lists(st.floats(-0.5, 0.5).map(lambda value: round(value, 5)), min_size=1, max_size=12)


def above(values: list[float] | np.ndarray, null: float = 0.0) -> np.ndarray:
    return log_evidence(np.atleast_2d(np.asarray(values, dtype=float)), null, above=True)[0]


def below(values: list[float] | np.ndarray, null: float = 0.0) -> np.ndarray:
    return log_evidence(np.atleast_2d(np.asarray(values, dtype=float)), null, above=False)[0]


def parts(values: list[float]) -> tuple[float, float]:
    """Log likelihood ratio and log sign evidence after all values."""
    process = EProcess(1)
    for value in values:
        process.observe(np.array([value]))
    return float(process._likelihood[0]), float(process._sign[0])


def test_the_likelihood_part_is_a_bayes_factor() -> None:
    """Integrate t(3) densities over log-uniform sigma and log-normal delta, on a much finer grid."""
    values = np.array([0.021, 0.008, 0.03, 0.012, 0.017])
    sigmas = np.exp(np.linspace(math.log(1e-4), math.log(1.0), 400))
    log_effects = np.linspace(math.log(0.2), math.log(12.0), 300)
    prior = np.exp(-0.5 * ((log_effects - math.log(1.6)) / 0.5) ** 2)

    def likelihood(effect: float) -> np.ndarray:
        return np.prod(stats.t.pdf(values[:, None] / sigmas - effect, 3) / sigmas, axis=0)

    top = sum(
        weight * integrate.trapezoid(likelihood(math.exp(x)), np.log(sigmas))
        for x, weight in zip(log_effects, prior / prior.sum(), strict=True)
    )
    bottom = integrate.trapezoid(likelihood(0.0), np.log(sigmas))
    assert parts(values.tolist())[0] == pytest.approx(math.log(top / bottom), abs=0.06)


def test_the_sign_part_by_hand_after_one_value() -> None:
    """2 p(y) / (p(y) + p(-y)) with the prior's own predictive density."""
    y = 0.013

    def predictive(value: float) -> float:
        z = value / e_process._SPREADS[:, None] - e_process._EFFECTS
        return float(np.sum(stats.t.pdf(z, 3) / e_process._SPREADS[:, None] * e_process._PRIOR))

    expected = math.log(2 * predictive(y) / (predictive(y) + predictive(-y)))
    assert parts([y])[1] == pytest.approx(expected, rel=1e-9)


@given(VALUES)
def test_the_mixture_is_as_documented(values: list[float]) -> None:
    likelihood, sign = (math.exp(part) for part in parts(values))
    assert above(values)[-1] == pytest.approx(math.log(0.3 * sign + 0.7 * min(likelihood, 10 * sign)))


@settings(max_examples=25)
@given(VALUES)
def test_given_sizes_and_past_the_sign_factor_has_mean_one(values: list[float]) -> None:
    """The whole proof, checked number by number: flip the last sign, average the two factors."""
    *past, last = values
    before = parts(past)[1]
    factors = [math.exp(parts([*past, sign * last])[1] - before) for sign in (1, -1)]
    assert sum(factors) / 2 == pytest.approx(1.0, rel=1e-9)
    assert 0 <= max(factors) <= 2


@given(VALUES, st.floats(-0.1, 0.1))
def test_swapping_the_sides_mirrors_the_evidence(values: list[float], null: float) -> None:
    assert above(values, null) == pytest.approx(below(-np.array(values), -null), rel=1e-9, abs=1e-9)


@given(VALUES, st.sampled_from([1, 2, 3, -1, -3]))
def test_scaling_by_a_step_of_the_grid_changes_next_to_nothing(values: list[float], steps: int) -> None:
    """Only what reaches the ends of the grid of sigmas is seen otherwise."""
    scaled = [0.02 * value for value in values if abs(value) > 1e-2] or [0.01]
    there = parts([math.exp(0.6 * steps) * value for value in scaled])
    assert there == pytest.approx(parts(scaled), rel=1e-3, abs=1e-2)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.floats(0.002, 0.1))
def test_a_farther_null_has_less_evidence_above_it(seed: int, n: int, step: float) -> None:
    """But for a ripple of the grid of sigmas, where values are all but equal."""
    values = 0.01 * np.random.default_rng(seed).standard_normal(n)
    nulls = np.arange(-4, 5) * step
    found = [above(values, null)[-1] for null in nulls]
    assert all(np.diff(found) <= 0.15 * n)
    assert found[-1] <= found[0]


@settings(max_examples=25)
@given(VALUES)
def test_rows_of_any_lengths_are_what_they_are_alone(values: list[float]) -> None:
    rows = [np.array(values), np.array(values[:1]), np.array([0.01, 0.02, 0.03])]
    nulls, sides = np.array([0.0, 0.01, -0.02]), np.array([1.0, -1.0, 1.0])
    alone = [above(rows[0], 0.0)[-1], below(rows[1], 0.01)[-1], above(rows[2], -0.02)[-1]]
    assert final_evidence(rows, nulls, sides) == pytest.approx(alone, rel=1e-9, abs=1e-12)
    assert final_evidence([], np.empty(0), np.empty(0)).size == 0


def test_many_rows_are_what_they_are_alone() -> None:
    rows = np.random.default_rng(1).normal(0.01, 0.02, (70, 6))
    together = log_evidence(rows, np.linspace(-0.01, 0.01, 70), above=True)
    for place in (0, 33, 63, 64, 69):
        null = np.linspace(-0.01, 0.01, 70)[place]
        assert together[place] == pytest.approx(above(rows[place], null), rel=1e-9)


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=12), st.floats(0, 10))
def test_nothing_crashes_or_becomes_nan(values: list[float], null: float) -> None:
    found = np.array([above(values, null), below(values, null)])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e-9, 700.0])
def test_equal_values_are_no_special_case(value: float) -> None:
    assert np.isfinite(above([value] * 300)).all()


def test_no_difference_is_no_evidence() -> None:
    assert above([0.0] * 10).max() <= 0


def test_the_mean_of_two_e_values() -> None:
    found = two_sided(np.log([3.0, 1.0]), np.log([1.0, 1e-9]))
    assert np.exp(found) == pytest.approx([2.0, 0.5])


def noise(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Symmetric noise of about one percent."""
    normal = rng.standard_normal(shape)
    if kind == "cauchy":
        return 0.005 * rng.standard_cauchy(shape)
    if kind == "spread":
        return 0.01 * normal * np.exp(rng.normal(0, 1, shape))
    if kind == "humps":
        return 0.004 * normal + 0.03 * rng.choice([-1, 1], shape)
    if kind == "wild":
        return 0.01 * normal + (rng.random(shape) < 0.1) * rng.choice([-0.5, 0.5], shape)
    return {"normal": 0.01 * normal, "t3": 0.01 * rng.standard_t(3, shape)}[kind]


@pytest.mark.parametrize("kind", ["normal", "t3", "cauchy", "spread", "humps", "wild"])
def test_the_sign_part_is_an_e_process_for_any_symmetric_noise(kind: str) -> None:
    """Proven (Ville's inequality); here a check of the code: alarms at 20 within 1/20, the mean within 1."""
    rng = np.random.default_rng(11)
    rows = noise(kind, rng, (1500, 16))
    process = EProcess(len(rows))
    paths = []
    for place in range(rows.shape[1]):
        process.observe(rows[:, place])
        paths.append(process._sign.copy())
    evidence = np.exp(np.array(paths))
    assert np.mean(evidence.max(axis=0) >= 20) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)
    assert np.mean(np.minimum(evidence[7], 50)) <= 1 + 0.2


@pytest.mark.parametrize("kind", ["normal", "t3", "cauchy", "spread", "wild"])
def test_the_whole_evidence_keeps_its_promise_in_noise_of_one_hump(kind: str) -> None:
    """Simulated, not proven, except for t3."""
    rng = np.random.default_rng(12)
    rows = noise(kind, rng, (1500, 16))
    evidence = np.exp(two_sided(*(log_evidence(rows, 0.0, above=side) for side in (True, False))))
    assert np.mean(evidence.max(axis=1) >= 20) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)
    assert np.mean(np.minimum(evidence[:, 9], 100)) <= 1.3
