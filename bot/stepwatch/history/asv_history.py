"""A whole asv results directory, of any project, as series in the order of time.

A series is what asv would draw as one line: one benchmark, one combination of parameters, one machine (as the
files describe it), one environment, one version of the benchmark. When any of these changes, another series
begins; a step between them is never a regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from stepwatch.errors import HistoryNotFound
from stepwatch.history.asv_files import read_files
from stepwatch.history.asv_results import OTHER_FILES, BenchmarkInfo, read_benchmarks
from stepwatch.history.building import parse_unit
from stepwatch.history.runs import digest
from stepwatch.units import Direction
from stepwatch.verdict.series import Series

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stepwatch.history.asv_files import AsvFiles, Progress, RowKey
    from stepwatch.history.cache import Cache
    from stepwatch.verdict.series import Floats

    Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One series before it has a name."""

    key: RowKey
    machine: str
    environment: str
    description: str
    files: Indices
    """Which files its points come from, oldest commit first."""
    values: Floats


def read_history(
    folder: Path, cache: Cache[AsvFiles], progress: Progress | None = None
) -> tuple[list[Series], tuple[str, ...]]:
    """Read a results directory, or the folder of one machine in it.

    Args:
        folder: asv's `results_dir`, or a machine's folder below it.
        cache: of this folder.
        progress: told of every file that is read anew.

    Returns:
        The series by name, and notes on what was left out. Series of one machine and environment carry the
        benchmark's name with its parameters, else `machine/environment/` comes first. Where a benchmark's
        version or the machine's description changed, the newest series has the name and the others end with
        `#` and a digest.

    Raises:
        HistoryNotFound: no result file here, or none with a benchmark in it.
        MalformedFile, UnsupportedSchema: no result file, or `benchmarks.json`, can be read.
    """
    results, machines = _machines(folder)
    found, notes = read_files(results, machines, cache, progress)
    commits = [file.commit for file in found.files]
    dates = np.array([file.date for file in found.files])
    known = read_benchmarks(results)
    lines = _lines(found)
    if not lines:
        raise HistoryNotFound(results, "its result files hold no benchmark; run `asv run` first")
    many = len({(line.machine, line.environment) for line in lines}) > 1
    series = []
    for name, line in _named(lines, dates, with_place=many):
        info = known.get(line.key.benchmark, BenchmarkInfo(name=name))
        series.append(_series(name, line, info, commits, dates))
    return sorted(series, key=lambda one: one.name), notes


def _machines(folder: Path) -> tuple[Path, list[str]]:
    """The results folder and the machines in it that have results."""
    if (folder / "machine.json").is_file():
        return folder.parent, [folder.name]
    if not folder.is_dir():
        raise HistoryNotFound(folder, "give a results folder of asv")
    machines = [
        path.name
        for path in sorted(folder.iterdir())
        if path.is_dir() and any(file.name not in OTHER_FILES for file in path.glob("*.json"))
    ]
    return folder, machines


def _lines(found: AsvFiles) -> list[_Line]:
    """Split all values at once: sorted by series, then by time."""
    files = found.files
    order = sorted(range(len(files)), key=lambda index: (files[index].date, files[index].commit))
    places: dict[tuple[str, str, int], int] = {}
    keys = [np.frombuffer(files[index].keys, dtype=np.int32) for index in order]
    owner = np.repeat(np.array(order, dtype=np.intp), [len(one) for one in keys])
    place_of = np.array(
        [
            places.setdefault((file.machine, file.environment, file.description), len(places))
            for file in files
        ],
        dtype=np.int64,
    )
    values = np.concatenate([np.frombuffer(files[index].values, dtype=np.float64) for index in order])
    codes = place_of[owner] * max(len(found.keys), 1) + np.concatenate(keys)
    by_code = np.argsort(codes, kind="stable")
    if not by_code.size:
        return []
    unique, starts = np.unique(codes[by_code], return_index=True)
    named = list(places)
    lines = []
    for code, taken in zip(unique.tolist(), np.split(by_code, starts[1:]), strict=True):
        place, key = divmod(code, max(len(found.keys), 1))
        machine, environment, description = named[place]
        lines.append(
            _Line(
                key=found.keys[key],
                machine=machine,
                environment=environment,
                description=found.descriptions[description],
                files=owner[taken],
                values=values[taken],
            )
        )
    return lines


def _named(lines: list[_Line], dates: Floats, *, with_place: bool) -> list[tuple[str, _Line]]:
    """Every line with a name of its own; the newest of those that share one keeps it as it is."""
    sharing: dict[str, list[_Line]] = {}
    for line in lines:
        parameters = f"({', '.join(line.key.parameters)})" if line.key.parameters else ""
        place = f"{line.machine}/{line.environment}/" if with_place else ""
        sharing.setdefault(f"{place}{line.key.benchmark}{parameters}", []).append(line)
    named = []
    for name, group in sharing.items():
        group.sort(key=lambda line: (dates[line.files[-1]], line.key.version, line.description), reverse=True)
        named.append((name, group[0]))
        named += [
            (f"{name}#{digest(f'{older.key.version}|{older.description}')}", older) for older in group[1:]
        ]
    return named


def _series(name: str, line: _Line, info: BenchmarkInfo, commits: Sequence[str], dates: Floats) -> Series:
    unit = parse_unit(info.unit)
    values = line.values * unit.scale
    impossible = values <= unit.above
    odd = int(np.count_nonzero(impossible))
    if odd:
        values = np.where(impossible, np.nan, values)
    return Series(
        name=name,
        revisions=_Picked(commits, line.files),
        values=values,
        dates=dates[line.files],
        unit=unit.name,
        better=Direction(info.better),
        exact=info.exact or unit.exact,
        notes=(f"{odd} of {len(values)} values are impossible ({unit.rule}): missing",) if odd else (),
    )


class _Picked(Sequence[str]):
    """Some of a list's strings, looked up when asked for."""

    __slots__ = ("_all", "_places")

    def __init__(self, everything: Sequence[str], places: Indices) -> None:
        self._all = everything
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._all[place] for place in self._places[index].tolist()]
        return self._all[int(self._places[index])]
