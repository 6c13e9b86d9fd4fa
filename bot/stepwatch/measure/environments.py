"""The cache of release environments: one virtual environment per release and accelerator.

A lock that is not the release's own (one given by its path, one of another commit) has an environment of its
own, named by its digest, so that two locks of one release can be measured against each other.

An environment is usable when its stamp, the file written last, says the same release and lock as asked
for (a lock names its Python); anything else, an interrupted build or a changed lock, is built anew. Users
hold a shared lock on it, builders and the pruner an exclusive one, so that two processes never build the
same environment at once and none is removed under a running session.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from stepwatch.errors import EnvironmentFailed
from stepwatch.measure.accelerators import accelerator_fault
from stepwatch.measure.installer import Installed, Sources, install
from stepwatch.measure.storage import FileLock, append_line, folder_bytes, storage_errors
from stepwatch.releases.files import write_atomically
from stepwatch.releases.locks import read_lock
from stepwatch.releases.pythons import find_python
from stepwatch.releases.tried import TRIED_FILE, Trial

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stepwatch.model import Release
    from stepwatch.releases.locks import Lock

CACHES_FOLDER = "stepwatch-caches"
"""Compile caches live inside the environment they belong to, and go with it."""
_STAMP = "stepwatch-stamp.json"
_TRASH = ".trash-"


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """What a finished environment was built from, and what it holds."""

    release: str
    lock: str
    """Digest of the lock."""
    python: str
    """Minor version asked for: `3.12`."""
    installed_python: str
    packages: dict[str, str]
    source: str
    size_bytes: int


@dataclass(slots=True, kw_only=True)
class BuiltEnvironment:
    """A usable environment; it cannot be removed until `close`."""

    release: Release
    accelerator: str
    path: Path
    python: Path
    """The interpreter."""
    stamp: Stamp
    built_seconds: float | None
    """How long the build took; None when it was there already."""
    _holding: FileLock

    def cache_folder(self, name: str) -> Path:
        """Folder of the compile cache `name` of this environment; it is created."""
        folder = self.path / CACHES_FOLDER / name
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def close(self) -> None:
        """Allow the environment to be removed."""
        self._holding.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentStore:
    """Environments below one folder, bounded in number and disk."""

    root: Path
    keep: int
    max_bytes: int
    sources: Sources
    installer: Callable[..., Installed] = install

    def ensure(
        self, release: Release, accelerator: str, lock_path: Path, *, own: bool = True
    ) -> BuiltEnvironment:
        """The environment of `release`, built now if it is not there as its lock says.

        Every build from the release's own lock, good or bad, is noted in `tried.jsonl`.

        Args:
            release: what the lock is about.
            accelerator: which it is for.
            lock_path: the lock.
            own: whether it is the release's own; another one may use the release's environment only while
                that was built from the same text.

        Raises:
            EnvironmentFailed: no such accelerator, no lock, no Python, or a failed installation; says why.
            MalformedFile: the lock cannot be read.
            StorageFailed: no space or no permission.
        """
        fault = accelerator_fault(accelerator)
        if fault is not None:
            raise EnvironmentFailed(release.name, "accelerator", fault)
        want = _wanted(release, accelerator, lock_path, own=own)
        path = self._path_for(want)
        holding = FileLock(path.parent / f".{path.name}.lock")
        started = time.monotonic()
        try:
            stamp, built = self._take(want, path, holding)
            with storage_errors(path):
                os.utime(path / _STAMP)
            if built:
                self.prune()
        except BaseException:
            holding.release()
            raise
        return BuiltEnvironment(
            release=release,
            accelerator=accelerator,
            path=path,
            python=_python_of(path),
            stamp=stamp,
            built_seconds=time.monotonic() - started if built else None,
            _holding=holding,
        )

    def _take(self, want: _Wanted, path: Path, holding: FileLock) -> tuple[Stamp, bool]:
        """Hold a shared lock on the wanted environment; its stamp, and whether it was built for this.

        Going from an exclusive lock to a shared one is not atomic, so the stamp is read again after it.
        """
        built = False
        while True:
            holding.acquire(shared=True)
            stamp = _read_stamp(path)
            if stamp is not None and want.matches(stamp):
                return stamp, built
            holding.acquire()
            stamp = _read_stamp(path)
            if stamp is None or not want.matches(stamp):
                self._build(want, path)
                built = True

    def path_of(self, release: Release, accelerator: str) -> Path:
        """Where the environment of a release lies, built or not."""
        return self.root / accelerator / f"{release.package}-{release.version}"

    def _path_for(self, want: _Wanted) -> Path:
        path = self.path_of(want.release, want.accelerator)
        if want.own:
            return path
        stamp = _read_stamp(path)
        shared = stamp is not None and want.matches(stamp)
        return path if shared else path.with_name(f"{path.name}+{want.lock.digest}")

    def is_built(self, release: Release, accelerator: str, lock_path: Path, *, own: bool = True) -> bool:
        """Whether `ensure` would build nothing."""
        try:
            want = _wanted(release, accelerator, lock_path, own=own)
        except EnvironmentFailed:
            return False
        stamp = _read_stamp(self._path_for(want))
        return stamp is not None and want.matches(stamp)

    def _build(self, want: _Wanted, path: Path) -> None:
        try:
            _discard(path)
            interpreter = _interpreter(want)
            installed = self.installer(
                want.release,
                venv=path,
                interpreter=interpreter,
                lock=want.lock_path,
                accelerator=want.accelerator,
                sources=self.sources,
            )
        except EnvironmentFailed as error:
            _discard(path)
            self._note(want, ok=False, reason=f"{error.stage}: {error.reason}")
            raise
        stamp = Stamp(
            release=want.release.name,
            lock=want.lock.digest,
            python=want.lock.python,
            installed_python=installed.python,
            packages=installed.packages,
            source=installed.source,
            size_bytes=folder_bytes(path),
        )
        write_atomically(path / _STAMP, msgspec.json.encode(stamp))
        imported = f"{want.release.package} {installed.packages.get(want.release.package, '')}"
        self._note(want, ok=True, reason=f"imported {imported} ({installed.source})")

    def _note(self, want: _Wanted, *, ok: bool, reason: str) -> None:
        if not want.own:
            return
        trial = Trial(
            release=want.release.name,
            accelerator=want.accelerator,
            lock=want.lock.digest,
            python=want.lock.python,
            ok=ok,
            reason=reason,
            at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        append_line(self.root / TRIED_FILE, msgspec.json.encode(trial))

    def prune(self) -> list[Path]:
        """Remove what was used longest ago until the bounds hold; never what is in use.

        Returns:
            The environments removed.
        """
        removed = []
        stamps = sorted(self.root.glob(f"*/*/{_STAMP}"), key=_used_at)
        sizes = {stamp.parent: _total_bytes(stamp.parent) for stamp in stamps}
        for path in list(sizes):
            if len(sizes) <= self.keep and sum(sizes.values()) <= self.max_bytes:
                break
            with FileLock(path.parent / f".{path.name}.lock") as lock:
                if lock.acquire(wait=False):
                    _discard(path)
                    del sizes[path]
                    removed.append(path)
        for trash in self.root.glob(f"*/{_TRASH}*"):
            shutil.rmtree(trash, ignore_errors=True)
        return removed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What an environment must be built from."""

    release: Release
    accelerator: str
    lock_path: Path
    lock: Lock
    own: bool

    def matches(self, stamp: Stamp) -> bool:
        return (stamp.release, stamp.lock) == (self.release.name, self.lock.digest)


def _interpreter(want: _Wanted) -> Path:
    found = find_python(want.lock.python, os.environ)
    if found is None:
        reason = f"no Python {want.lock.python} on PATH or in pyenv, and uv can fetch none"
        raise EnvironmentFailed(want.release.name, "venv", reason)
    return found


def _wanted(release: Release, accelerator: str, lock_path: Path, *, own: bool) -> _Wanted:
    lock = read_lock(lock_path)
    if lock is None:
        reason = f"no lock for {accelerator} ({lock_path}): `stepwatch releases sync` resolves what there is"
        raise EnvironmentFailed(release.name, "lock", reason)
    return _Wanted(release=release, accelerator=accelerator, lock_path=lock_path, lock=lock, own=own)


def _python_of(path: Path) -> Path:
    return path / "bin" / "python"


def _read_stamp(path: Path) -> Stamp | None:
    """What an environment was built from; None when it is not whole.

    Its interpreter is a link to one outside, which goes when that is upgraded or removed.
    """
    if not _python_of(path).is_file():
        return None
    try:
        return msgspec.json.decode((path / _STAMP).read_bytes(), type=Stamp)
    except (OSError, msgspec.DecodeError):
        return None


def _discard(path: Path) -> None:
    """Remove an environment: out of the way in one step, then deleted at leisure."""
    if os.path.lexists(path):
        trash = path.with_name(f"{_TRASH}{path.name}-{os.getpid()}-{time.monotonic_ns()}")
        with storage_errors(path):
            path.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)


def _used_at(stamp: Path) -> float:
    try:
        return stamp.stat().st_mtime
    except OSError:  # removed by another process since it was listed
        return 0.0


def _total_bytes(path: Path) -> int:
    stamp = _read_stamp(path)
    return (stamp.size_bytes if stamp else 0) + folder_bytes(path / CACHES_FOLDER)
