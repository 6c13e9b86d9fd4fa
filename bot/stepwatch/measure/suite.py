"""What a suite offers: its benchmarks, found by asv's own discovery in a fresh process.

Each run discovers anew, so an edited suite is never measured under an old description. Discovery imports
the suite and no framework, so stepwatch's own Python can do it before any environment is built; a suite
that needs more falls back to the environments of the releases.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asv.benchmarks import Benchmarks
from asv.runner import BENCHMARK_RUN_SCRIPT

from stepwatch.errors import MalformedFile, UnknownBenchmark
from stepwatch.measure.children import run_tool
from stepwatch.measure.installer import clean_environment
from stepwatch.measure.scratch import scratch_folder
from stepwatch.measure.storage import storage_errors
from stepwatch.releases.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_DISCOVERY_TIMEOUT_SECONDS = 300.0
_DEFAULT_TIMEOUT_SECONDS = 900.0
_TRACK_PREFIX = "track_"
_TRACKS = ("jax", "torch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark as asv describes it."""

    name: str
    """`mlp.bench.JaxJit.track_step_cpu`."""
    description: dict[str, Any]
    """asv's own dictionary, as it stands in `benchmarks.json`."""

    @property
    def group(self) -> str:
        """Module and class: one `setup_cache`, one session."""
        return self.name.rpartition(".")[0]

    @property
    def metric(self) -> str:
        """The name after `track_`."""
        return self.name.rpartition(".")[2].removeprefix(_TRACK_PREFIX)

    @property
    def track(self) -> str:
        """The library it measures: its `track` attribute, else what its class is named after, else ""."""
        named = self.description.get("track")
        class_name = self.group.rpartition(".")[2].lower()
        return str(named or next((track for track in _TRACKS if class_name.startswith(track)), ""))

    @property
    def is_session_benchmark(self) -> bool:
        """Whether it reads one metric of a session: a `track_*` without parameters over a `setup_cache`."""
        described = self.description
        return bool(
            described.get("setup_cache_key")
            and not described.get("params")
            and self.name.rpartition(".")[2].startswith(_TRACK_PREFIX)
        )

    @property
    def timeout_seconds(self) -> float:
        """How long its `setup_cache` may take."""
        described = self.description
        timeout = described.get("setup_cache_timeout") or described.get("timeout")
        return float(timeout or _DEFAULT_TIMEOUT_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The benchmarks of one class: what one session measures."""

    name: str
    track: str
    benchmarks: tuple[Benchmark, ...]

    @property
    def timeout_seconds(self) -> float:
        """As asv: the longest of its benchmarks."""
        return max(benchmark.timeout_seconds for benchmark in self.benchmarks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A discovered suite."""

    folder: Path
    benchmarks: tuple[Benchmark, ...]

    def groups(self) -> dict[str, Group]:
        """The session groups by name, in name order."""
        found: dict[str, list[Benchmark]] = {}
        for benchmark in sorted(self.benchmarks, key=lambda b: b.name):
            if benchmark.is_session_benchmark:
                found.setdefault(benchmark.group, []).append(benchmark)
        return {
            name: Group(name=name, track=members[0].track, benchmarks=tuple(members))
            for name, members in found.items()
        }

    def select(self, patterns: Sequence[str], tracks: Iterable[str]) -> dict[str, Group]:
        """The groups of `tracks` with a benchmark that one of `patterns` (searched, as asv does) matches.

        Raises:
            UnknownBenchmark: a pattern is no regular expression, or selects nothing on these tracks.
        """
        wanted = set(tracks)
        groups = {name: group for name, group in self.groups().items() if group.track in wanted}
        chosen = matching_groups(groups.values(), patterns)
        return {name: group for name, group in groups.items() if name in chosen}


def matching_groups(groups: Iterable[Group], patterns: Sequence[str]) -> set[str]:
    """The names of the groups with a benchmark that one of `patterns` finds; all of them without a pattern.

    Raises:
        UnknownBenchmark: a pattern is no regular expression, or finds nothing.
    """
    names = sorted({benchmark.name for group in groups for benchmark in group.benchmarks})
    if not patterns:
        patterns = [""] if names else []
    chosen: set[str] = set()
    for pattern in patterns:
        try:
            matched = {name.rpartition(".")[0] for name in names if re.search(pattern, name)}
        except re.error as error:
            raise UnknownBenchmark(f"{pattern} (not a regular expression: {error})", names[:3]) from error
        if not matched:
            raise UnknownBenchmark(pattern, closest_benchmarks(pattern, names))
        chosen |= matched
    return chosen


def closest_benchmarks(pattern: str, names: Sequence[str]) -> list[str]:
    """Up to three names that look like `pattern`, whole or in one of their parts."""
    close = difflib.get_close_matches(pattern, names, n=3, cutoff=0.5)
    if close:
        return close
    parts = {part: name for name in reversed(names) for part in name.split(".")}
    return [parts[part] for part in difflib.get_close_matches(pattern, parts, n=3)] or list(names[:3])


def discover(folder: Path, pythons: Iterable[Path]) -> Suite:
    """Let asv's discovery describe the suite, with the first of `pythons` that can.

    Raises:
        MalformedFile: the suite cannot be imported by any of them; with the last line of the traceback.
        StorageFailed: the machine's temporary folder is full or cannot be written to.
    """
    reason = "no Python to import it with"
    for python in pythons:
        with scratch_folder() as scratch:
            found = scratch / "benchmarks.json"
            command = [python, BENCHMARK_RUN_SCRIPT, "discover", folder, found]
            try:
                done = run_tool(
                    command,
                    folder=scratch,
                    environment=clean_environment(os.environ),
                    timeout_seconds=_DISCOVERY_TIMEOUT_SECONDS,
                )
            except subprocess.TimeoutExpired:
                reason = f"importing it did not end within {_DISCOVERY_TIMEOUT_SECONDS:.0f} s"
                continue
            if done.returncode == 0:
                try:
                    return _suite(folder, json.loads(found.read_bytes()))
                except (OSError, ValueError, RecursionError):
                    reason = "importing it ended the process before its benchmarks were listed"
                    continue
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            reason = lines[-1] if lines else f"exit status {done.returncode}"
    raise MalformedFile(folder, f"the suite cannot be imported: {reason}")


def _suite(folder: Path, descriptions: list[dict[str, Any]]) -> Suite:
    benchmarks = tuple(Benchmark(name=one["name"], description=one) for one in descriptions)
    return Suite(folder=folder, benchmarks=benchmarks)


def save_benchmarks(suite: Suite, results: Path, *, only_new: bool = False) -> None:
    """Write `benchmarks.json` as `asv run` does (every benchmark of the suite, sorted, indented).

    With `only_new` what the file describes already stays as it is.

    Raises:
        MalformedFile: the file is there, is to be added to, and is not asv's.
        StorageFailed: no space or no permission.
    """
    described: dict[str, Any] = {benchmark.name: benchmark.description for benchmark in suite.benchmarks}
    if only_new:
        described |= _described(results / "benchmarks.json")
    text = json.dumps({**described, "version": Benchmarks.api_version}, indent=4, sort_keys=True)
    path = results / "benchmarks.json"
    with storage_errors(path):
        is_up_to_date = path.is_file() and path.read_bytes() == text.encode()
    if not is_up_to_date:
        write_atomically(path, text.encode())


def _described(path: Path) -> dict[str, Any]:
    """What `benchmarks.json` says, without its version; nothing where it is not there."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise MalformedFile(path, "not asv's benchmarks", next_step="remove it") from error
    if not isinstance(found, dict):
        raise MalformedFile(path, "not asv's benchmarks", next_step="remove it")
    return {name: entry for name, entry in found.items() if name != "version"}
