"""Durations on the command line: `90s`, `20m`, `1h`, `1h30m`."""

from __future__ import annotations

import click

from stepwatch.units import parse_duration


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    """A duration as an option's value; seconds come out."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds that `value` writes.

        Raises:
            click.BadParameter: no duration, or no time at all.
        """
        if isinstance(value, float):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION = Duration()
