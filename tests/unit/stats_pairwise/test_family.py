"""Rows judged together: when each stops, and the error rate of the whole."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.stats import (
    FEWEST_CALLED,
    Margins,
    PairedTest,
    e_bh,
    family_outcomes,
    sequential_outcomes,
)
from stepwatch.stats.sequential import ABOVE, BELOW, UNDECIDED, WITHIN

DEFAULT = Margins(floor=0.0025, min_effect=0.02, alpha=0.05)
NO_EQUIVALENCE = Margins(floor=0.0, min_effect=0.0, alpha=0.05)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([DEFAULT, NO_EQUIVALENCE]))
def test_uncorrected_each_row_is_what_it_is_alone(seed: int, margins: Margins) -> None:
    rng = np.random.default_rng(seed)
    rows = [rng.normal(shift, 0.01, n) for shift, n in ((0.0, 12), (0.03, 9), (-0.05, 7), (0.01, 1))]
    found = family_outcomes(rows, margins, corrected=False)
    for place, row in enumerate(rows):
        alone = sequential_outcomes(row, margins)
        assert (found.codes[place], found.pairs[place]) == (alone.codes[0], alone.pairs[0])


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_a_family_of_one_is_a_row_by_itself(seed: int) -> None:
    row = np.random.default_rng(seed).normal(0.015, 0.012, 14)
    together, alone = (family_outcomes([row], DEFAULT, corrected=corrected) for corrected in (True, False))
    assert (together.codes, together.pairs) == (alone.codes, alone.pairs)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_all_that_is_ever_called_is_called_by_one_e_bh_at_the_end(seed: int, count: int) -> None:
    """The claim on which the error rate rests: stopped rows keep their e-values and stay rejected."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(rng.choice([0.0, 0.03]), 0.01, int(rng.integers(4, 14))) for _ in range(count)]
    found = family_outcomes(rows, NO_EQUIVALENCE, corrected=True)
    final = [
        PairedTest.of(row[:n]).log_e_beyond(0.0) if n >= FEWEST_CALLED else -math.inf
        for row, n in zip(rows, found.pairs, strict=True)
    ]
    assert np.array_equal(e_bh(final, alpha=0.05), found.codes != UNDECIDED)


def test_rows_wait_for_the_family_and_then_stop_together() -> None:
    """One row among forty needs 800; with 39 more like it each needs 20, at the sixth pair."""
    changed = 0.1 + 0.001 * np.resize([1.0, -1.0, 2.0, -2.0, 0.5], 12)
    calm = changed - 0.1
    lone = family_outcomes([changed, *[calm] * 39], DEFAULT, corrected=True)
    assert lone.codes.tolist() == [ABOVE, *[WITHIN] * 39]
    assert lone.pairs[0] > FEWEST_CALLED
    crowd = family_outcomes([-changed] * 40, DEFAULT, corrected=True)
    assert crowd.codes.tolist() == [BELOW] * 40
    assert crowd.pairs.tolist() == [FEWEST_CALLED] * 40


def test_a_row_that_runs_out_keeps_its_place_in_the_family() -> None:
    changed = 0.1 + 0.001 * np.resize([1.0, -1.0, 2.0, -2.0, 0.5], 12)
    short = [changed[:3]] * 39
    found = family_outcomes([changed, *short], DEFAULT, corrected=True)
    assert found.codes.tolist() == [ABOVE, *[UNDECIDED] * 39]
    assert found.pairs.tolist()[1:] == [3] * 39
    assert (
        found.pairs[0] == family_outcomes([changed, *[changed - 0.1] * 39], DEFAULT, corrected=True).pairs[0]
    )


def test_a_row_without_further_pairs_is_called_when_others_make_room() -> None:
    """At its seventh and last pair it has not what a lone row among forty needs, but one of many like it."""
    changed = 0.1 + 0.02 * np.resize([1.0, -1.0, 2.0, -2.0, 0.5], 14)
    short, calm = changed[:7], 0.02 * np.resize([1.0, -1.0, 0.5, -0.5], 14)
    alone = family_outcomes([short, *[calm] * 39], NO_EQUIVALENCE, corrected=True)
    assert alone.codes[0] == UNDECIDED
    late = np.concatenate([5 * calm[:4], changed])
    among = family_outcomes([short, *[late] * 9, *[calm] * 30], NO_EQUIVALENCE, corrected=True)
    assert among.codes[:10].tolist() == [ABOVE] * 10
    assert (among.pairs[0], among.pairs[1] > 7) == (7, True)


def test_no_rows_no_decisions() -> None:
    assert family_outcomes([], DEFAULT, corrected=True).codes.size == 0


def test_two_hundred_rows_ten_of_them_changed() -> None:
    """`make stats-bench` has many such families; this is one of each size of budget."""
    rng = np.random.default_rng(3)
    rows = 0.0155 * rng.standard_t(6, (200, 30)) / math.sqrt(1.5)
    rows[:10] += math.log(1.03)
    for cap, least in ((10, 1), (16, 8), (30, 10)):
        found = family_outcomes(list(rows[:, :cap]), DEFAULT, corrected=True)
        assert (found.codes[:10] == ABOVE).sum() >= least
        assert not np.isin(found.codes[10:], (ABOVE, BELOW)).any()
