"""`stepwatch releases sync`: index -> tables -> release-history repository -> locks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from stepwatch.errors import EnvironmentFailed, IndexUnavailable
from stepwatch.releases.discovery import choose_python, discover, read_index
from stepwatch.releases.files import only_one, storage_failed, write_atomically
from stepwatch.releases.history_repo import ensure_history
from stepwatch.releases.lock_resolution import resolve_locks
from stepwatch.releases.locks import lock_path
from stepwatch.releases.table import append_releases, load_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from stepwatch.config import Config, Track
    from stepwatch.model import Release
    from stepwatch.releases.discovery import OnIndex
    from stepwatch.releases.history_repo import History
    from stepwatch.releases.index import PackageIndex
    from stepwatch.releases.lock_resolution import ResolvedLocks
    from stepwatch.releases.uv import Resolver

_RESOLUTIONS_AT_ONCE = 2
"""Gentle on the index, and enough: resolving is mostly waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where new knowledge comes from."""

    index: PackageIndex
    resolver: Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """What a sync did."""

    releases: tuple[str, ...]
    """Names of the releases that were added to a table."""
    locks: tuple[Path, ...]
    """Locks that were written."""
    history: History
    notes: tuple[str, ...]
    """What was left out, or could not be asked; one line each."""


def sync_offline(config: Config) -> SyncResult:
    """Bring the release-history repository to what the tables say, asking nobody; the notes say so.

    Raises:
        MalformedFile: a table or the repository is damaged.
        StorageFailed: no space, no permission.
    """
    tables = load_tables(config.releases, [track.package for track in config.tracks])
    history = ensure_history(config.history_repo, tables)
    notes = [history.note] if history.note else []
    notes += [
        f"offline: no index was asked; going on with the {len(history.commits)} releases that are known"
    ]
    for track in config.tracks:
        missing = unlocked_releases(config, track, tables[track.package])
        if missing:
            notes.append(_no_locks_note(track, missing))
    return SyncResult(releases=(), locks=(), history=history, notes=tuple(notes))


def sync(
    config: Config,
    sources: Sources,
    *,
    packages: Sequence[str] = (),
    with_locks: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> SyncResult:
    """Extend the tables of `packages` (default: all tracks), the history repository and the locks.

    When the index does not answer for a track, what is known goes on being used, and the notes say so.
    `progress` gets a line before each wait. Only one sync runs at a time: between reading a table and
    appending to it nobody else may append.

    Raises:
        Busy: another sync runs.
        MalformedFile: a table or the repository is damaged.
        StorageFailed: no space, no permission; what was written before is whole.
    """
    with only_one(config.history_repo.parent / "sync.lock"):
        return _sync(config, sources, packages, with_locks=with_locks, progress=progress)


def _sync(
    config: Config,
    sources: Sources,
    packages: Sequence[str],
    *,
    with_locks: bool,
    progress: Callable[[str], None],
) -> SyncResult:
    _make_folder(config.releases)
    names = [track.package for track in config.tracks]
    tables = load_tables(config.releases, names)
    runs = [
        _TrackSync(config=config, track=track, sources=sources, progress=progress)
        for track in config.tracks
        if not packages or track.package in packages
    ]
    for run in runs:
        tables[run.track.package] = run.extend(tables[run.track.package])
    history = ensure_history(config.history_repo, tables)
    for run in runs if with_locks else ():
        run.lock(tables[run.track.package])
    return SyncResult(
        releases=tuple(release.name for run in runs for release in run.added),
        locks=tuple(path for run in runs for path in run.locks),
        history=history,
        notes=(*filter(None, [history.note]), *(note for run in runs for note in run.notes)),
    )


def _make_folder(path: Path) -> None:
    """A tracker that starts has no tables yet."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise storage_failed(path, error) from error


def unlocked_releases(config: Config, track: Track, releases: Sequence[Release]) -> list[Release]:
    """The releases of a track that need locks and have none yet.

    The `cpu` lock is written last, so where it lies the release's other locks lie too, or are not offered.
    """
    first = Version(track.first_lock)
    return [
        release
        for release in releases
        if Version(release.version) >= first and not lock_path(config.locks, "cpu", release).exists()
    ]


def _no_locks_note(track: Track, missing: Sequence[Release]) -> str:
    return (
        f"{track.package}: {len(missing)} releases have no lock yet (first: {missing[0].name}); "
        "resolving one needs the index"
    )


class _TrackSync:
    """The sync of one track; collects what it did."""

    def __init__(
        self,
        *,
        config: Config,
        track: Track,
        sources: Sources,
        progress: Callable[[str], None],
    ) -> None:
        self.track = track
        self.added: tuple[Release, ...] = ()
        self.locks: list[Path] = []
        self.notes: list[str] = []
        self._config, self._sources, self._progress = config, sources, progress
        self._page: OnIndex | None = None

    def extend(self, known: tuple[Release, ...]) -> tuple[Release, ...]:
        """Append what is new on the index to the table; the whole table."""
        track = self.track
        self._progress(f"{track.package}: asking the package index")
        try:
            files = {
                package: self._sources.index.files(package) for package in (track.package, *track.companions)
            }
        except IndexUnavailable as error:
            self.notes.append(
                f"{track.package}: the package index did not answer for {error.package} ({error.reason}); "
                f"going on with the {len(known)} releases that are known"
            )
            return known
        self._page = read_index(track, files)
        discovery = discover(track, known, self._page, self._sources.resolver)
        self.notes += discovery.notes
        self.added = discovery.releases
        if self.added:
            append_releases(self._config.releases, track.package, self.added)
        return (*known, *self.added)

    def lock(self, releases: Sequence[Release]) -> None:
        """Resolve the locks that are missing, as far as the index is there."""
        missing = unlocked_releases(self._config, self.track, releases)
        if missing and self._page is None:
            self.notes.append(_no_locks_note(self.track, missing))
            return
        with ThreadPoolExecutor(_RESOLUTIONS_AT_ONCE) as pool:
            results = pool.map(self._resolve, missing)
            for number, (release, result) in enumerate(zip(missing, results, strict=True), start=1):
                self._progress(f"{self.track.package}: locks of {release.name} ({number} of {len(missing)})")
                if isinstance(result, EnvironmentFailed):
                    self.notes.append(str(result))
                    continue
                self.notes += result.notes
                for lock in result.locks:
                    path = lock_path(self._config.locks, lock.accelerator, release)
                    write_atomically(path, lock.text.encode())
                    self.locks.append(path)

    def _resolve(self, release: Release) -> ResolvedLocks | EnvironmentFailed:
        """The locks of one release; its failure is a value, for it must not stop the others."""
        python = choose_python(self.track, release, self._page) if self._page else None
        if python is None:
            reason = f"the index has no wheels of it for Python {' or '.join(self.track.python)}"
            return EnvironmentFailed(release.name, "resolving its lock", reason)
        try:
            return resolve_locks(release, self.track, python, self._sources.resolver)
        except EnvironmentFailed as error:
            return error
