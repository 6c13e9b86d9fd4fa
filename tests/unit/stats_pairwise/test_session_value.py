"""One number per session, and one per side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepwatch.stats import session_value, typical_value


def test_a_session_is_its_better_quintile() -> None:
    samples = [float(number) for number in range(100, -1, -1)]
    assert session_value(samples) == pytest.approx(20.0)
    assert session_value(samples, higher_is_better=True) == pytest.approx(80.0)
    assert session_value([1.0, 2.0, 3.0, 4.0, 100.0]) == pytest.approx(1.8)
    assert session_value([7.0]) == 7.0


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40), st.booleans())
@example([-1.7e308, 1.7e308], False)
def test_the_quintile_is_numpys_wherever_numpy_does_not_overflow(values: list[float], higher: bool) -> None:  # noqa: FBT001
    found = session_value(values, higher_is_better=higher)
    assert min(values) <= found <= max(values)
    if max(map(abs, values)) < 1e300:
        assert found == pytest.approx(np.quantile(values, 0.8 if higher else 0.2), rel=1e-9, abs=1e-290)


def test_the_typical_value_is_the_geometric_mean_over_sessions() -> None:
    assert typical_value([1.0, 4.0, 2.0]) == pytest.approx(2.0)
    assert typical_value([0.0, 4.0, 3.0]) == 3.0, "the median where there is none"
    assert typical_value([]) is None


@given(st.lists(st.floats(1e-300, 1.79e308), min_size=1, max_size=9))
@example([1.7976931348623157e308, 1.7976931348623155e308])
def test_the_typical_value_lies_within_the_values(values: list[float]) -> None:
    found = typical_value(values)
    assert found is not None
    assert min(values) <= found <= max(values)
    assert typical_value([values[0]] * 3) == values[0], "exact where nothing varies"


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_is_not_finite_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        session_value(values)
