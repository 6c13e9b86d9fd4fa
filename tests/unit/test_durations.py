"""Durations as people write them."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.commands.durations import DURATION
from stepwatch.units import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("20m", 1200), ("1h", 3600), ("1h30m", 5400), (" 2m30s ", 150), ("1h1m1s", 3661)],
)
def test_hours_minutes_and_seconds_in_that_order(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    assert DURATION.convert(text, None, None) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("20", "write it like 90s, 20m, 1h or 1h30m"),
        ("", "is no duration"),
        ("m", "is no duration"),
        ("30m1h", "is no duration"),
        ("-5m", "is no duration"),
        ("1.5h", "is no duration"),
        ("9999999999h", "is no duration"),
        ("٣m", "is no duration"),
        ("0m", "is no time at all"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_way_to_write_it(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(text)
    with pytest.raises(click.BadParameter, match=message):
        DURATION.convert(text, None, None)


def test_a_default_in_seconds_passes_through() -> None:
    assert DURATION.convert(1200.0, None, None) == 1200.0


@given(st.integers(0, 999), st.integers(0, 99999), st.integers(1, 999999))
def test_the_parts_add_up(hours: int, minutes: int, seconds: int) -> None:
    assert parse_duration(f"{hours}h{minutes}m{seconds}s") == 3600 * hours + 60 * minutes + seconds
