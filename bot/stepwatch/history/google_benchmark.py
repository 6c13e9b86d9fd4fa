"""The JSON of Google Benchmark: one file per run (`--benchmark_out=FILE --benchmark_out_format=json`).

The value of a point is the median real time of a run's repetitions. The repetitions share a process, so they
are no evidence about the next process and are not passed on as samples. Where only aggregates were written,
the median among them counts. The revision is the context's `commit` or `revision` (given to the benchmark as
`--benchmark_context=commit=...`), else the file's name.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from stepwatch.errors import MalformedFile
from stepwatch.history.runs import Run, load_json, parse_time

if TYPE_CHECKING:
    from pathlib import Path

_SCALES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_REVISION_KEYS = ("commit", "revision", "git_commit", "commit_id")


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    run_name: str = ""
    run_type: str = "iteration"
    aggregate_name: str = ""
    real_time: float | None = None
    time_unit: str = "ns"
    error_occurred: bool = False
    skipped: bool = False


class _File(msgspec.Struct, frozen=True, kw_only=True):
    context: dict[str, Any]
    benchmarks: list[_Entry]


def read_run(path: Path) -> Run:
    """Read the file of one run.

    Raises:
        HistoryNotFound: no such file.
        MalformedFile: not JSON, or not what Google Benchmark writes; names the place.
    """
    try:
        found = msgspec.convert(load_json(path), _File)
    except msgspec.ValidationError as error:
        raise MalformedFile(path, f"not Google Benchmark's: {error}") from error
    context = found.context
    revision = next((context[key] for key in _REVISION_KEYS if context.get(key)), path.stem)
    return Run(
        revision=str(revision),
        when=parse_time(path, str(context.get("date", "")), "context.date"),
        # Neither the host name, which hosted runners draw anew, nor the clock rate, which varies.
        machine="|".join(str(context.get(key)) for key in ("num_cpus", "caches", "library_build_type")),
        values=_values(path, found.benchmarks),
    )


def _values(path: Path, entries: list[_Entry]) -> dict[str, float | None]:
    """Benchmark -> median seconds; None where every repetition failed."""
    measured: dict[str, list[float]] = defaultdict(list)
    medians: dict[str, float] = {}
    for entry in entries:
        name = entry.run_name or entry.name
        seconds = _seconds(path, entry)
        if entry.run_type == "iteration":
            measured[name] += [] if seconds is None else [seconds]
        elif entry.aggregate_name == "median" and seconds is not None:
            medians[name] = seconds
    found: dict[str, float | None] = {
        name: statistics.median(values) if values else None for name, values in measured.items()
    }
    return medians | found


def _seconds(path: Path, entry: _Entry) -> float | None:
    if entry.error_occurred or entry.skipped or entry.real_time is None:
        return None
    if entry.time_unit not in _SCALES:
        raise MalformedFile(path, f"unknown time_unit {entry.time_unit[:20]!r}", place=entry.name[:80])
    return entry.real_time * _SCALES[entry.time_unit]
