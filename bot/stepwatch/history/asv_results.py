"""Reading asv's result files ourselves, strictly: points, no asv code.

asv's own reader fails on a truncated file with a traceback, keeps parallel dictionaries keyed by one name
and cannot say which line is wrong. This one names the file and the place of every fault, and an oracle test
compares it with asv's. Whole directories as series: `asv_history`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from stepwatch.history.asv_format import (
    check_count,
    combinations,
    convert,
    decode_json,
    decode_result,
    is_number,
    read_bytes,
    row_columns,
)

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.history.asv_format import ResultShape

BENCHMARKS_VERSION = 2
MACHINE_VERSION = 1
OTHER_FILES = frozenset({"machine.json", "benchmarks.json"})
"""JSON files among the results that hold none."""


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


def read_result_file(path: Path) -> ResultFile:
    """Read one asv result file.

    Raises:
        HistoryNotFound: no such file.
        MalformedFile: truncated, or not what asv writes; names the place.
        UnsupportedSchema: a version of the format other than 2.
    """
    shape = decode_result(path, read_bytes(path))
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
    paths = [path for path in (results / machine).glob("*.json") if path.name not in OTHER_FILES]
    return tuple(read_result_file(path) for path in sorted(paths))


def read_benchmarks(results: Path) -> dict[str, BenchmarkInfo]:
    """The suite's benchmarks as asv discovered them; empty when there is no `benchmarks.json` yet."""
    path = results / "benchmarks.json"
    if not path.exists():
        return {}
    entries = decode_json(path, read_bytes(path), BENCHMARKS_VERSION)
    return {
        name: convert(path, entry, BenchmarkInfo, place=name)
        for name, entry in entries.items()
        if name != "version"
    }


def read_machine(results: Path, machine: str) -> dict[str, Any]:
    """`machine.json` of one machine: asv's fields and our own."""
    path = results / machine / "machine.json"
    return decode_json(path, read_bytes(path), MACHINE_VERSION)


def _points(path: Path, shape: ResultShape, name: str, row: list[Any]) -> list[Point]:
    """The points of one benchmark, one per combination of parameters."""
    columns = row_columns(path, shape, name, row)
    parameters = columns.get("params") or []
    count = combinations(path, name, parameters)
    values = check_count(path, name, columns.get("result"), count)
    samples = check_count(path, name, columns.get("samples"), count)
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
            samples=_samples(taken),
        )
        for combination, value, taken in zip(itertools.product(*parameters), values, samples, strict=True)
    ]


def _status(value: object) -> PointStatus:
    """Null is failed and NaN is skipped; infinity or text, which a `track_` may return, is no measurement."""
    if isinstance(value, float) and math.isnan(value):
        return PointStatus.SKIPPED
    return PointStatus.MEASURED if is_number(value) else PointStatus.FAILED


def _samples(taken: object) -> tuple[float, ...]:
    """The samples behind a value; empty where asv did not record them as a list of numbers."""
    if not isinstance(taken, list) or not all(map(is_number, taken)):
        return ()
    return tuple(map(float, taken))
