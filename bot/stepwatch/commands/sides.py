"""From a name on the command line to a side of a comparison: a release, a lock file, or a commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from stepwatch.config import load_config
from stepwatch.errors import ConfigError, DataError, MalformedFile, UnknownRelease, UsageError
from stepwatch.measure.commits import export, find_commit, why_no_commit
from stepwatch.measure.subject import Installation
from stepwatch.model import Release, parse_release_name
from stepwatch.releases.locks import lock_path, read_lock
from stepwatch.releases.names import resolve_release
from stepwatch.releases.table import load_tables
from stepwatch.verdict.rows import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stepwatch.config import Config
    from stepwatch.measure.commits import Commit
    from stepwatch.releases.locks import Lock

_DIGEST_DIGITS = 12
_STEM_CHARACTERS = 60
_SHOWN = 80
"""Characters of a name in an error."""
_HOW_TO_WRITE = (
    "a lock begins with the lines `# stepwatch-lock: 1`, `# release: jax/0.4.31`, `# accelerator: cpu`, "
    "`# python: 3.12`, `# platform: any` and `# resolved as of: 2024-07-30`; the others are name==version"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What a name stands for, before its suite is looked into."""

    asked: str
    name: str
    """How results call it."""
    suite: Path
    project_folder: Path
    installations: Mapping[str, Installation]
    """By track; what it can be measured in."""
    revision: str | None
    """None: a release."""

    @property
    def is_commit(self) -> bool:
        """Whether its suite is that of a commit, not the tracker's own."""
        return self.name.startswith("commit/")


def resolve_side(text: str, config: Config, accelerator: str) -> Side:
    """What `text` names: a release of a track, else the path of a lock, else a commit.

    Raises:
        UnknownRelease: written like a release of a track, but there is none, nor a commit, of that name.
        UsageError: it names nothing, or something for another accelerator.
        DataError: the commit has no suite or no lock.
        MalformedFile: a lock cannot be read; says what is missing.
    """
    text = text.strip()
    tables = load_tables(config.releases, [track.package for track in config.tracks])
    unknown: UnknownRelease | None = None
    if text.partition("/")[0] in tables and "/" in text:
        try:
            return _of_release(text, resolve_release(text, tables), config, accelerator)
        except UnknownRelease as error:
            unknown = error
    if _is_file(text):
        return _of_lock(text, Path(text).resolve(), config, accelerator)
    commit = find_commit(config.root, text)
    if commit is not None:
        return _of_commit(commit, config, accelerator)
    if unknown is not None:
        raise unknown
    raise UsageError(
        f"{shorten(text, _SHOWN)!r} is no release (like jax/0.4.31), no file, and "
        f"{why_no_commit(config.root)}: "
        "compare takes a release, the path of a lock, or a commit, branch or tag"
    )


def _is_file(text: str) -> bool:
    """Whether `text` is the path of a file; what the system refuses as a path (too long) is none."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def _of_release(text: str, release: Release, config: Config, accelerator: str) -> Side:
    path = lock_path(config.locks, accelerator, release)
    return Side(
        asked=text,
        name=release.name,
        suite=config.suite,
        project_folder=config.root,
        installations={release.package: Installation(release=release, lock_path=path)},
        revision=None,
    )


def _of_lock(text: str, path: Path, config: Config, accelerator: str) -> Side:
    lock, installation = _read(path, text, accelerator)
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", path.stem)[:_STEM_CHARACTERS]
    return Side(
        asked=text,
        name=f"lock/{stem}-{lock.digest[:_DIGEST_DIGITS]}",
        suite=config.suite,
        project_folder=config.root,
        installations={installation.release.package: installation},
        revision=lock.digest,
    )


def _of_commit(commit: Commit, config: Config, accelerator: str) -> Side:
    folder = export(config.root, commit, config.history_repo.parent / "commits")
    what = commit.asked if commit.hash.startswith(commit.asked) else f"{commit.asked} ({commit.hash[:12]})"
    if not (folder / "asv.conf.json").is_file():  # asked for here: the search would go on in folders above
        raise DataError(f"{what} has no asv.conf.json in this folder, so it has no suite to measure")
    try:
        then = load_config(folder)
    except ConfigError as error:
        raise UsageError(f"the configuration of {what}: {error}") from error
    if not _lies_in(then.suite, then.root):
        raise DataError(
            f"{what}: its benchmark_dir {_shown(then.suite, then.root)} is not in the folder of the tracker, "
            "so the commit does not say what is in it"
        )
    installations = {}
    for path in _locks_of(then, what, accelerator):
        _, installation = _read(path, f"{what}: {_shown(path, then.root)}", accelerator)
        installations[installation.release.package] = installation
    return Side(
        asked=commit.asked,
        name=commit.name,
        suite=then.suite,
        project_folder=folder,
        installations=installations,
        revision=commit.hash,
    )


def _locks_of(then: Config, what: str, accelerator: str) -> list[Path]:
    """The locks a commit is measured with: the one it names, else the newest of each of its tracks."""
    if then.compare_lock is not None:
        path = then.root / then.compare_lock.replace("{accelerator}", accelerator)
        if not _is_file(str(path)) or not _lies_in(path, then.root):
            raise DataError(f"{what}: [compare] lock names {_shown(path, then.root)}, no file in it")
        return [path]
    folder = then.locks / accelerator
    newest = [_newest_lock(folder, track.package) for track in then.tracks]
    found = [path for path in newest if path is not None]
    if not found:
        raise DataError(
            f"{what} has no lock in {_shown(folder, then.root)}: commit one "
            "(`stepwatch releases sync` resolves them), or name one as `lock` under [compare]"
        )
    return found


def _lies_in(path: Path, root: Path) -> bool:
    """Whether a path that a commit names, links followed, is part of the commit; `root` has no links."""
    return path.resolve().is_relative_to(root)


def _shown(path: Path, root: Path) -> str:
    """A path that a commit names as the commit writes it, wherever it leads."""
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _newest_lock(folder: Path, package: str) -> Path | None:
    versions: dict[Version, Path] = {}
    for path in folder.glob(f"{package}-*.txt"):
        try:
            versions[Version(path.stem.removeprefix(f"{package}-"))] = path
        except InvalidVersion:  # of another package, whose name begins like this one's
            continue
    return versions[max(versions)] if versions else None


def _read(path: Path, shown: str, accelerator: str) -> tuple[Lock, Installation]:
    """A lock that is not a release's own, and the environment it describes."""
    try:
        lock = read_lock(path)
    except MalformedFile as error:
        raise MalformedFile(shown, error.reason, place=error.place, next_step=_HOW_TO_WRITE) from error
    if lock is None:
        raise DataError(f"{shown}: was removed while it was looked for")
    if lock.accelerator != accelerator:
        raise UsageError(f"{shown} is a lock for {lock.accelerator}: add --accelerator {lock.accelerator}")
    try:
        package, version = parse_release_name(lock.release)
        Version(version)
    except ValueError:  # which InvalidVersion is
        reason = f"`# release: {lock.release}` is not package/version"
        raise MalformedFile(shown, reason) from None
    release = Release(package=package, version=version, date=lock.resolved_as_of)
    return lock, Installation(release=release, lock_path=path, own=False)
