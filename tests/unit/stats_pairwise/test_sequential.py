"""Stopping at the first decision: the batch decides exactly as the scalar path does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.stats import FEWEST_CALLED, FEWEST_SAME, Margins, PairedTest, sequential_outcomes
from stepwatch.stats.sequential import ABOVE, BELOW, UNDECIDED, WITHIN

DEFAULT = Margins(floor=0.0025, min_effect=0.02, alpha=0.05)


def one_by_one(values: np.ndarray, margins: Margins) -> tuple[int, int]:
    """The same rule, with `PairedTest` after each difference."""
    for n in range(1, values.size + 1):
        test = PairedTest.of(values[:n])
        if n >= FEWEST_CALLED and test.log_e_beyond(margins.log_floor) >= margins.log_call:
            return (ABOVE if test.centre > 0 else BELOW), n
        within = margins.min_effect > 0 and n >= FEWEST_SAME
        if within and test.log_e_within(margins.log_min_effect) >= margins.log_same:
            return WITHIN, n
    return UNDECIDED, values.size


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.012, -0.03, 0.3]),
    st.sampled_from([0.004, 0.015, 0.06]),
    st.sampled_from([DEFAULT, Margins(floor=0, min_effect=0, alpha=0.01, family=40)]),
)
def test_the_batch_and_the_scalar_path_agree(seed: int, shift: float, noise: float, margins: Margins) -> None:
    rows = np.random.default_rng(seed).standard_t(3, (3, 14)) * noise + shift
    found = sequential_outcomes(rows, margins)
    assert list(zip(found.codes.tolist(), found.pairs.tolist(), strict=True)) == [
        one_by_one(row, margins) for row in rows
    ]


def test_more_rows_than_fit_at_once_are_what_they_are_alone() -> None:
    rows = np.random.default_rng(2).normal(0.01, 0.02, (40, 12))
    together = sequential_outcomes(rows, DEFAULT)
    for place in (0, 15, 16, 39):
        alone = sequential_outcomes(rows[place], DEFAULT)
        assert (alone.codes[0], alone.pairs[0]) == (together.codes[place], together.pairs[place])


def test_each_ending() -> None:
    steady = 0.0005 * np.resize([1.0, -1.0, 2.0, -2.0, 0.5], 20)
    rows = np.array([0.1 + steady, -0.1 + steady, steady, 400 * steady])
    found = sequential_outcomes(rows, DEFAULT)
    assert found.codes.tolist() == [ABOVE, BELOW, WITHIN, UNDECIDED]
    assert found.pairs.tolist() == [FEWEST_CALLED, FEWEST_CALLED, FEWEST_SAME, 20]


def test_without_a_minimal_effect_nothing_is_unchanged() -> None:
    rows = np.random.default_rng(1).normal(0, 0.001, (20, 20))
    margins = Margins(floor=0.0025, min_effect=0, alpha=0.05)
    assert not sequential_outcomes(rows, margins).codes.any()
    assert (sequential_outcomes(rows, DEFAULT).codes == WITHIN).all()


def test_a_family_asks_for_more() -> None:
    rows = np.random.default_rng(1).normal(0.03, 0.01, (30, 30))
    alone = sequential_outcomes(rows, DEFAULT)
    among = sequential_outcomes(rows, Margins(floor=0.0025, min_effect=0.02, alpha=0.05, family=200))
    assert (alone.codes == ABOVE).all()
    assert (among.codes == ABOVE).all()
    assert among.pairs.mean() > alone.pairs.mean() + 2


@pytest.mark.parametrize("noise", ["normal", "t3", "wild"])
def test_false_alarms_and_equivalence_under_optional_stopping(noise: str) -> None:
    """`make stats-bench` has the goals with thousands of repetitions; this is the seeded small one."""
    rng = np.random.default_rng(7)
    rows = 0.01 * math.sqrt(2) * (rng.standard_t(3, (600, 30)) / math.sqrt(3))
    if noise != "t3":
        rows = 0.01 * math.sqrt(2) * rng.standard_normal((600, 30))
    if noise == "wild":
        rows += (rng.random(rows.shape) < 0.05) * np.log1p(rng.uniform(0.2, 1, rows.shape))
        rows -= (rng.random(rows.shape) < 0.05) * np.log1p(rng.uniform(0.2, 1, rows.shape))
    found = sequential_outcomes(rows, DEFAULT)
    assert np.isin(found.codes, (ABOVE, BELOW)).mean() <= 0.02
    assert (found.codes == WITHIN).mean() >= 0.93
    assert found.pairs.mean() <= (15 if noise == "wild" else 10)


def test_power_at_two_percent() -> None:
    rows = math.log(1.02) + 0.01 * math.sqrt(2) * np.random.default_rng(8).standard_normal((600, 30))
    found = sequential_outcomes(rows, DEFAULT)
    assert (found.codes == ABOVE).mean() >= 0.95
    assert found.pairs.mean() <= 10
