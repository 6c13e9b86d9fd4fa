"""The release tables: `suites/releases/<package>.jsonl`, one release a line, append-only, in version order.

A line is never rewritten: the hashes of the release-history repository, and with them every result ever
measured, hang on it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from packaging.version import Version

from stepwatch.errors import MalformedFile
from stepwatch.model import Release
from stepwatch.releases.files import append_lines
from stepwatch.releases.plausible import release_day, release_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9.!_]{1,40}")
_NEXT_STEP = "the table is append-only: restore it from git"


class _Line(Release, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A release as a table writes it: nothing unknown."""


def table_path(folder: Path, package: str) -> Path:
    """Where the table of `package` lies."""
    return folder / f"{package}.jsonl"


def load_tables(folder: Path, packages: Iterable[str]) -> dict[str, tuple[Release, ...]]:
    """The tables of `packages`, in that order; a package without a table has no release yet.

    Raises:
        MalformedFile: no such folder, or a line that is no release of that package or stands out of order.
    """
    if not folder.is_dir():
        next_step = "restore it from git, or start tables with `stepwatch releases sync`"
        raise MalformedFile(folder, "there are no release tables here", next_step=next_step)
    return {package: load_table(folder, package) for package in packages}


def load_table(folder: Path, package: str) -> tuple[Release, ...]:
    """The known releases of one package, oldest version first.

    Raises:
        MalformedFile: a line that is no release of that package, or stands out of order.
    """
    path = table_path(folder, package)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise MalformedFile(path, str(error)) from error
    if text and not text.endswith("\n"):
        number = len(text.splitlines())
        raise MalformedFile(path, "the last line is cut off", place=str(number), next_step=_NEXT_STEP)
    lines = enumerate(text.splitlines(), start=1)
    releases = tuple(_parse_line(path, package, number, line) for number, line in lines)
    for number, (before, after) in enumerate(pairwise(releases), start=2):
        if Version(after.version) <= Version(before.version):
            reason = f"{after.version} does not come after {before.version}: a table is in version order"
            raise MalformedFile(path, reason, place=str(number), next_step=_NEXT_STEP)
    return releases


def append_releases(folder: Path, package: str, releases: Sequence[Release]) -> None:
    """Write `releases` after the last line of the table of `package`.

    Raises:
        StorageFailed: no space or no permission; the table is as it was before.
    """
    append_lines(table_path(folder, package), [msgspec.json.encode(release) for release in releases])


def _check(release: Release) -> None:
    """Raise ValueError for what no release says of itself; a date alone, for a table holds no moments."""
    if release_day(release.date) != release.date:
        raise ValueError(f"{release.date!r} is more than a day")
    release_version(release.version)
    for companion, version in release.requires.items():
        if not _PACKAGE.fullmatch(companion):
            raise ValueError(f"{companion!r} is no name of a package")
        if not _VERSION.fullmatch(version):
            raise ValueError(f"{version[:80]!r} is no version of {companion}")


def _parse_line(path: Path, package: str, number: int, line: str) -> Release:
    try:
        release = msgspec.json.decode(line, type=_Line)
        _check(release)
    except (ValueError, RecursionError) as error:
        raise MalformedFile(path, str(error), place=str(number), next_step=_NEXT_STEP) from error
    if release.package != package:
        reason = f"a release of {release.package} in the table of {package}"
        raise MalformedFile(path, reason, place=str(number), next_step=_NEXT_STEP)
    return Release(
        package=release.package, version=release.version, date=release.date, requires=release.requires
    )
