"""Sorting the points of a text file into series, refusing what no point can be.

What is wrong is refused with its line and not left out, because that would move every index after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from stepwatch.errors import MalformedFile
from stepwatch.history.building import SeriesBuilder, parse_direction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from stepwatch.units import Direction
    from stepwatch.verdict.series import Floats, Series

    Indices = NDArray[np.intp]

    Progress = Callable[[int], None]
    """Called now and then with the number of points read so far."""

_TELL_EVERY = 100_000


class Point(NamedTuple):
    """One line of the file, its texts turned into numbers."""

    line: int
    series: str
    revision: str
    value: float | None
    """In the unit of the file; None: missing."""
    samples: Sequence[float] | None
    direction: str
    unit: str


class Columns(NamedTuple):
    """Many lines of the file at once, none of them with samples."""

    series: Sequence[str]
    revisions: Sequence[str]
    values: Floats
    directions: Sequence[str]
    units: Sequence[str]


def refuse(label: str, line: int, reason: str) -> NoReturn:
    """End reading.

    Raises:
        MalformedFile: always; `label:line: reason`.
    """
    raise MalformedFile(label, reason, place=str(line), next_step="nothing was judged")


class Collector:
    """The series of one file while it is read."""

    def __init__(self, label: str, better: Direction, progress: Progress | None) -> None:
        """Args: what errors call the file; the direction of series that name none; told of every block."""
        self._label = label
        self._better = better
        self._progress = progress
        self._builders: dict[str, SeriesBuilder] = {}
        self._count = self._told = 0

    def add(self, point: Point) -> None:
        """One point, with every check.

        Raises:
            MalformedFile: it cannot stand in its series.
        """
        builder = self._builders.get(point.series) or self._new(point)
        self._builders[point.series] = builder
        if not builder.agrees(point.unit, point.direction):
            refuse(self._label, point.line, _disagreement(builder, point))
        if not point.revision or "\0" in point.revision:
            why = "holds a NUL byte" if point.revision else "is empty"
            refuse(self._label, point.line, f"the revision {why}")
        if point.value is None and point.samples:
            refuse(self._label, point.line, "samples without a value: give their median as the value")
        refusal = builder.add(point.revision, point.value, point.samples)
        if refusal:
            refuse(self._label, point.line, refusal)
        self._tell(1)

    def add_columns(self, columns: Columns) -> bool:
        """Many points at once.

        Returns:
            Whether all are in order and were added; False: none was added.
        """
        keys = list(zip(columns.series, columns.units, columns.directions, strict=True))
        kinds = list(dict.fromkeys(keys))
        builders = [self._builder_of(*kind) for kind in kinds]
        if len({kind[0] for kind in kinds}) < len(kinds):
            return False
        index = {kind: place for place, kind in enumerate(kinds)}
        codes = np.fromiter(map(index.__getitem__, keys), dtype=np.intp, count=len(keys))
        order = np.argsort(codes, kind="stable")
        places = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        checked = [
            builder
            for builder, taken in zip(builders, places, strict=True)
            if builder is not None and builder.accepts(columns.values[taken])
        ]
        if len(checked) < len(builders):
            return False
        for builder, taken in zip(checked, places, strict=True):
            self._builders[builder.name] = builder
            builder.extend(_picked(columns.revisions, taken), columns.values[taken])
        self._tell(len(codes))
        return True

    def finish(self) -> list[Series]:
        """The series in order of first appearance.

        Raises:
            MalformedFile: there was no point at all.
        """
        if not self._builders:
            raise MalformedFile(self._label, "no points; every line below the header is one")
        return [builder.build() for builder in self._builders.values()]

    def _new(self, point: Point) -> SeriesBuilder:
        if not point.series.strip() or "\0" in point.series:
            why = "name holds a NUL byte" if point.series.strip() else "has no name"
            refuse(self._label, point.line, f"the series {why}")
        if point.direction and parse_direction(point.direction) is None:
            refuse(self._label, point.line, f"direction {point.direction[:40]!r} is neither lower nor higher")
        return SeriesBuilder(point.series, unit=point.unit, direction=point.direction, otherwise=self._better)

    def _builder_of(self, name: str, unit: str, direction: str) -> SeriesBuilder | None:
        """The builder that a kind of points belongs to, perhaps a new one; None: something is wrong."""
        builder = self._builders.get(name)
        if builder is not None:
            return builder if builder.agrees(unit, direction) else None
        if not name.strip() or "\0" in name or (direction and parse_direction(direction) is None):
            return None
        return SeriesBuilder(name, unit=unit, direction=direction, otherwise=self._better)

    def _tell(self, points: int) -> None:
        self._count += points
        if self._progress is not None and self._count - self._told >= _TELL_EVERY:
            self._told = self._count
            self._progress(self._count)


def _picked(texts: Sequence[str], places: Indices) -> Sequence[str]:
    """Some of many strings; those of one series mostly stand together."""
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        return texts[first : last + 1]
    return [texts[place] for place in places.tolist()]


def _disagreement(builder: SeriesBuilder, point: Point) -> str:
    """How a line contradicts the first one of its series."""
    if point.unit != builder.unit_text:
        what, found, before = "unit", point.unit, builder.unit_text
    else:
        what, found, before = "direction", point.direction, builder.direction
    return f"{what} {found or 'empty'!r}, but series {builder.name[:40]!r} began with {before or 'none'!r}"
