"""What a command line calls FILE, whatever it is: found out by its content, read into series."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepwatch.errors import DataError, HistoryNotFound, MalformedFile, UsageError
from stepwatch.history import google_benchmark, pytest_benchmark
from stepwatch.history.asv_files import CACHE_KIND, AsvFiles, left_out
from stepwatch.history.asv_history import read_history
from stepwatch.history.cache import Cache
from stepwatch.history.runs import build_series, load_json
from stepwatch.history.series_csv import read_csv
from stepwatch.history.series_jsonl import read_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stepwatch.history.runs import Run
    from stepwatch.units import Direction
    from stepwatch.verdict.series import Series

    Progress = Callable[[str, int, int | None], None]
    """Called with what is being counted, how many are done, and of how many."""

STANDARD_INPUT = "-"
_PEEK = 1 << 16
_LONGEST_LINE = 1 << 24
"""Bytes; a line of points is shorter, also one with the samples of many sessions."""


class Format(StrEnum):
    """What a history can be read from."""

    CSV = "csv"
    JSONL = "jsonl"
    PYTEST_BENCHMARK = "pytest-benchmark"
    GOOGLE_BENCHMARK = "google-benchmark"
    ASV = "asv"


_TEXT_READERS = {Format.CSV: read_csv, Format.JSONL: read_jsonl}
_RUN_READERS = {
    Format.PYTEST_BENCHMARK: pytest_benchmark.read_run,
    Format.GOOGLE_BENCHMARK: google_benchmark.read_run,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything that was read."""

    series: list[Series]
    notes: tuple[str, ...] = ()


def read_sources(
    paths: Sequence[str],
    kind: Format | None,
    *,
    better: Direction,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> History:
    """Read one history.

    Args:
        paths: one CSV or JSON Lines file (`-`: standard input), one asv directory, or any number of files
            and folders with runs of pytest-benchmark or Google Benchmark.
        kind: the format; None: found out.
        better: the direction of what names none.
        cache: where what was read of an asv directory is kept; None: nowhere.
        progress: told of long reading.

    Raises:
        HistoryNotFound: nothing is there.
        UsageError: several paths of a format that is one file, no path, or standard input as a file of runs.
        MalformedFile, UnsupportedSchema: it is not what it should be.
    """
    first = paths[0]
    _usable(paths, kind)
    if first != STANDARD_INPUT and Path(first).is_dir():
        kind = kind or _format_of_folder(Path(first))
    if kind is Format.ASV:
        _only_one(kind, paths)
        kept = Cache(cache and cache / "points", CACHE_KIND, AsvFiles)
        series, notes = read_history(Path(first), kept, _counted("files", progress))
        return History(series=series, notes=notes)
    if kind not in _RUN_READERS:
        with _opened(first) as stream:
            label = "standard input" if first == STANDARD_INPUT else first
            kind = kind or _format_of_text(stream, first, label)
            if kind in _TEXT_READERS:
                _only_one(kind, paths)
                points = None if progress is None else _points(progress)
                return History(series=_TEXT_READERS[kind](stream, label, better=better, progress=points))
    runs, faults = _runs(paths, _RUN_READERS[kind])
    series = build_series(runs, better=better)
    if not series:
        raise HistoryNotFound(first, "no run has a benchmark in it")
    return History(series=series, notes=left_out(faults))


def _runs(paths: Sequence[str], read: Callable[[Path], Run]) -> tuple[list[Run], list[DataError]]:
    """The runs in some files and folders; of a folder, what cannot be read is left out if anything can."""
    runs: list[Run] = []
    faults: list[DataError] = []
    for path in map(Path, paths):
        for file in _run_files(path):
            try:
                runs.append(read(file))
            except DataError as error:
                if not path.is_dir():
                    raise
                faults.append(error)
    if not runs:
        raise faults[0]
    return runs, faults


def _usable(paths: Sequence[str], kind: Format | None) -> None:
    if "" in paths:  # which would be this folder; more likely a variable is not set
        raise UsageError("an empty FILE; give a file or a directory, `.` for this one")
    if STANDARD_INPUT in paths and kind is not None and kind not in _TEXT_READERS:
        raise UsageError(f"standard input is {' or '.join(_TEXT_READERS)}; give {kind} as files")


def _only_one(kind: Format, paths: Sequence[str]) -> None:
    if len(paths) > 1:
        raise UsageError(f"{kind} is one file or directory; {len(paths)} were given")


def _format_of_folder(folder: Path) -> Format:
    """The format of a directory, by what is in it."""
    if any((folder / name).is_file() for name in ("machine.json", "benchmarks.json")):
        return Format.ASV
    if any(folder.glob("*/machine.json")):
        return Format.ASV
    files = _run_files(folder)
    for file in files:
        with contextlib.suppress(DataError):
            return _tool_of(file)
    return _tool_of(files[0])


def _format_of_text(stream: io.BufferedReader[Any], path: str, label: str) -> Format:
    """The format of a file, by how it begins."""
    start = stream.peek(_PEEK)[:_PEEK].removeprefix(codecs.BOM_UTF8).lstrip()
    if b"\0" in start:
        raise MalformedFile(
            label, "a binary file", next_step="give CSV, JSON Lines, or a benchmark tool's JSON"
        )
    if not start.startswith((b"{", b"[")):
        return Format.CSV
    if path == STANDARD_INPUT or not stream.seekable():  # a pipe cannot be read twice, as runs are
        return Format.JSONL
    stream.seek(stream.peek(_PEEK)[:_PEEK].find(start[:1]))
    first_line = stream.readline(_LONGEST_LINE)
    stream.seek(0)
    with contextlib.suppress(ValueError, RecursionError):
        if "series" in json.loads(first_line):
            return Format.JSONL
    return _tool_of(Path(path))


def _tool_of(path: Path) -> Format:
    """Which tool wrote a JSON file."""
    found: Any = load_json(path)
    if isinstance(found, dict) and isinstance(found.get("benchmarks"), list):
        if "context" in found:
            return Format.GOOGLE_BENCHMARK
        if found.keys() & {"machine_info", "commit_info", "datetime"}:
            return Format.PYTEST_BENCHMARK
    raise MalformedFile(
        path, "JSON of no known tool", next_step=f"say what it is with --format {'|'.join(Format)}"
    )


def _run_files(path: Path) -> list[Path]:
    """The files of a tool's runs at or below `path`."""
    if not path.is_dir():
        return [path]
    files = sorted(path.rglob("*.json"))
    if not files:
        raise HistoryNotFound(path, "give a results folder of asv, or one with a benchmark tool's JSON files")
    return files


@contextlib.contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader[Any]]:
    """The bytes of a file; standard input stays open."""
    if path == STANDARD_INPUT:
        stream: io.BufferedReader[Any] = io.BufferedReader(sys.stdin.buffer, _PEEK)
        try:
            yield stream
        finally:
            stream.detach()
        return
    try:
        file = io.BufferedReader(io.FileIO(path), _PEEK)
    except FileNotFoundError as error:
        raise HistoryNotFound(path, "give a file or a directory that exists") from error
    except OSError as error:
        raise MalformedFile(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    with file:
        yield file


def _counted(what: str, progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(what, done, total)


def _points(progress: Progress) -> Callable[[int], None]:
    return lambda done: progress("points", done, None)
