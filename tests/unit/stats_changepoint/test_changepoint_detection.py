"""What is a change and what is not: every kind of history that a benchmark has, with the right answer."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.stats.changepoint import DEFAULT, ChangePoint, Detection, detect, warm_up

N = 160


def places(values: object, **options: object) -> list[int]:
    return [change.index for change in detect(values, **options).changes]  # type: ignore[arg-type]  passed on


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2024)


@pytest.fixture
def quiet(rng: np.random.Generator) -> np.ndarray:
    return 1 + 0.01 * rng.normal(size=N)


def test_a_clear_step_with_everything_said_of_it(quiet: np.ndarray) -> None:
    quiet[100:] *= 1.10
    (change,) = detect(quiet).changes
    assert (change.index, change.after, change.through) == (100, 99, 100)
    assert change.ratio == change.level / change.before
    assert change.ratio_low is not None
    assert change.ratio_high is not None
    assert change.ratio_low < 1.10 < change.ratio_high < change.ratio_low + 0.03
    assert change.before == pytest.approx(1, rel=0.01)
    assert 0 <= change.p_value < 1e-20


def test_steps_down_and_several_levels(quiet: np.ndarray) -> None:
    quiet[40:] *= 0.95
    quiet[90:] *= 1.2
    assert places(quiet) == [40, 90]
    assert [c.ratio for c in detect(quiet).changes] == pytest.approx([0.95, 1.2], rel=0.01)


@pytest.mark.parametrize("length", [1, 2])
def test_one_or_two_points_are_never_a_change(quiet: np.ndarray, length: int) -> None:
    quiet[80 : 80 + length] *= 3
    assert places(quiet) == []
    quiet[-length:] *= 3
    assert places(quiet) == []


def test_an_excursion_that_returns_is_no_change_and_can_be_asked_for(quiet: np.ndarray) -> None:
    quiet[80:86] *= 1.5
    assert places(quiet) == []
    assert places(quiet, settings=replace(DEFAULT, excursion=0)) == [80, 86]


def test_a_new_level_at_the_end_needs_few_points(quiet: np.ndarray) -> None:
    assert places(np.concatenate((quiet, 1.1 * quiet[:4]))) == [N]


def test_heavy_tails_and_spikes(rng: np.random.Generator) -> None:
    heavy = 1 + 0.01 * rng.standard_t(2, size=N)
    spiky = 1 + 0.005 * rng.normal(size=N) + (rng.random(N) < 0.05) * rng.exponential(0.3, N)
    for values in (heavy, spiky):
        assert places(values) == []
        values[70:] *= 1.08
        assert places(values) == pytest.approx([70], abs=2)


def test_two_modes_are_one_level(rng: np.random.Generator) -> None:
    modes = 1 + 0.003 * rng.normal(size=N) + 0.05 * (rng.random(N) < 0.4)
    assert places(modes) == []
    modes[80:] *= 1.2
    assert places(modes) == [80]


def test_autocorrelated_noise_is_no_change(rng: np.random.Generator) -> None:
    slow = rng.normal(size=400)
    for i in range(1, slow.size):
        slow[i] = 0.6 * slow[i - 1] + 0.8 * slow[i]
    assert places(1 + 0.01 * slow) == []


def test_a_change_of_variance_is_no_change_of_level(rng: np.random.Generator) -> None:
    noise = rng.normal(size=400) * np.repeat([0.004, 0.02], 200)
    assert places(1 + noise) == []


def test_slow_drift_is_reported_as_drift(rng: np.random.Generator) -> None:
    found = detect(1 + 0.01 * rng.normal(size=400) + 0.06 * np.arange(400) / 400)
    assert found.changes == ()
    assert found.drift is not None
    assert found.drift.since == 0
    assert found.drift.ratio_low < 1.05 < found.drift.ratio_high
    assert detect(1 + 0.01 * rng.normal(size=400)).drift is None


def test_drift_counts_from_the_last_change_or_the_reference(rng: np.random.Generator) -> None:
    values = 1 + 0.002 * rng.normal(size=400)
    values[150:] *= 1.3
    values[150:] *= 1 + 0.05 * np.arange(250) / 250
    found = detect(values)
    assert [change.index for change in found.changes] == [150]
    assert found.drift is not None
    assert found.drift.since == 150
    later = detect(values, reference=300).drift
    assert later is not None
    assert later.since == 300
    assert later.ratio < found.drift.ratio
    assert detect(values, reference=380).drift is None, "too few points since the reference"


def test_falling_drift(rng: np.random.Generator) -> None:
    drift = detect(1 + 0.003 * rng.normal(size=300) - 0.06 * np.arange(300) / 300).drift
    assert drift is not None
    assert drift.ratio < 0.96


def test_a_movement_below_the_minimal_effect_is_no_drift(rng: np.random.Generator) -> None:
    assert detect(1 + 0.0005 * rng.normal(size=300) + 0.006 * np.arange(300) / 300).drift is None


def test_missing_points_keep_their_index(quiet: np.ndarray) -> None:
    quiet[100:] *= 1.1
    quiet[[3, 50, 97, 98, 99, 130]] = np.nan
    (change,) = detect(quiet).changes
    assert (change.index, change.after, change.through) == (100, 96, 100), "the blame range spans the gap"


def test_below_the_minimal_effect_nothing_is_said(rng: np.random.Generator) -> None:
    values = 1 + 0.0005 * rng.normal(size=N)
    values[80:] *= 1.005
    assert places(values) == []
    assert places(values, settings=replace(DEFAULT, min_effect=0.002)) == [80]


class TestSessions:
    def test_a_level_of_one_point_is_proven_by_its_sessions(self, rng: np.random.Generator) -> None:
        samples = [1 + 0.01 * rng.normal(size=8) for _ in range(12)]
        samples[6] *= 1.2
        values = [float(np.median(sample)) for sample in samples]
        assert places(values, samples=samples) == [6, 7]
        assert places(values) == [], "by its value alone it is a spike"

    def test_where_points_differ_more_than_their_sessions_no_single_point_counts(
        self, rng: np.random.Generator
    ) -> None:
        days = 1 + 0.03 * rng.normal(size=60)
        samples = [day * (1 + 0.002 * rng.normal(size=6)) for day in days]
        assert places(days, samples=samples) == []

    def test_more_sessions_weigh_more(self, rng: np.random.Generator) -> None:
        """A shift that single values cannot prove is found when the new points have many sessions."""
        old = [1 + 0.02 * rng.normal(size=4) for _ in range(20)]
        new = [1.03 + 0.02 * rng.normal(size=size) for size in (30, 30)]
        samples = [*old, *new]
        values = [float(np.median(sample)) for sample in samples]
        assert places(values, samples=samples) == [20]
        few = [*old, *(sample[:2] for sample in new)]
        assert places(values, samples=few) == []

    def test_points_without_sessions_speak_by_their_value(self, quiet: np.ndarray) -> None:
        quiet[100:] *= 1.1
        samples = [np.array([]) for _ in quiet]
        assert detect(quiet, samples=samples) == detect(quiet)

    def test_identical_sessions(self) -> None:
        values = np.repeat([5.0, 6.0], 5)
        assert places(values, samples=[np.full(4, value) for value in values]) in ([], [5])

    def test_there_must_be_one_entry_per_point(self) -> None:
        with pytest.raises(ValueError, match="one entry per point"):
            detect([1.0, 2.0], samples=[[1.0]])


class TestExact:
    def test_one_byte_that_stays_is_a_change(self) -> None:
        values = np.array([1000.0] * 5 + [1001.0] * 3)
        (change,) = detect(values).changes
        assert change == ChangePoint(
            index=5,
            after=4,
            through=5,
            ratio=1.001,
            ratio_low=1.001,
            ratio_high=1.001,
            p_value=0.0,
            before=1000.0,
            level=1001.0,
        )

    def test_two_points_are_not_yet_a_level(self) -> None:
        assert places([7.0] * 9 + [8.0] * 2) == []
        assert places([7.0] * 9 + [8.0] * 2 + [7.0] * 9) == []

    def test_what_lies_between_two_levels_belongs_to_the_blame_range(self) -> None:
        (change,) = detect([7.0] * 9 + [8.0, 9.0] + [10.0] * 9).changes
        assert (change.index, change.after, change.through) == (11, 8, 11)

    def test_from_zero_there_is_no_ratio(self) -> None:
        (change,) = detect([0.0] * 9 + [3.0] * 9).changes
        assert (change.index, change.ratio, change.ratio_low) == (9, None, None)

    def test_told_exact_a_short_series_is_judged_exactly(self) -> None:
        assert places([5.0, 5.0, 5.0, 6.0, 6.0, 6.0], exact=True) == [3]
        assert places([5.0], exact=True) == []

    def test_a_metric_that_does_not_repeat_is_noise_whatever_was_said(self, quiet: np.ndarray) -> None:
        assert detect(quiet, exact=True) == detect(quiet)

    def test_missing_points(self) -> None:
        values = np.repeat([5.0, 6.0], 10)
        values[8:11] = np.nan
        (change,) = detect(values).changes
        assert (change.index, change.after, change.through) == (11, 7, 11)


class TestBadInput:
    @pytest.mark.parametrize(
        "values",
        [[], [1.0], [1.0, 2.0], [np.nan] * 30, [3.0] * 100, [0.0] * 50, [1.0, np.nan, 2.0, np.nan, 1.0]],
    )
    def test_nothing_to_find_is_an_empty_answer(self, values: list[float]) -> None:
        assert detect(values) == Detection()

    @pytest.mark.parametrize("values", [[1.0, np.inf], [[1.0, 2.0]], [-np.inf] * 20])
    def test_what_is_no_series_is_refused(self, values: list[float]) -> None:
        with pytest.raises(ValueError, match="one-dimensional and finite"):
            detect(values)

    def test_negative_values_and_zeros(self, rng: np.random.Generator) -> None:
        values = rng.normal(size=N)
        values[80:] += 8
        (change,) = detect(values).changes
        assert change.index == 80
        below = detect(values - 100).changes[0]
        assert (below.index, below.ratio) == (80, None)

    def test_positive_levels_beside_a_negative_point_have_a_ratio(self, quiet: np.ndarray) -> None:
        quiet[80:] *= 1.2
        quiet[20] = -1.0
        (change,) = detect(quiet).changes
        assert change.ratio_low is not None
        assert change.ratio_high is not None
        assert change.ratio_low < 1.2 < change.ratio_high

    @pytest.mark.parametrize("scale", [1e-300, 5e-309, 1e300])
    def test_extreme_magnitudes(self, quiet: np.ndarray, scale: float) -> None:
        quiet[80:] *= 1.2
        assert places(quiet * scale) == [80]
        quiet[20] = -1.0
        assert places(quiet * scale) == [80]

    def test_a_leap_over_the_whole_range_of_floats(self) -> None:
        values = np.repeat([1e-300, 1e300], 20) * np.tile([1.0, 1.01, 0.99, 1.02, 0.98], 8)
        (change,) = detect(values).changes
        assert change.index == 20
        assert change.ratio == np.inf or change.ratio is not None


def test_a_hundred_thousand_points_with_many_steps(rng: np.random.Generator) -> None:
    n = 100_000
    values = 1 + 0.01 * rng.normal(size=n)
    values *= np.repeat(np.where(np.arange(n // 500) % 2, 1.1, 1.0), 500)
    found = places(values)
    assert len(found) == n // 500 - 1
    assert all(abs(index - 500 * round(index / 500)) <= 2 for index in found)


def test_importing_the_statistics_does_not_load_numba() -> None:
    code = "import sys, stepwatch.stats.changepoint; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_warm_up_touches_every_kernel() -> None:
    warm_up()
