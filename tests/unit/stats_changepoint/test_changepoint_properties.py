"""Laws of the detector, and small seeded power tests (the large ones are `make stats-bench`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_bench import generators

from stepwatch.stats.changepoint import DEFAULT, detect

seeds = st.integers(0, 2**32 - 1)


def history(seed: int, n: int = 120) -> np.ndarray:
    """A positive series with up to three steps of 2 to 40 %, in normal or heavy noise."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=n) if seed % 2 else rng.standard_t(3, n)
    level = np.zeros(n)
    for _ in range(seed % 4):
        level[rng.integers(10, n - 10) :] += rng.uniform(0.02, 0.4) * rng.choice([-1, 1])
    return np.exp(0.01 * noise + level)


def places(values: np.ndarray) -> list[int]:
    return [change.index for change in detect(values).changes]


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from([2.0**-40, 0.25, 8.0, 2.0**60]))
def test_the_unit_does_not_matter(seed: int, scale: float) -> None:
    values = history(seed)
    one, other = detect(values).changes, detect(values * scale).changes
    assert [(c.index, c.after, c.through) for c in one] == [(c.index, c.after, c.through) for c in other]
    assert [c.ratio for c in one] == [c.ratio for c in other]
    assert [c.ratio_low for c in one] == pytest.approx([c.ratio_low for c in other])


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_a_rate_changes_where_its_time_does(seed: int) -> None:
    """In logarithms 1/x is the mirror image of x; the mean of two middle values is not, quite."""
    values = history(seed)
    times, rates = detect(values).changes, detect(1 / values).changes
    assert [c.index for c in times] == [c.index for c in rates]
    assert [c.ratio for c in times] == pytest.approx([1 / (c.ratio or np.nan) for c in rates], rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_backwards_the_same_large_steps_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = 1 + 0.01 * rng.normal(size=120)
    at = int(rng.integers(20, 100))
    values[at:] *= 1.25
    assert at in places(values)
    assert 120 - at in places(values[::-1])


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(0.04, 0.5), st.floats(1.0, 3.0))
def test_a_larger_step_is_never_lost(seed: int, size: float, more: float) -> None:
    rng = np.random.default_rng(seed)
    noise = 0.01 * rng.normal(size=120)
    step = np.repeat([0.0, 1.0], 60)
    found = [any(abs(k - 60) <= 5 for k in places(np.exp(noise + s * step))) for s in (size, more * size)]
    assert found[1] or not found[0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.just(float("nan")), st.sampled_from([0.0, 1.0, 1.0, 2.0, -1.0]), st.floats(-1e308, 1e308)
        ),
        max_size=40,
    ),
    st.booleans(),
)
def test_no_series_breaks_it(values: list[float], exact: bool) -> None:  # noqa: FBT001  drawn by Hypothesis
    found = detect(values, exact=exact)
    measured = [i for i, value in enumerate(values) if value == value]  # noqa: PLR0124  NaN
    for change in found.changes:
        assert {change.after, change.index, change.through} <= set(measured)
        assert change.after < change.index <= change.through
        assert 0.0 <= change.p_value <= 1.0
        if change.ratio is not None:
            low, high = change.ratio_low, change.ratio_high
            assert low is not None
            assert high is not None
            assert low <= change.ratio <= high
    indices = [change.index for change in found.changes]
    assert indices == sorted(set(indices))


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_sessions_in_another_order_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = [np.exp(0.01 * rng.normal(size=5) + (0.1 if i >= 10 else 0.0)) for i in range(20)]
    values = [float(np.median(sample)) for sample in samples]
    shuffled = [rng.permutation(sample) for sample in samples]
    assert [c.index for c in detect(values, samples=samples).changes] == [10]
    assert [c.index for c in detect(values, samples=shuffled).changes] == [10]


@pytest.mark.parametrize("kind", generators.KINDS)
def test_quiet_histories_stay_quiet(kind: str) -> None:
    made = generators.no_change(kind, np.random.default_rng(71), series=40)
    assert sum(len(detect(values).changes) for values in made) <= 1


@pytest.mark.parametrize(("kind", "least"), [("iid", 0.95), ("t3", 0.85), ("ar1", 0.75), ("spikes", 0.97)])
def test_steps_of_two_percent_are_found(kind: str, least: float) -> None:
    found = true = 0
    for values, at in generators.steps(kind, 0.02, np.random.default_rng(72), series=60):
        indices = places(values)
        found += sum(any(abs(k - index) <= 5 for index in indices) for k in at)
        true += len(at)
    assert found / true >= least


def test_the_blame_range_covers_the_place_at_steps_of_two_standard_deviations() -> None:
    rng = np.random.default_rng(73)
    covered = found = 0
    for _ in range(150):
        at = int(rng.integers(50, 110))
        values = 1 + 0.01 * rng.normal(size=160)
        values[at:] *= 1.02
        for change in detect(values).changes:
            found += 1
            covered += change.after < at <= change.through
    assert found >= 140
    assert covered / found >= 0.93


def test_p_values_are_rarely_small_without_a_change() -> None:
    """With the other thresholds off, a change with p <= 0.05 appears in at most 1 quiet series in 20."""
    free = replace(DEFAULT, mean_z=1e-9, contrast=1e-9, min_effect=1e-9, movement=1e-9, excursion=0)
    made = generators.no_change("iid", np.random.default_rng(74), n=200, series=100)
    small = sum(min((c.p_value for c in detect(v, settings=free).changes), default=1) <= 0.05 for v in made)
    assert small <= 5


def test_the_settings_are_a_frontier() -> None:
    """Stricter settings find less; a bench can sweep them."""
    made = generators.steps("iid", 0.01, np.random.default_rng(75), series=25)
    counts = [
        sum(len(detect(values, settings=replace(DEFAULT, contrast=contrast)).changes) for values, _ in made)
        for contrast in (0.7, 1.0, 2.0)
    ]
    assert counts[0] >= counts[1] > counts[2]


def test_levels_near_the_largest_float_have_a_ratio() -> None:
    """The median of an even number of values must not go through their sum."""
    noise = 1 + 0.005 * np.random.default_rng(3).standard_normal(80)
    (change,) = detect(np.where(np.arange(80) < 40, 1.0e308, 1.5e308) * noise).changes
    assert (change.index, change.ratio) == (40, pytest.approx(1.5, rel=0.01))
    assert change.ratio_low is not None
    assert change.ratio_low < 1.5 < (change.ratio_high or 0)


@pytest.mark.parametrize(("before", "after"), [(4, 4), (7, 7), (10, 4), (20, 3), (10, 10)])
def test_a_short_history_shows_a_large_step(before: int, after: int) -> None:
    """A rank-sum over few points cannot reach its threshold, however far apart they lie."""
    rng = np.random.default_rng(before * 100 + after)
    levels = np.repeat([5.0, 50.0], [before, after])
    hits = sum(places(levels * (1 + 0.01 * rng.standard_normal(levels.size))) == [before] for _ in range(20))
    assert hits >= 18


def test_short_quiet_histories_stay_quiet() -> None:
    rng = np.random.default_rng(91)
    made = [1 + 0.01 * rng.standard_normal(int(rng.integers(6, 25))) for _ in range(400)]
    assert sum(bool(places(values)) for values in made) <= 4


@pytest.mark.parametrize("at", [7, 13])
def test_one_release_twice_as_slow_is_found_by_six_sessions(at: int) -> None:
    rng = np.random.default_rng(92)
    for _ in range(10):
        samples = [(2.0 if i == at else 1.0) * (1 + 0.01 * rng.standard_normal(6)) for i in range(14)]
        found = detect([float(np.median(sample)) for sample in samples], samples=samples)
        assert [change.index for change in found.changes] == [i for i in (at, at + 1) if i < 14]
