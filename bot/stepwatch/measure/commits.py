"""Commits of the repository that holds the tracker: found by name, and exported to be measured.

A commit is exported as files below a cache folder, by way of an index file of its own: neither the user's
checkout nor their index is touched, and no attribute (`export-ignore`) leaves anything out. What lies in the
tracker's folder is exported whole, so that a suite may import the code beside it. The name of an export is
the hash of what is in it, so two commits with the same content are one export, and paths are equally long.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stepwatch.errors import DataError, UsageError
from stepwatch.measure.storage import storage_errors

NAME_DIGITS = 12
"""Of a commit's hash, in names."""
_PREFIX = "commit/"
_IN_RESULTS = re.compile(rf"{_PREFIX}[0-9a-f]{{{NAME_DIGITS}}}")
_HASH = re.compile(r"[0-9a-f]{40,64}")
_TIMEOUT_SECONDS = 600.0
_KEPT = 12
_UNUSED_SECONDS = 7 * 86_400.0
_TEMPORARY = ".export-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit by its full hash."""

    hash: str
    asked: str
    """What the user called it."""

    @property
    def name(self) -> str:
        """How results call it: `commit/1a2b3c4d5e6f`."""
        return f"{_PREFIX}{self.hash[:NAME_DIGITS]}"


def find_commit(folder: Path, name: str) -> Commit | None:
    """The commit that a branch, tag, hash or expression (`HEAD~3`) names; None: git knows none, or no git.

    What results call it (`commit/1a2b3c4d5e6f`) names it too.

    Args:
        folder: lies in the repository.
        name: as git's own commands take it.
    """
    if not name or name.startswith("-") or shutil.which("git") is None:
        return None
    known = name.removeprefix(_PREFIX) if _IN_RESULTS.fullmatch(name) else name
    done = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{known}^{{commit}}")
    found = done.stdout.strip()
    # `^main`, what git calls all but main, comes back as a hash with a sign before it.
    return Commit(hash=found, asked=known) if done.returncode == 0 and _HASH.fullmatch(found) else None


def why_no_commit(folder: Path) -> str:
    """What to say where no commit was found: what kind of place this is."""
    if shutil.which("git") is None:
        return "git is not on PATH, so it cannot be a commit"
    done = _git(folder, "rev-parse", "--is-shallow-repository")
    if done.returncode:
        return f"git finds no repository at {folder}: {_last_line(done.stderr)}"
    if done.stdout.strip() == "true":
        return "no commit of this shallow clone (`git fetch --unshallow` gets the others)"
    return "no commit, branch or tag of this repository"


def has_uncommitted_changes(folder: Path) -> bool:
    """Whether something tracked below `folder` differs from `HEAD`."""
    return bool(_git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".").stdout.strip())


def export(folder: Path, commit: Commit, cache: Path) -> Path:
    """The content that `folder` has in `commit`, as files.

    Args:
        folder: of the tracker, somewhere in its repository.
        commit: whose content is wanted.
        cache: where exports are kept; the least used ones are removed.

    Raises:
        UsageError: the commit has no such folder.
        DataError: git cannot read it.
        StorageFailed: no space or no permission.
    """
    prefix = _git(folder, "rev-parse", "--show-prefix").stdout.strip().rstrip("/")
    done = _git(folder, "rev-parse", "--verify", "--quiet", f"{commit.hash}:{prefix}")
    if done.returncode:
        raise UsageError(f"{commit.asked} ({commit.hash[:NAME_DIGITS]}) has no folder {prefix}")
    tree = done.stdout.strip()
    place = cache / tree[:16]
    with storage_errors(cache):
        if not place.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            _write(folder, tree, place)
        os.utime(place)
    _prune(cache, keep=place)
    return place


def _write(folder: Path, tree: str, place: Path) -> None:
    """Write `tree` at `place`, whole or not at all."""
    temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=place.parent))
    try:
        content = temporary / "content"
        content.mkdir()
        index = {"GIT_INDEX_FILE": str(temporary / "index")}
        for command in (("read-tree", tree), ("checkout-index", "--all", "--force")):
            done = _git(folder, f"--work-tree={content}", *command, variables=index)
            if done.returncode:
                raise DataError(f"git {command[0]} of {tree[:NAME_DIGITS]} failed: {_last_line(done.stderr)}")
        try:
            content.rename(place)
        except OSError:
            if not place.is_dir():  # else another stepwatch was first, with the same content
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _prune(cache: Path, *, keep: Path) -> None:
    """Remove exports that nobody has used for a week, beyond the newest ones, and what a kill left."""
    long_ago = time.time() - _UNUSED_SECONDS
    ages = []
    for path in cache.iterdir():
        with suppress(FileNotFoundError):  # another stepwatch removed or renamed it
            ages.append((path.stat().st_mtime, path))
    for number, (used, path) in enumerate(sorted(ages, reverse=True)):
        forgotten = number >= _KEPT or path.name.startswith(_TEMPORARY)
        if path != keep and used < long_ago and forgotten:
            shutil.rmtree(path, ignore_errors=True)


def _git(
    folder: Path, *arguments: str, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git in the user's repository, as they would: with their configuration and filters.

    Variables that a hook has set (`GIT_DIR`, `GIT_INDEX_FILE`) must not lead to another repository or index.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        return subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DataError(f"{folder}: git {arguments[0]} did not end in {_TIMEOUT_SECONDS:.0f} s") from error


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")
