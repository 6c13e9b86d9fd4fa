"""The release-history repository on disk: built by `git fast-import`, only ever added to.

It holds nothing of its own: the tables say every byte of it. So a damaged one is set aside and built anew.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.errors import DataError, MalformedFile
from stepwatch.releases.files import storage_failed
from stepwatch.releases.git_objects import fast_import_stream, history_commits, history_refs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stepwatch.model import Release
    from stepwatch.releases.git_objects import HistoryCommit

_TIMEOUT_SECONDS = 120.0
_LOCK = re.compile(r"'([^'\n]+\.lock)': File exists")
_SET_ASIDE = ".damaged"
_OF_GIT = frozenset(
    {
        *("HEAD", "ORIG_HEAD", "FETCH_HEAD", "branches", "config", "description", "gc.log", "gc.pid"),
        *("hooks", "info", "logs", "objects", "packed-refs", "refs", "shallow"),
    }
)
"""What may lie in a bare repository."""


class _GitFailed(DataError):
    """git ended with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The repository after `ensure_history`."""

    path: Path
    commits: dict[str, str]
    """Release name to commit hash."""
    added: tuple[str, ...]
    """Names of the releases that were not in the repository before."""
    note: str = ""
    """That a damaged repository was built anew; empty otherwise."""


def ensure_history(path: Path, tables: Mapping[str, Sequence[Release]]) -> History:
    """Bring the bare repository at `path` to what `tables` say; nothing happens when it is there already.

    The order of `tables` is the order of the lanes. A new repository is built beside and moved into place;
    an existing one gets objects first and refs last, so an interruption leaves it valid. One that git finds
    damaged is set aside as `<path>.damaged` and built anew.

    Raises:
        MalformedFile: the repository holds another history (a table line was changed), or `path` is a folder
            of something else.
        StorageFailed: no space, no permission.
        DataError: git is missing or fails, or a git that was killed left a lock.
    """
    commits = history_commits(tables)
    wanted = history_refs(commits)
    present: dict[str, str] = {}
    damage = ""
    if path.is_dir():
        try:
            present = _read_refs(path)
            _refuse_rewriting(path, tables, wanted, present)
            _git(path, "fsck", "--full", "--no-dangling", "--no-progress")
        except _GitFailed:
            damage = f"{path}: was damaged and is built anew; the old one lies in {path.name}{_SET_ASIDE}"
            _refuse_foreign(path)
    if damage or not path.is_dir():
        _build_beside(path, commits, replace=bool(damage))
    elif wanted.items() - present.items():
        _import(path, commits)
    names = {commit.release.name: commit.hash for commit in commits}
    added = tuple(name for name in names if f"refs/{name}" not in present)
    return History(path=path, commits=names, added=added, note=damage)


def _refuse_foreign(path: Path) -> None:
    """What is no bare repository is not ours to set aside: a wrong `repo` may name any folder."""
    foreign = [entry.name for entry in path.iterdir() if entry.name.removesuffix(".lock") not in _OF_GIT]
    if foreign:
        raise MalformedFile(
            path,
            f"is not the release history (it holds {foreign[0]!r})",
            next_step="name another place as `repo` in asv.conf.json, or move that folder away",
        )


def _refuse_rewriting(
    path: Path, packages: Iterable[str], wanted: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Every release in the repository must be in the tables with the same hash; branches follow from that."""
    named = tuple(f"refs/{package}/" for package in packages)
    changed = [ref for ref, old in present.items() if ref.startswith(named) and wanted.get(ref) != old]
    if changed:
        raise MalformedFile(
            path,
            f"{changed[0]} is not what the release tables say: a line or the order of tracks was changed",
            next_step="restore suites/releases from git (all results hang on these hashes), "
            "or remove this repository to start a new history",
        )


def _build_beside(path: Path, commits: Sequence[HistoryCommit], *, replace: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise storage_failed(path, error) from error
    try:
        first = commits[0].release.package if commits else "main"
        form = ("--bare", "--template=", "--object-format=sha1", f"--initial-branch={first}")
        _git(temporary, "init", "-q", *form)
        _import(temporary, commits)
        temporary.chmod(0o755)
        if replace:
            _set_aside(path)
        temporary.rename(path)
    except OSError as error:
        # Another stepwatch was first: same tables, same hashes, so its repository is as good as ours.
        if not path.is_dir():
            raise storage_failed(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _set_aside(path: Path) -> None:
    aside = path.with_name(path.name + _SET_ASIDE)
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)


def _import(path: Path, commits: Sequence[HistoryCommit]) -> None:
    # Forced: a branch that somebody moved goes back to where the tables say; names were compared before.
    _git(path, "fast-import", "--quiet", "--force", stdin=fast_import_stream(commits))
    missing = history_refs(commits).items() - _read_refs(path).items()
    if missing:
        raise DataError(f"{path}: git made other hashes than expected ({len(missing)} refs differ)")


def _read_refs(path: Path) -> dict[str, str]:
    lines = _git(path, "for-each-ref", "--format=%(refname) %(objectname)").decode().splitlines()
    return dict(line.split(" ", 1) for line in lines)


def _git(repository: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git on `repository`, cut off from the user's configuration, hooks, templates and signing."""
    git = shutil.which("git")
    if git is None:
        raise DataError("git is not installed or not on PATH; install it and run this again")
    environment = {
        "PATH": f"{Path(git).parent}{os.pathsep}{os.defpath}",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C",
    }
    # A checkout that belongs to another user (a container's mount) is refused by git unless named safe.
    options = (f"--git-dir={repository}", "-c", f"safe.directory={repository}", "-c", "commit.gpgsign=false")
    try:
        done = subprocess.run(
            [git, *options, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise DataError(
            f"{repository}: git {arguments[0]} did not end in {_TIMEOUT_SECONDS:.0f} s"
        ) from error
    if done.returncode != 0:
        raise _failure(repository, arguments[0], done.stderr.decode(errors="replace"))
    return done.stdout


def _failure(repository: Path, command: str, stderr: str) -> DataError:
    """What git's complaint means for the user."""
    if "No space left" in stderr:
        return storage_failed(repository, OSError(errno.ENOSPC, "no space left"))
    lock = _LOCK.search(stderr)
    if lock:
        return DataError(
            f"{lock[1]}: another git holds it, or was killed while it did; "
            "when no git runs here, remove that file and run this again"
        )
    if "Permission denied" in stderr or "Read-only file system" in stderr:
        return storage_failed(repository, OSError(errno.EACCES, os.strerror(errno.EACCES)))
    lines = stderr.strip().splitlines() or ["no message"]
    reason = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
    return _GitFailed(
        f"{repository}: git {command} failed: {reason}; remove this repository and run "
        "`stepwatch releases sync --offline`: it is built from the release tables"
    )
