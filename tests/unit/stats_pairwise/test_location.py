"""Centres: typical pairs, and what is wild."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.stats import PairedTest, typical

VALUES = st.lists(st.floats(-1, 1).map(lambda value: round(value, 4)), min_size=1, max_size=20)


def test_without_a_wild_value_the_centre_is_the_mean() -> None:
    values = [0.1, 0.2, 0.15, 0.12, 0.18]
    test = PairedTest.of(values)
    assert test.centre == pytest.approx(np.mean(values))
    assert test.scale == pytest.approx(1.4826 * 0.03 / math.sqrt(5))
    assert test.n == 5


def test_a_wild_value_counts_not_at_all() -> None:
    calm = [0.10, 0.11, 0.12, 0.10, 0.11, 0.12, 0.11, 0.10, 0.12]
    assert PairedTest.of([*calm, 5.0]).centre == pytest.approx(np.mean(calm))
    assert typical([*calm, 5.0]).tolist() == [True] * 9 + [False]


@pytest.mark.parametrize("values", [[0.0, 0.0, 5.0], [0.0] * 5 + [3.0], [2.0], [1.0, 9.0]])
def test_where_there_is_no_scale_nothing_is_wild(values: list[float]) -> None:
    assert typical(values).all()
    assert PairedTest.of(values).centre == pytest.approx(np.mean(values))


def test_equal_values_have_a_scale_if_any_differs() -> None:
    assert PairedTest.of([0.0] * 5 + [3.0]).scale > 0
    assert PairedTest.of([0.5] * 5).scale == 0
    assert PairedTest.of([0.5]).scale == math.inf


@given(VALUES, st.floats(-5, 5), st.sampled_from([-1.0, 1.0]))
def test_the_centre_moves_with_the_values(values: list[float], shift: float, sign: float) -> None:
    moved = PairedTest.of(sign * np.array(values) + shift).centre
    assert moved == pytest.approx(sign * PairedTest.of(values).centre + shift, abs=1e-9)


@given(VALUES)
def test_more_than_half_of_the_values_are_typical(values: list[float]) -> None:
    kept = typical(values)
    assert kept.sum() * 2 > kept.size
    assert min(values) - 1e-12 <= PairedTest.of(values).centre <= max(values) + 1e-12
