"""Series from CSV, which anything can write.

Columns `series`, `revision`, `value`, and optionally `samples` (the values of the point's sessions, separated
by `;`), `direction` (`lower` or `higher` is better) and `unit`. The order of the file is the order of time,
whichever series a line belongs to. An empty value is a missing point and keeps its index.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import gc
import io
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.errors import MalformedFile
from stepwatch.history.collector import Collector, Columns, Point, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from stepwatch.history.collector import Progress
    from stepwatch.units import Direction
    from stepwatch.verdict.series import Series

REQUIRED = ("series", "revision", "value")
OPTIONAL = ("samples", "direction", "unit")
_BLOCK = 1 << 14
"""Rows that are looked at together."""
_LONGEST_FIELD = 1 << 24
"""Characters; a field with the samples of a point can be longer than csv's own limit."""
_FORMATS = "give CSV, JSON Lines, or the JSON of a benchmark tool"
_HEADER = f"the first line names the columns: {','.join(REQUIRED)} (optional: {', '.join(OPTIONAL)})"


def read_csv(
    stream: BinaryIO, label: str, *, better: Direction, progress: Progress | None = None
) -> list[Series]:
    """Read CSV in one pass, in memory of about the size of its numbers and revisions.

    Args:
        stream: the bytes, UTF-8.
        label: what errors call the file.
        better: the direction of series that name none.
        progress: told how many points were read.

    Returns:
        The series in order of first appearance, values in base units.

    Raises:
        MalformedFile: with `label:line`: a wrong header, a ragged row, no number, NaN, an infinity, a time
            that is not positive, a unit or a direction that changes within a series; or no points at all.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(text, strict=True)
    collector = Collector(label, better, progress)
    try:
        table = _Table(_columns(next(reader, []), label), label, collector)
        line = reader.line_num
        with _no_garbage_collection():
            while rows := list(islice(reader, _BLOCK)):
                table.add(rows, line)
                line = reader.line_num
    except UnicodeDecodeError as error:
        raise MalformedFile(label, f"not UTF-8 text; {_FORMATS}") from error
    except csv.Error as error:
        refuse(label, reader.line_num, f"not CSV: {error}")
    finally:
        text.detach()
    return collector.finish()


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Millions of short lists that hold no cycle: looking for some takes a third of the time of reading."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _columns(header: list[str], label: str) -> dict[str, int]:
    """Where each known column stands."""
    names = [name.strip().lower() for name in header]
    if "\0" in "".join(names):
        raise MalformedFile(label, f"a binary file; {_FORMATS}")
    known = (*REQUIRED, *OPTIONAL)
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f", did you mean {close[0]}?" if close else ""
            refuse(label, 1, f"unknown column {name[:40]!r}{hint}; {_HEADER}")
    lacking = [name for name in REQUIRED if name not in names]
    if lacking or len(set(names)) < len(names):
        reason = f"no column {lacking[0]!r}" if lacking else "a column is named twice"
        refuse(label, 1, f"{reason}; {_HEADER}")
    return {name: place for place, name in enumerate(names)}


class _Table:
    """The rows below the header, a block at a time: in columns while they are plain, else one by one."""

    def __init__(self, columns: dict[str, int], label: str, collector: Collector) -> None:
        self._label = label
        self._collector = collector
        self._width = len(columns)
        self._series, self._revision, self._value = (columns[name] for name in REQUIRED)
        self._samples, self._direction, self._unit = (columns.get(name) for name in OPTIONAL)

    def add(self, rows: list[list[str]], line: int) -> None:
        """Collect a block that begins after `line`."""
        found = self._as_columns(rows)
        if found is not None and self._collector.add_columns(found):
            return
        for row in rows:
            line += 1 + sum(field.count("\n") for field in row)
            if row:  # an empty line, as editors leave it at the end, is none
                self._collector.add(self._point(row, line))

    def _as_columns(self, rows: list[list[str]]) -> Columns | None:
        """The block by columns, which takes a fifth of the time; None: something needs a closer look."""
        if set(map(len, rows)) != {self._width}:
            return None
        columns = list(zip(*rows, strict=True))
        if self._samples is not None and any(columns[self._samples]):
            return None
        texts = columns[self._value]
        missing = texts.count("")
        try:
            numbers = [float(text or "nan") for text in texts] if missing else list(map(float, texts))
        except ValueError:
            return None
        values = np.array(numbers)
        if np.count_nonzero(np.isnan(values)) != missing or "_" in "".join(texts):
            return None
        if not all(columns[self._revision]) or "\0" in "".join(columns[self._revision]):
            return None
        nothing = ("",) * len(rows)
        return Columns(
            series=columns[self._series],
            revisions=columns[self._revision],
            values=values,
            directions=nothing if self._direction is None else columns[self._direction],
            units=nothing if self._unit is None else columns[self._unit],
        )

    def _point(self, row: list[str], line: int) -> Point:
        if len(row) != self._width:
            refuse(self._label, line, f"{len(row)} fields where the header names {self._width}")
        return Point(
            line=line,
            series=row[self._series],
            revision=row[self._revision],
            value=_number(row[self._value], self._label, line),
            samples=None if self._samples is None else _numbers(row[self._samples], self._label, line),
            direction="" if self._direction is None else row[self._direction],
            unit="" if self._unit is None else row[self._unit],
        )


def _number(text: str, label: str, line: int) -> float | None:
    """A number, perhaps infinite; None for an empty field."""
    try:
        number = float(text.replace("_", "?"))  # float() would pass over it
    except ValueError:
        if not text.strip():
            return None
        refuse(label, line, f"{text.strip()[:40]!r} is not a number")
    if np.isnan(number):
        refuse(label, line, f"{text.strip()!r} is not a number (leave the value empty where it is missing)")
    return number


def _numbers(text: str, label: str, line: int) -> list[float] | None:
    """The parts between `;`; None for an empty field."""
    if not text.strip():
        return None
    parts = [_number(part, label, line) for part in text.split(";")]
    if None in parts:
        refuse(label, line, "an empty sample between `;`")
    return [part for part in parts if part is not None]
