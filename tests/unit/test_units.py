from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.units import (
    Direction,
    format_bytes,
    format_duration,
    format_percent,
    format_ratio,
    format_seconds,
    format_value,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (2.1, "2.10 s"),
        (0.0021, "2.10 ms"),
        (0.5, "500 ms"),
        (53.2e-6, "53.2 µs"),
        (4e-9, "4.00 ns"),
        (2e-11, "0.02 ns"),
    ],
)
def test_seconds_are_scaled_only_when_shown(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize("seconds", [1e9, 1e308, math.inf])
def test_a_wait_without_end_is_short_to_say(seconds: float) -> None:
    assert format_duration(seconds) == "over a year"


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.013, "1.3%"), (2.0, "200%"), (1e7, "1e+07 times"), (1e308, "1e+308 times")]
)
def test_percentages_are_short_and_finite(fraction: float, text: str) -> None:
    assert format_percent(fraction) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KiB"), (3 * 2**40, "3.00 TiB")]
)
def test_bytes(value: float, text: str) -> None:
    assert format_bytes(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "1.000x"),
        (1.0123, "1.012x"),
        (1.39, "1.39x"),
        (38.93, "38.9x"),
        (0.56, "0.56x"),
        (None, "-"),
        (math.inf, "-"),
    ],
)
def test_ratio(ratio: float | None, text: str) -> None:
    assert format_ratio(ratio) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3, "count", "3"),
        (0.12345, "1", "0.1235"),
        (None, "seconds", "-"),
        (math.nan, "bytes", "-"),
        (1e-3, "seconds", "1.00 ms"),
        (10, "bytes", "10 B"),
    ],
)
def test_value_by_unit(value: float | None, unit: str, text: str) -> None:
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (3900, "1 h 05 min")]
)
def test_waiting_time(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_the_direction_says_which_side_is_worse() -> None:
    assert Direction.LOWER.is_worse(1.1)
    assert not Direction.LOWER.is_worse(0.9)
    assert Direction.HIGHER.is_worse(0.9)
    assert not Direction.HIGHER.is_worse(1.0)


@given(st.floats(min_value=1e-9, max_value=1e5))
def test_shown_seconds_are_within_one_percent_of_the_value(value: float) -> None:
    number, unit = format_seconds(value).split()
    scale = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    assert float(number) * scale == pytest.approx(value, rel=0.01)
