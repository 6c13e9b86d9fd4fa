"""Reading asv's result files (format 2) ourselves, strictly: points and series, no asv code.

asv's own reader fails on a truncated file with a traceback, keeps parallel dictionaries keyed by one name
and cannot say which line is wrong. This one knows the format (columns, trailing nulls cut, null = failed,
NaN = skipped, one entry per combination of parameters) and names the file and the place of every fault.
An oracle test compares it with asv's.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from stepwatch.errors import HistoryNotFound, MalformedFile, UnsupportedSchema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_T = TypeVar("_T")
RESULT_VERSION = 2
BENCHMARKS_VERSION = 2
MACHINE_VERSION = 1
_OTHER_FILES = frozenset({"machine.json", "benchmarks.json"})
_COLUMNS = frozenset({"result", "params", "version", "started_at", "duration", "samples", "profile"})
_COMBINATIONS_LIMIT = 100_000
_SHORT = 40
_NEXT_STEP = "move the file away; stepwatch writes its own benchmarks again from the sidecars"


class PointStatus(StrEnum):
    """What asv's value stands for."""

    MEASURED = "measured"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One benchmark, one combination of parameters, at one commit."""

    benchmark: str
    parameters: tuple[str, ...]
    """Python literals, as asv writes them (`'gpt'` with its quotes)."""
    commit: str
    date: float
    """Of the commit, Unix time, seconds."""
    environment: str
    version: str
    status: PointStatus
    value: float | None
    """None unless measured."""
    samples: tuple[float, ...]
    """Empty where asv did not record them."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SeriesKey:
    """What must be equal for points to be comparable along commits."""

    benchmark: str
    parameters: tuple[str, ...]
    environment: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points of one key, oldest commit first."""

    key: SeriesKey
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """One file: one commit in one environment."""

    path: Path
    commit: str
    date: float
    environment: str
    python: str
    points: tuple[Point, ...]


class BenchmarkInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `benchmarks.json`; attributes of a `track_` function stand in it by name."""

    name: str
    version: str = ""
    unit: str = ""
    type: str = ""
    better: Literal["lower", "higher"] = "lower"
    exact: bool = False
    track: str = ""


class _ResultShape(msgspec.Struct, frozen=True, kw_only=True):
    commit_hash: str
    date: float
    env_name: str
    python: str
    params: dict[str, Any]
    requirements: dict[str, Any]
    result_columns: list[str]
    results: dict[str, list[Any]]


def read_result_file(path: Path) -> ResultFile:
    """Read one asv result file.

    Raises:
        HistoryNotFound: no such file.
        MalformedFile: truncated, or not what asv writes; names the place.
        UnsupportedSchema: a version of the format other than 2.
    """
    shape = _convert(path, _read_json(path, RESULT_VERSION), _ResultShape)
    unknown = [c for c in shape.result_columns if c not in _COLUMNS and not c.startswith("stats_")]
    if unknown:
        raise MalformedFile(
            path, f"unknown column {unknown[0]!r}", place="result_columns", next_step=_NEXT_STEP
        )
    points = [point for name, row in shape.results.items() for point in _points(path, shape, name, row)]
    return ResultFile(
        path=path,
        commit=shape.commit_hash,
        date=shape.date / 1000,
        environment=shape.env_name,
        python=shape.python,
        points=tuple(points),
    )


def read_machine_results(results: Path, machine: str) -> tuple[ResultFile, ...]:
    """Every result file of one machine, by name; empty when there are none."""
    folder = results / machine
    paths = [path for path in folder.glob("*.json") if path.name not in _OTHER_FILES]
    return tuple(read_result_file(path) for path in sorted(paths))


def read_benchmarks(results: Path) -> dict[str, BenchmarkInfo]:
    """The suite's benchmarks as asv discovered them; empty when there is no `benchmarks.json` yet."""
    path = results / "benchmarks.json"
    if not path.exists():
        return {}
    entries = _read_json(path, BENCHMARKS_VERSION)
    return {
        name: _convert(path, entry, BenchmarkInfo, place=name)
        for name, entry in entries.items()
        if name != "version"
    }


def read_machine(results: Path, machine: str) -> dict[str, Any]:
    """`machine.json` of one machine: asv's fields and our own."""
    return _read_json(results / machine / "machine.json", MACHINE_VERSION)


def build_series(files: Iterable[ResultFile]) -> tuple[Series, ...]:
    """Sort points into series, by key; within a series by the commit's date."""
    grouped: dict[SeriesKey, list[Point]] = defaultdict(list)
    for point in itertools.chain.from_iterable(file.points for file in files):
        key = SeriesKey(
            benchmark=point.benchmark,
            parameters=point.parameters,
            environment=point.environment,
            version=point.version,
        )
        grouped[key].append(point)
    return tuple(
        Series(key=key, points=tuple(sorted(points, key=lambda point: (point.date, point.commit))))
        for key, points in sorted(grouped.items())
    )


def _points(path: Path, shape: _ResultShape, name: str, row: list[Any]) -> list[Point]:
    """The points of one benchmark: asv cuts trailing nulls and collapses lists of nulls to null."""
    if len(row) > len(shape.result_columns):
        raise MalformedFile(path, "more values than columns", place=f"results.{name}", next_step=_NEXT_STEP)
    columns = dict(zip(shape.result_columns, row, strict=False))
    parameters = columns.get("params") or []
    if not _is_lists(parameters):
        raise MalformedFile(path, "params is no list of lists", place=f"results.{name}", next_step=_NEXT_STEP)
    count = math.prod(map(len, parameters))
    if count > _COMBINATIONS_LIMIT:
        reason = f"{count} combinations of parameters, at most {_COMBINATIONS_LIMIT} are read"
        raise MalformedFile(path, reason, place=f"results.{name}", next_step=_NEXT_STEP)
    values = _per_combination(path, name, columns.get("result"), count)
    samples = _per_combination(path, name, columns.get("samples"), count)
    return [
        Point(
            benchmark=name,
            parameters=tuple(map(str, combination)),
            commit=shape.commit_hash,
            date=shape.date / 1000,
            environment=shape.env_name,
            version=str(columns.get("version") or ""),
            status=_status(value),
            value=float(value) if _status(value) is PointStatus.MEASURED else None,
            samples=tuple(map(float, taken)) if _is_numbers(taken) else (),
        )
        for combination, value, taken in zip(itertools.product(*parameters), values, samples, strict=True)
    ]


def _per_combination(path: Path, name: str, column: object, count: int) -> list[Any]:
    if column is None:
        return [None] * count
    if not isinstance(column, list) or len(column) != count:
        raise MalformedFile(
            path,
            f"expected {count} values, one per parameters",
            place=f"results.{name}",
            next_step=_NEXT_STEP,
        )
    return column


def _status(value: object) -> PointStatus:
    """Null is failed and NaN is skipped; infinity or text, which a `track_` may return, is no measurement."""
    if isinstance(value, float) and math.isnan(value):
        return PointStatus.SKIPPED
    return PointStatus.MEASURED if _is_numbers([value]) else PointStatus.FAILED


def _is_numbers(values: object) -> bool:
    """A list of numbers that a float can hold."""
    try:
        return isinstance(values, list) and all(
            isinstance(value, int | float) and math.isfinite(value) for value in values
        )
    except OverflowError:  # an integer beyond the largest float
        return False


def _is_lists(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, list) for value in values)


def _read_json(path: Path, version: int) -> dict[str, Any]:
    """A JSON object with asv's `version` field; asv writes NaN and Infinity, so this is Python's dialect."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise HistoryNotFound(path) from error
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise MalformedFile(path, reason, next_step="mend it or move it away") from error
    except json.JSONDecodeError as error:
        place = f"{error.lineno}:{error.colno}"
        raise MalformedFile(
            path, f"not JSON, perhaps truncated: {error.msg}", place=place, next_step=_NEXT_STEP
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, an integer of thousands of digits, too deep
        raise MalformedFile(path, "not a JSON file that asv writes", next_step=_NEXT_STEP) from error
    if not isinstance(found, dict) or "version" not in found:
        raise MalformedFile(path, "no asv file: `version` is missing", next_step=_NEXT_STEP)
    if found["version"] != version:
        raise UnsupportedSchema(path, _short(found["version"]), version)
    return found


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


def _convert(path: Path, value: object, kind: type[_T], *, place: str = "") -> _T:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError) as error:
        raise MalformedFile(path, str(error), place=place, next_step=_NEXT_STEP) from error
