"""Many benchmarks, one error rate."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.stats import e_bh


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
