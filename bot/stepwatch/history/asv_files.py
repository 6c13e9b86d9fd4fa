"""Every result file of a directory in columns, each read once: the next run reads only what changed.

A file is known again by its folder, name, size and time of change (nanoseconds). Per file two arrays are
kept, the keys of its rows and their values; keys and machine descriptions are stored once for all files.
"""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from stepwatch.errors import DataError, HistoryNotFound
from stepwatch.history.asv_format import decode_rows, read_bytes
from stepwatch.history.asv_results import OTHER_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from stepwatch.history.asv_format import Rows
    from stepwatch.history.cache import Cache

    Progress = Callable[[int, int], None]
    """Called with the number of files read so far, and of all that must be read."""


class RowKey(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a value belongs to, apart from the commit, the machine and the environment."""

    benchmark: str
    parameters: tuple[str, ...]
    """Python literals, as asv writes them (`'gpt'` with its quotes)."""
    version: str


class FileColumns(msgspec.Struct, frozen=True, array_like=True):
    """One result file."""

    machine: str
    """Name of the folder."""
    name: str
    size: int
    mtime_ns: int
    commit: str
    date: float
    """Of the commit, Unix time, seconds."""
    environment: str
    description: int
    """Index of the machine's description among `AsvFiles.descriptions`."""
    keys: bytes
    """int32 indices into `AsvFiles.keys`, one per value."""
    values: bytes
    """float64, NaN where nothing was measured."""


class AsvFiles(msgspec.Struct, frozen=True, array_like=True):
    """All files, and the tables their indices lead to."""

    keys: list[RowKey]
    descriptions: list[str]
    files: list[FileColumns]


CACHE_KIND = "asv result files 1"


def read_files(
    results: Path, machines: Iterable[str], cache: Cache[AsvFiles], progress: Progress | None = None
) -> tuple[AsvFiles, tuple[str, ...]]:
    """The files of some machines, from the cache where they are unchanged; the cache is brought up to date.

    Args:
        results: asv's results folder.
        machines: names of folders in it.
        cache: what an earlier call has read of the same folder.
        progress: told of every file that is read anew.

    Returns:
        The files, and notes on those that cannot be read (they are left out).

    Raises:
        HistoryNotFound: there is no result file.
        MalformedFile, UnsupportedSchema: none of them can be read; of the first one.
    """
    present = [entry for machine in machines for entry in _entries(results, machine)]
    known = _checked(cache.load())
    tables = _Tables(known)
    old = {(file.machine, file.name, file.size, file.mtime_ns): file for file in known.files}
    files: list[FileColumns] = []
    faults: list[DataError] = []
    fresh = sum(entry not in old for entry in present)
    for machine, name, size, mtime_ns in present:
        file = old.get((machine, name, size, mtime_ns))
        if file is None:
            path = results / machine / name
            try:
                rows = decode_rows(path, read_bytes(path))
                file = tables.columns_of(rows, machine=machine, name=name, size=size, mtime_ns=mtime_ns)
            except DataError as error:
                faults.append(error)
                continue
            if progress is not None:
                progress(tables.added, fresh)
        files.append(file)
    if not files:
        raise faults[0] if faults else HistoryNotFound(results, "give a results folder of asv")
    found = AsvFiles(keys=tables.keys, descriptions=tables.descriptions, files=files)
    if tables.added or len(files) < len(known.files):
        cache.save(found)
    return found, left_out(faults)


def _entries(results: Path, machine: str) -> Iterator[tuple[str, str, int, int]]:
    """Folder, name, size and time of change of every result file of a machine, by name."""
    with os.scandir(results / machine) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".json") and entry.name not in OTHER_FILES and entry.is_file():
            status = entry.stat()
            yield machine, entry.name, status.st_size, status.st_mtime_ns


def _checked(known: AsvFiles | None) -> AsvFiles:
    """What a cache holds, without files whose columns do not fit together."""
    if known is None:
        return AsvFiles([], [], [])
    return AsvFiles(known.keys, known.descriptions, [file for file in known.files if _fits(known, file)])


def _fits(known: AsvFiles, file: FileColumns) -> bool:
    if len(file.keys) % 4 or len(file.keys) * 2 != len(file.values):
        return False
    keys = np.frombuffer(file.keys, dtype=np.int32)
    within = not len(keys) or (keys.min() >= 0 and keys.max() < len(known.keys))
    return bool(within) and 0 <= file.description < len(known.descriptions)


class _Tables:
    """Gives every key and description its index; a benchmark's keys are looked up all at once."""

    def __init__(self, known: AsvFiles) -> None:
        self.keys = list(known.keys)
        self.descriptions = list(known.descriptions)
        self.added = 0
        """Files turned into columns."""
        self._key_index = {key: index for index, key in enumerate(self.keys)}
        self._description_index = {text: index for index, text in enumerate(self.descriptions)}
        self._of_row: dict[tuple[str, str, tuple[tuple[str, ...], ...]], list[int]] = {}

    def columns_of(self, rows: Rows, *, machine: str, name: str, size: int, mtime_ns: int) -> FileColumns:
        """A decoded file as two arrays."""
        keys: list[int] = []
        values: list[float | None] = []
        for benchmark, row in rows.results.items():
            indices = self._indices(benchmark, row.version or "", tuple(map(tuple, row.parameters)))
            keys += indices
            values += row.result if row.result is not None else [None] * len(indices)
        self.added += 1
        return FileColumns(
            machine=machine,
            name=name,
            size=size,
            mtime_ns=mtime_ns,
            commit=rows.commit_hash,
            date=rows.date / 1000,
            environment=rows.env_name,
            description=self._describe(rows),
            keys=np.array(keys, dtype=np.int32).tobytes(),
            values=np.array(values, dtype=np.float64).tobytes(),
        )

    def _indices(self, benchmark: str, version: str, parameters: tuple[tuple[str, ...], ...]) -> list[int]:
        row = (benchmark, version, parameters)
        found = self._of_row.get(row)
        if found is None:
            found = self._of_row[row] = [
                self._index(RowKey(benchmark, chosen, version)) for chosen in itertools.product(*parameters)
            ]
        return found

    def _index(self, key: RowKey) -> int:
        index = self._key_index.setdefault(key, len(self.keys))
        if index == len(self.keys):
            self.keys.append(key)
        return index

    def _describe(self, rows: Rows) -> int:
        """The index of the file's machine, Python and requirements; asv draws one line per such set."""
        text = json.dumps(rows.params, sort_keys=True)
        index = self._description_index.setdefault(text, len(self.descriptions))
        if index == len(self.descriptions):
            self.descriptions.append(text)
        return index


def left_out(faults: list[DataError]) -> tuple[str, ...]:
    """A note on files that could not be read; none where all could."""
    if not faults:
        return ()
    number = "1 file" if len(faults) == 1 else f"{len(faults)} files"
    return (f"{number} left out; {'' if len(faults) == 1 else 'the first: '}{faults[0]}",)
