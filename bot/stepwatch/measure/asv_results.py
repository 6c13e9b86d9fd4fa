"""asv result files as a pure function of the session sidecars.

The rows of a release's session benchmarks hold the samples of all its finished sessions, in the order they
were measured, through asv's own `Results`: the file is what `asv run --append-samples --record-samples`
would have written, without asv's trap that a failed session erases earlier samples. Rows of other
benchmarks are kept. A file that cannot be read is never overwritten.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asv import util
from asv.config import Config as AsvConfig
from asv.environment import get_env_name
from asv.machine import Machine
from asv.plugins.git import Git
from asv.repo import NoSuchNameError
from asv.results import Results, get_filename
from asv.runner import BenchmarkResult

from stepwatch.errors import HistoryNotFound, MalformedFile, UnknownRelease, UsageError
from stepwatch.measure.storage import storage_errors
from stepwatch.releases.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stepwatch.measure.suite import Benchmark, Group
    from stepwatch.model import RecordedSession

UNREADABLE = (
    *(util.UserError, OSError, LookupError, TypeError, ValueError, AttributeError),
    RecursionError,  # JSON that is nested deeper than Python reads
)
"""What asv's readers raise on a file that is not what it should be."""
ENVIRONMENT_TYPE = "release"
MACHINE_FILE = "machine.json"
_MOVE_AWAY = "move it away and run the same command again: it is rebuilt from the session sidecars"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A release as asv's axis knows it."""

    release: str
    commit: str
    date_ms: int
    """Author date of the commit, milliseconds since 1970 (asv's own unit)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFiles:
    """The asv files of one machine."""

    results: Path
    """The results folder, above all machines."""
    machine: str
    python: str
    """What asv puts in the place of a Python version: one constant, so that one line serves all."""

    @property
    def env_name(self) -> str:
        """The environment as asv names it."""
        return str(get_env_name(ENVIRONMENT_TYPE, self.python, {}, {}))

    def path_of(self, revision: Revision) -> Path:
        """Where the rows of a release lie."""
        return self.results / str(get_filename(self.machine, revision.commit, self.env_name))

    def check(self, revision: Revision) -> None:
        """Read the file of a release, if there is one.

        Raises:
            MalformedFile: it cannot be read as asv results.
        """
        self._load(revision, {"machine": self.machine})

    def write(
        self, revision: Revision, groups: Mapping[str, Group], sessions: Sequence[RecordedSession]
    ) -> None:
        """Bring the rows of the groups that have a session up to date.

        Args:
            revision: the release.
            groups: the suite's groups by name.
            sessions: all finished sessions of the release, from every sidecar, in any order.

        Raises:
            MalformedFile: the file that is there cannot be read; it is left alone.
            StorageFailed: no space or no permission; the old file is left alone.
        """
        by_group: dict[str, list[RecordedSession]] = {}
        for session in sorted(sessions, key=lambda s: (s.record.started_at, s.place.session)):
            by_group.setdefault(session.record.benchmark, []).append(session)
        rows = self._load(revision, read_machine(self.results, self.machine))
        before = self.path_of(revision).read_bytes() if self.path_of(revision).is_file() else b""
        for name, members in by_group.items():
            if name in groups:
                for benchmark in groups[name].benchmarks:
                    _set_row(rows, benchmark, members)
        data = _as_bytes(rows)
        if data != before:
            write_atomically(self.path_of(revision), data)

    def _load(self, revision: Revision, machine: Mapping[str, str]) -> Results:
        rows = Results(
            dict(machine, python=self.python),
            {},
            revision.commit,
            revision.date_ms,
            self.python,
            self.env_name,
            {},
        )
        path = self.path_of(revision)
        try:
            rows.load_data(str(self.results))
        except UNREADABLE as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise MalformedFile(path, f"not asv results: {reason}", next_step=_MOVE_AWAY) from error
        return rows


def _set_row(rows: Results, benchmark: Benchmark, sessions: Sequence[RecordedSession]) -> None:
    """Replace the row of one benchmark by the samples of `sessions` (asv's NaN if none measured it)."""
    measured = [s for s in sessions if benchmark.metric in s.record.metrics]
    samples = [x for s in measured for x in s.record.metrics[benchmark.metric].samples]
    last = (measured or sessions)[-1].record
    outcome = BenchmarkResult(
        result=[True if samples else math.nan],
        samples=[samples or None],
        number=[1 if samples else None],
        errcode=0,
        stderr="",
        profile=None,
    )
    rows.add_result(
        benchmark.description,
        outcome,
        started_at=dt.datetime.fromtimestamp(last.started_at, dt.UTC),
        record_samples=True,
    )
    rows.set_setup_cache_duration(benchmark.description["setup_cache_key"], last.wall_seconds)


def _as_bytes(rows: Results) -> bytes:
    """What asv's own `save` writes, without its write in place."""
    with tempfile.TemporaryDirectory(prefix="stepwatch-asv-") as folder, storage_errors(Path(folder)):
        rows.save(folder)
        (saved,) = Path(folder).rglob("*.json")
        return saved.read_bytes()


def freeze_machine(
    results: Path, machine: str, extra: Mapping[str, str], *, earlier: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Write `machine.json` once; later calls only check it, so that a new kernel does not split a line.

    What is lost (plain asv writes the file anew without our fields) or damaged comes back.

    Args and Raises: as `describe_machine`.
    """
    path = results / machine / MACHINE_FILE
    described = describe_machine(results, machine, extra, earlier=earlier)
    if described != _known_machine(path):
        write_atomically(path, _machine_bytes(described))
    return described


def describe_machine(
    results: Path, machine: str, extra: Mapping[str, str], *, earlier: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What `machine.json` has to say; writes nothing.

    Args:
        results: the results folder.
        machine: the machine's name.
        extra: accelerator, size and device: with the name they are the machine class.
        earlier: the class of the sessions on disk; stands in for what the file does not say.

    Raises:
        UsageError: this machine name stands for another accelerator, size or device.
        MalformedFile: the file that is there describes another machine, or is of another asv.
    """
    path = results / machine / MACHINE_FILE
    known = None if _known_machine(path) is None else read_machine(results, machine)
    described = {**(earlier or {}), **(known or {**Machine.get_defaults(), "machine": machine})}
    for key, value in extra.items():
        if described.setdefault(key, value) != value:
            raise UsageError(
                f"{path}: this machine has {key} {described[key]!r}, not {value!r}; "
                "give another --machine name"
            )
    return described


def _known_machine(path: Path) -> dict[str, str] | None:
    """The fields that are on disk, whatever they say; None: there is no file, or it is no JSON object."""
    try:
        fields = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MalformedFile(path, error.strerror or str(error), next_step="move it away") from error
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    return {str(key): str(value) for key, value in fields.items() if key != "version"}


def read_machine(results: Path, machine: str) -> dict[str, str]:
    """The fields of a machine, as result rows carry them.

    Raises:
        MalformedFile: the file is not there, or is no asv machine file of this name.
    """
    path = results / machine / MACHINE_FILE
    try:
        fields = util.load_json(str(path), Machine.api_version)
    except FileNotFoundError as error:
        next_step = "`stepwatch measure` on this machine writes it anew"
        raise MalformedFile(path, "is missing", next_step=next_step) from error
    except (util.UserError, OSError, TypeError, ValueError, RecursionError) as error:
        raise MalformedFile(path, "not a machine file of asv", next_step="move it away") from error
    if not isinstance(fields, dict) or fields.get("machine") != machine:
        raise MalformedFile(path, f"does not describe machine {machine!r}", next_step="move it away")
    return {str(key): str(value) for key, value in fields.items()}


def _machine_bytes(fields: Mapping[str, str]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="stepwatch-asv-") as folder, storage_errors(Path(folder)):
        path = Path(folder) / MACHINE_FILE
        util.write_json(str(path), dict(fields), Machine.api_version)
        return path.read_bytes()


def read_revisions(history_repo: Path, releases: Iterable[str]) -> dict[str, Revision]:
    """Look releases up in the release-history repository by name (`jax/0.4.31`).

    Raises:
        HistoryNotFound: there is no such repository.
        UnknownRelease: the repository has no such release.
    """
    if not Git.is_local_repo(str(history_repo)):
        raise HistoryNotFound(history_repo, "run `stepwatch releases sync` first")
    repo = Git(str(history_repo), str(history_repo))
    found = {}
    for release in releases:
        try:
            commit = repo.get_hash_from_name(release)
        except (NoSuchNameError, util.ProcessError) as error:
            raise UnknownRelease(release) from error
        found[release] = Revision(release=release, commit=commit, date_ms=repo.get_date(commit))
    return found


def asv_settings(path: Path) -> Any:
    """What asv itself makes of `asv.conf.json`.

    Raises:
        MalformedFile: asv cannot read it.
    """
    try:
        return AsvConfig.load(str(path))
    except (util.UserError, ValueError) as error:
        raise MalformedFile(path, " ".join(str(error).split())) from error
