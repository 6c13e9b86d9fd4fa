"""Building a series while a file is read, and what may stand in it: the rule of each unit."""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.history.labels import Labels
from stepwatch.units import Direction
from stepwatch.verdict.series import Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.verdict.series import Floats

_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_TIME_WORDS = {"second": 1.0, "millisecond": 1e-3, "microsecond": 1e-6, "nanosecond": 1e-9}
_SIZES = {"B": 1.0, "byte": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3}
_COUNTS = frozenset({"count", "counts"})
_NOTHING_BELOW_ZERO = -math.ulp(0.0)
"""The largest number below zero: `_NOTHING_BELOW_ZERO < x` is `0 <= x`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What a unit's name means for the values that carry it."""

    name: str
    """`seconds`, `bytes`, `count`, or the name as it was found."""
    scale: float
    """Factor to the base unit."""
    above: float
    """Every value must be greater than this."""
    below: float
    """Every value must be less than this, so that it is finite in the base unit."""
    exact: bool
    """Whether values can repeat to the last digit (bytes, counts); the detector looks whether they do."""

    @property
    def rule(self) -> str:
        """Why a value was refused."""
        return "a time is more than 0" if self.above == 0 else f"{self.name} are never below 0"


def parse_unit(text: str) -> Unit:
    """The meaning of `ms`, `KiB`, `count`...; an unknown unit is kept and allows every finite number."""
    word = text.strip()
    scale = _TIMES.get(word) or _TIME_WORDS.get(word.lower().removesuffix("s"))
    if scale is not None:
        return Unit(name="seconds", scale=scale, above=0.0, below=math.inf, exact=False)
    scale = _SIZES.get(word) or _SIZES.get(word.lower().removesuffix("s"))
    if scale is not None:
        below = sys.float_info.max / scale if scale > 1 else math.inf
        return Unit(name="bytes", scale=scale, above=_NOTHING_BELOW_ZERO, below=below, exact=True)
    if word.lower() in _COUNTS:
        return Unit(name="count", scale=1.0, above=_NOTHING_BELOW_ZERO, below=math.inf, exact=True)
    return Unit(name=word, scale=1.0, above=-math.inf, below=math.inf, exact=False)


def parse_direction(text: str) -> Direction | None:
    """`lower` or `higher`, also as `lower is better` or `lower_is_better`; None: neither."""
    word = re.sub(r"[ _-](is[ _-])?better$", "", text.strip().lower())
    return Direction(word) if word in tuple(Direction) else None


NO_UNIT = parse_unit("")
_NO_SAMPLES = np.empty(0)


class SeriesBuilder:
    """Collects the points of one series while a file is read."""

    __slots__ = ("better", "direction", "name", "revisions", "samples", "unit", "unit_text", "values")

    def __init__(self, name: str, *, unit: str = "", direction: str = "", otherwise: Direction) -> None:
        self.name = name
        self.unit_text = unit
        self.direction = direction
        self.unit = parse_unit(unit) if unit else NO_UNIT
        self.better = parse_direction(direction) or otherwise
        self.values = array("d")
        self.revisions = Labels()
        self.samples: list[Floats] | None = None

    def agrees(self, unit: str, direction: str) -> bool:
        """Whether a point says the same of its unit and direction as the first one."""
        return unit == self.unit_text and direction == self.direction

    def add(self, revision: str, value: float | None, samples: Sequence[float] | None) -> str | None:
        """Append a point, in the unit of the file; None as value: missing.

        Returns:
            Why the point cannot stand in this series; None: it was added.
        """
        if value is None:
            value = math.nan
        elif not self.unit.above < value < self.unit.below:
            return self._refusal(value)
        odd = [sample for sample in samples or () if not self.unit.above < sample < self.unit.below]
        if odd:
            return self._refusal(odd[0])
        if samples and not _is_among(value, samples):
            return (
                f"value {value:g} lies outside its own samples, {min(samples):g} to {max(samples):g}: "
                "give their median, in their unit"
            )
        self.revisions.append(revision)
        self.values.append(value)
        if samples:
            if self.samples is None:
                self.samples = []
            self.samples += [_NO_SAMPLES] * (len(self.values) - 1 - len(self.samples))
            self.samples.append(np.asarray(samples, dtype=float))
        return None

    def accepts(self, values: Floats) -> bool:
        """Whether all these values, NaN where one is missing, can stand in this series."""
        measured = values[~np.isnan(values)]
        return not measured.size or bool(self.unit.above < measured.min() <= measured.max() < self.unit.below)

    def extend(self, revisions: Sequence[str], values: Floats) -> None:
        """Append many points without samples, which `accepts` has let pass."""
        self.revisions.extend(revisions)
        self.values.frombytes(values.tobytes())

    def _refusal(self, value: float) -> str:
        if not math.isfinite(value):
            return f"{value} is not a finite number"
        if value >= self.unit.below:
            return f"{value:g} {self.unit_text} is too large"
        return f"{value:g} {self.unit_text}: {self.unit.rule}"

    def build(self) -> Series:
        """The finished series, scaled to the base unit."""
        values = np.frombuffer(self.values, dtype=float) * self.unit.scale
        samples = None
        if self.samples is not None:
            self.samples += [_NO_SAMPLES] * (len(values) - len(self.samples))
            samples = tuple(taken * self.unit.scale for taken in self.samples)
        return Series(
            name=self.name,
            revisions=self.revisions,
            values=values,
            samples=samples,
            unit=self.unit.name,
            better=self.better,
            exact=self.unit.exact,
            notes=tuple(self._notes(values)),
        )

    def _notes(self, values: Floats) -> list[str]:
        notes = []
        negative = int(np.count_nonzero(values < 0))
        if negative:
            notes.append(
                f"{negative} of {len(values)} values below 0: a ratio is given only between levels above 0"
            )
        repeated = _first_repeated(self.revisions)
        if repeated is not None:
            notes.append(f"revision {repeated} occurs more than once: each row is a point of its own")
        return notes


_ROUNDING = 0.05
_REPEATS_CHECKED = 100_000
"""In longer series revisions are not compared: that would hold every one of them in memory."""


def _is_among(value: float, samples: Sequence[float]) -> bool:
    """Whether a value can be a summary of the samples; it may have been rounded to two digits."""
    low, high = min(samples), max(samples)
    slack = _ROUNDING * max(abs(low), abs(high))
    return low - slack <= value <= high + slack


def _first_repeated(revisions: Sequence[str]) -> str | None:
    if len(revisions) > _REPEATS_CHECKED or len(set(revisions)) == len(revisions):
        return None
    return Counter(revisions).most_common(1)[0][0]
