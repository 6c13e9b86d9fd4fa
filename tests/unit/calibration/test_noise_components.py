"""The noise of a benchmark taken apart, on sessions whose components are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.stats.noise import Noise, autocorrelation, noise_of, robust_sd

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SESSIONS, SAMPLES = 300, 120


def sessions(
    *, between: float, within: float, lag: float = 0.0, seed: int = 3, count: int = SESSIONS
) -> list[np.ndarray]:
    """Log-normal sessions: a level each, and AR(1) samples about it with the given stationary sd."""
    rng = np.random.default_rng(seed)
    levels = rng.normal(0, between, count)
    found = []
    for level in levels:
        noise = np.empty(SAMPLES)
        noise[0] = rng.normal()
        for i in range(1, SAMPLES):
            noise[i] = lag * noise[i - 1] + np.sqrt(1 - lag**2) * rng.normal()
        found.append(0.004 * np.exp(level + within * noise))
    return found


def lower_decile(samples: ArrayLike) -> float:
    return float(np.quantile(np.asarray(samples), 0.1))


def pairs_of(found: list[np.ndarray]) -> np.ndarray:
    values = np.log([lower_decile(samples) for samples in found])
    return values[1::2] - values[::2]


def noise(found: list[np.ndarray]) -> Noise:
    return noise_of(found, pairs_of(found), summarise=lower_decile)


@pytest.mark.parametrize(("between", "within", "lag"), [(0.01, 0.02, 0.5), (0.01, 0.05, 0.0)])
def test_known_components_are_recovered(between: float, within: float, lag: float) -> None:
    found = noise(sessions(between=between, within=within, lag=lag))
    assert found.within_sd == pytest.approx(within, rel=0.1)
    assert found.within_autocorrelation == pytest.approx(lag, abs=0.06)
    assert found.between_sd == pytest.approx(between, rel=0.2)
    assert found.pair_autocorrelation == pytest.approx(0, abs=0.2)


def test_sessions_that_differ_by_their_samples_alone_leave_nothing_between_them() -> None:
    found = noise(sessions(between=0.0, within=0.05))
    assert found.between_sd < 0.005
    assert found.pair_sd == pytest.approx(found.pair_sd_robust, rel=0.2)
    assert found.pair_sd > 0.005, "the samples alone move a pair"


def test_independent_sessions_make_pairs_with_twice_the_variance() -> None:
    found = noise(sessions(between=0.01, within=0.0001))
    assert found.pair_sd == pytest.approx(0.01 * np.sqrt(2), rel=0.1)


def test_one_wild_session_moves_the_plain_scale_alone() -> None:
    quiet = sessions(between=0.01, within=0.01, count=40)
    wild = [*quiet[:-1], quiet[-1] * 3]
    before, after = noise(quiet), noise(wild)
    assert after.pair_sd > 5 * before.pair_sd
    assert after.pair_sd_robust == pytest.approx(before.pair_sd_robust, rel=0.25)
    assert after.between_sd == pytest.approx(before.between_sd, rel=0.25)


def test_a_metric_measured_once_a_session_has_no_noise_within() -> None:
    rng = np.random.default_rng(1)
    found = noise([np.exp(rng.normal(0, 0.1, 1)) for _ in range(200)])
    assert (found.within_sd, found.within_autocorrelation) == (None, None)
    assert found.between_sd == pytest.approx(0.1, rel=0.2)


def test_what_repeats_exactly_has_no_noise() -> None:
    found = noise([np.full(30, 2.0)] * 8)
    assert (found.within_sd, found.between_sd, found.pair_sd, found.pair_sd_robust) == (0, 0, 0, 0)
    assert (found.within_autocorrelation, found.pair_autocorrelation) == (None, None)


@given(st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter(scale: float) -> None:
    some = sessions(between=0.01, within=0.02, count=12)
    plain, scaled = noise(some), noise([samples * scale for samples in some])
    for field in ("within_sd", "between_sd", "pair_sd", "pair_sd_robust"):
        assert getattr(scaled, field) == pytest.approx(getattr(plain, field), rel=1e-6)


@pytest.mark.parametrize(
    ("found", "differences"),
    [
        ([[1.0]], [0.1, 0.2]),
        ([[1.0], [2.0]], [0.1]),
        ([[1.0], [2.0]], [0.1, float("nan")]),
        ([[1.0], [float("inf")]], [0.1, 0.2]),
    ],
)
def test_what_is_no_noise_is_refused(found: list[list[float]], differences: list[float]) -> None:
    with pytest.raises(ValueError, match="two sessions and two pairs"):
        noise_of(found, differences, summarise=lower_decile)


def test_autocorrelation_against_numpy_where_nothing_is_clipped() -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(-1, 1, 500)
    values -= np.median(values)
    expected = np.corrcoef(values[:-1], values[1:])[0, 1]
    assert autocorrelation(values) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("values", "expected"), [([1.0, 2.0, 3.0], None), ([2.0] * 9, None)])
def test_too_few_or_equal_values_have_no_autocorrelation(values: list[float], expected: float | None) -> None:
    assert autocorrelation(values) is expected


def test_values_of_which_most_are_equal_are_not_clipped_away() -> None:
    assert autocorrelation([0.0, 0, 0, 0, 0, 0, 5, 5, 0]) == pytest.approx(0.5)


def test_the_robust_scale_is_that_of_normal_noise() -> None:
    assert robust_sd(np.random.default_rng(2).normal(3, 0.7, 20_000)) == pytest.approx(0.7, rel=0.03)
