"""asv's result format (version 2) as it lies on disk: one decoder, strict, with a fast path.

asv writes Python's dialect of JSON, cuts trailing nulls of a row and collapses lists of nulls to null. A file
without NaN and Infinity is decoded straight into the three columns that a history needs; every other file
takes the general way, which also knows what is wrong, and where.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from stepwatch.errors import HistoryNotFound, MalformedFile, UnsupportedSchema

if TYPE_CHECKING:
    from pathlib import Path

_T = TypeVar("_T")
RESULT_VERSION = 2
NEXT_STEP = "move the file away; stepwatch writes its own benchmarks again from the sidecars"
_COLUMNS = frozenset({"result", "params", "version", "started_at", "duration", "samples", "profile"})
_FIRST_COLUMNS = ["result", "params", "version"]
_COMBINATIONS_LIMIT = 100_000
_SHORT = 40
_FIRST_DATE_MS, _LAST_DATE_MS = -62_135_596_800_000, 253_402_300_800_000
"""The years 1 to 9999."""


class ResultShape(msgspec.Struct, frozen=True, kw_only=True):
    """A result file, its rows as asv wrote them."""

    commit_hash: str
    date: float
    """Of the commit, milliseconds since 1970."""
    env_name: str
    python: str
    params: dict[str, Any]
    """The machine's description, the Python and the requirements."""
    requirements: dict[str, Any]
    result_columns: list[str]
    results: dict[str, list[Any]]


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The first columns of one benchmark's row; what follows them is skipped."""

    result: list[float | None] | None = None
    """One value per combination of parameters, null where it failed."""
    params: list[list[str]] | None = None
    version: str | None = None

    @property
    def parameters(self) -> list[list[str]]:
        """The values of each parameter, as Python literals."""
        return self.params or []


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """A result file, its rows in the columns that a history needs."""

    version: int
    commit_hash: str
    date: float
    env_name: str
    python: str
    params: dict[str, Any]
    result_columns: list[str]
    results: dict[str, Row]


_FAST = msgspec.json.Decoder(Rows)


def decode_rows(path: Path, data: bytes) -> Rows:
    """The rows of a result file; a value that is no finite number is None.

    Raises:
        MalformedFile, UnsupportedSchema: as `decode_result`, and for a row whose values do not match its
            parameters.
    """
    try:
        found = _FAST.decode(data)
        if found.version == RESULT_VERSION and found.result_columns[:3] == _FIRST_COLUMNS:
            check_date(path, found.date)
            for name, row in found.results.items():
                check_count(path, name, row.result, combinations(path, name, row.parameters))
            return found
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # the general way tells what is wrong, or reads it all the same
    shape = decode_result(path, data)
    rows = {}
    for name, values in shape.results.items():
        columns = row_columns(path, shape, name, values)
        parameters = columns.get("params") or []
        result = check_count(path, name, columns.get("result"), combinations(path, name, parameters))
        rows[name] = Row(
            result=[float(value) if is_number(value) else None for value in result],
            params=[[str(choice) for choice in choices] for choices in parameters],
            version=str(columns.get("version") or ""),
        )
    return Rows(
        version=RESULT_VERSION,
        commit_hash=shape.commit_hash,
        date=shape.date,
        env_name=shape.env_name,
        python=shape.python,
        params=shape.params,
        result_columns=shape.result_columns,
        results=rows,
    )


def decode_result(path: Path, data: bytes) -> ResultShape:
    """A whole result file.

    Raises:
        MalformedFile: truncated, or not what asv writes; names the place.
        UnsupportedSchema: a version of the format other than 2.
    """
    shape = convert(path, decode_json(path, data, RESULT_VERSION), ResultShape)
    unknown = [c for c in shape.result_columns if c not in _COLUMNS and not c.startswith("stats_")]
    if unknown:
        raise MalformedFile(
            path, f"unknown column {unknown[0]!r}", place="result_columns", next_step=NEXT_STEP
        )
    check_date(path, shape.date)
    return shape


def check_date(path: Path, milliseconds: float) -> None:
    """Refuse what no calendar has (NaN too): such a file has no place in the order of time.

    Raises:
        MalformedFile: before the year 1 or after 9999.
    """
    if not _FIRST_DATE_MS <= milliseconds < _LAST_DATE_MS:
        raise MalformedFile(path, f"{milliseconds:g} is no date", place="date", next_step=NEXT_STEP)


def row_columns(path: Path, shape: ResultShape, name: str, row: list[Any]) -> dict[str, Any]:
    """One benchmark's row by the names of its columns.

    Raises:
        MalformedFile: more values than columns.
    """
    if len(row) > len(shape.result_columns):
        raise MalformedFile(path, "more values than columns", place=f"results.{name}", next_step=NEXT_STEP)
    return dict(zip(shape.result_columns, row, strict=False))


def combinations(path: Path, name: str, parameters: object) -> int:
    """How many combinations of parameters a row has values for.

    Raises:
        MalformedFile: `parameters` is no list of lists, or the combinations are too many to be true.
    """
    if not isinstance(parameters, list) or not all(isinstance(choices, list) for choices in parameters):
        raise MalformedFile(path, "params is no list of lists", place=f"results.{name}", next_step=NEXT_STEP)
    count = math.prod(map(len, parameters))
    if count > _COMBINATIONS_LIMIT:
        reason = f"{count} combinations of parameters, at most {_COMBINATIONS_LIMIT} are read"
        raise MalformedFile(path, reason, place=f"results.{name}", next_step=NEXT_STEP)
    return count


def check_count(path: Path, name: str, column: object, count: int) -> list[Any]:
    """A column with one entry per combination of parameters; null stands for a list of nulls.

    Raises:
        MalformedFile: another number of entries.
    """
    if column is None:
        return [None] * count
    if not isinstance(column, list) or len(column) != count:
        reason = f"expected {count} values, one per parameters"
        raise MalformedFile(path, reason, place=f"results.{name}", next_step=NEXT_STEP)
    return column


def is_number(value: object) -> bool:
    """A finite number that a float can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # an integer beyond the largest float
        return False


def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        HistoryNotFound: no such file.
        MalformedFile: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise HistoryNotFound(path) from error
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise MalformedFile(path, reason, next_step="mend it or move it away") from error


def decode_json(path: Path, data: bytes, version: int) -> dict[str, Any]:
    """A JSON object with asv's `version` field; asv writes NaN and Infinity, so this is Python's dialect.

    Raises:
        MalformedFile: not such an object (names line and column where it breaks off), or an older version.
        UnsupportedSchema: another version.
    """
    try:
        found = json.loads(data)
    except json.JSONDecodeError as error:
        place = f"{error.lineno}:{error.colno}"
        raise MalformedFile(
            path, f"not JSON, perhaps truncated: {error.msg}", place=place, next_step=NEXT_STEP
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, an integer of thousands of digits, too deep
        raise MalformedFile(path, "not a JSON file that asv writes", next_step=NEXT_STEP) from error
    if not isinstance(found, dict) or "version" not in found:
        raise MalformedFile(path, "no asv file: `version` is missing", next_step=NEXT_STEP)
    if type(found["version"]) is int and found["version"] < version:
        reason = f"format {found['version']} of asv"
        raise MalformedFile(path, reason, next_step="bring its results up to date with `asv update`")
    if found["version"] != version:
        raise UnsupportedSchema(path, _short(found["version"]), version)
    return found


def convert(path: Path, value: object, kind: type[_T], *, place: str = "") -> _T:
    """Check decoded JSON against a shape.

    Raises:
        MalformedFile: it does not fit; names the place.
    """
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError) as error:
        raise MalformedFile(path, str(error), place=place, next_step=NEXT_STEP) from error


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
