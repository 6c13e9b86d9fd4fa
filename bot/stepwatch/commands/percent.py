"""Fractions on the command line: `0.25%` and `0.0025` are the same."""

from __future__ import annotations

import math

import click


class Percent(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    """A share of one as an option's value: a percentage with its sign, or a fraction; a float comes out.

    A plain number of 1 or more is refused: whoever writes `--floor 2` meant 2 %, not 200 %.
    """

    name = "percent"

    def __init__(self, *, positive: bool = False) -> None:
        """Accept [0, 1), or (0, 1) if `positive`."""
        self.positive = positive

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The fraction that `value` writes.

        Raises:
            click.BadParameter: not a number, or outside the range.
        """
        text = str(value).strip()
        digits = text.removesuffix("%")
        try:
            fraction = float(digits) / (1 if digits == text else 100)
        except ValueError:
            self.fail(f"{text!r} is no percentage; write 0.25% or 0.0025", param, ctx)
        least = math.ulp(0.0) if self.positive else 0.0
        if not least <= fraction < 1:
            hint = f"; write {digits}% for {digits} percent" if digits == text and 1 <= fraction < 100 else ""
            span = "more than 0" if self.positive else "0 or more"
            self.fail(f"{text!r} must be {span} and less than 100%{hint}", param, ctx)
        return fraction


PERCENT = Percent()
"""For margins: 0 is allowed."""
LEVEL = Percent(positive=True)
"""For error rates: more than 0."""
