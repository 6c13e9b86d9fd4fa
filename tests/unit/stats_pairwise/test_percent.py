"""Percentages on the command line."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.commands.percent import LEVEL, PERCENT


@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        ("0.25%", 0.0025),
        ("0.0025", 0.0025),
        ("2%", 0.02),
        (" 2 % ", 0.02),
        ("0", 0.0),
        ("0%", 0.0),
        (0.02, 0.02),
    ],
)
def test_a_percentage_and_a_fraction_are_the_same(text: object, fraction: float) -> None:
    assert PERCENT.convert(text, None, None) == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2", "write 2% for 2 percent"),
        ("100%", "must be 0 or more and less than 100%"),
        ("-1%", "must be 0 or more"),
        ("nan", "must be 0 or more"),
        ("inf", "must be 0 or more"),
        ("250", "less than 100%"),
        ("two", "'two' is no percentage; write 0.25% or 0.0025"),
        ("%", "is no percentage"),
    ],
)
def test_what_is_no_share_of_one_is_refused_with_a_hint(text: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        PERCENT.convert(text, None, None)


def test_an_error_rate_is_more_than_zero() -> None:
    assert LEVEL.convert("5%", None, None) == pytest.approx(0.05)
    with pytest.raises(click.BadParameter, match="more than 0"):
        LEVEL.convert("0", None, None)


@given(st.floats(0, 0.999))
def test_every_fraction_comes_back(fraction: float) -> None:
    assert PERCENT.convert(repr(fraction), None, None) == fraction
