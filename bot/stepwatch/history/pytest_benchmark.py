"""The JSON that pytest-benchmark saves: one file per run (`--benchmark-autosave`, `--benchmark-json`).

The value of a point is the median of a run's rounds. The rounds themselves share a process, so they are no
evidence about the next process and are not passed on as samples.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import msgspec

from stepwatch.errors import MalformedFile
from stepwatch.history.runs import Run, load_json, parse_time

if TYPE_CHECKING:
    from pathlib import Path


class _Stats(msgspec.Struct, frozen=True, kw_only=True):
    median: float | None = None
    data: list[float] = []


class _Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    fullname: str
    stats: _Stats


class _File(msgspec.Struct, frozen=True, kw_only=True):
    benchmarks: list[_Benchmark]
    datetime: str
    commit_info: dict[str, Any] = {}
    machine_info: dict[str, Any] = {}


def read_run(path: Path) -> Run:
    """Read the file of one run.

    Raises:
        HistoryNotFound: no such file.
        MalformedFile: not JSON, or not what pytest-benchmark writes; names the place.
    """
    try:
        found = msgspec.convert(load_json(path), _File)
    except msgspec.ValidationError as error:
        raise MalformedFile(path, f"not pytest-benchmark's: {error}") from error
    return Run(
        revision=str(found.commit_info.get("id") or path.stem),
        when=parse_time(path, found.datetime, "datetime"),
        machine=_machine(found.machine_info),
        values={benchmark.fullname: _value(benchmark.stats) for benchmark in found.benchmarks},
    )


def _value(stats: _Stats) -> float | None:
    return statistics.median(stats.data) if stats.data else stats.median


def _machine(info: dict[str, Any]) -> str:
    """Hardware and interpreter; not the host name, which hosted runners draw anew for each run."""
    cpu = info.get("cpu")
    cpu = cpu if isinstance(cpu, dict) else {}
    python = ".".join(str(info.get("python_version", "")).split(".")[:2])
    parts = [info.get("machine"), info.get("system"), info.get("python_implementation"), python]
    parts += [cpu.get("brand_raw") or cpu.get("brand"), cpu.get("count")]
    return "|".join(map(str, parts))
