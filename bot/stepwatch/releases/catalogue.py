"""From the files of an index to the releases that can be measured: final, not withdrawn, with a wheel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from stepwatch.releases.plausible import release_day, release_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packaging.tags import Tag
    from packaging.version import Version

    from stepwatch.releases.index import IndexFile


_FILENAME_CHARACTERS = 255
_CPYTHON_3 = re.compile(r"cp3([0-9]*)")
_LINUX = re.compile(r"(many)?linux.*_x86_64")  # glibc; musllinux wheels are for other machines


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A release on the index that some Python of the track can install from wheels."""

    version: str
    date: str
    """Day of the first upload, ISO 8601, UTC."""
    pythons: tuple[str, ...]
    """Those of the asked Pythons that a wheel exists for, in the order asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What `find_candidates` found."""

    candidates: tuple[Candidate, ...]
    """In version order."""
    note: str
    """What the index says that cannot be, in one line; empty when there is no such thing."""


def find_candidates(package: str, files: Iterable[IndexFile], pythons: Sequence[str]) -> Catalogue:
    """The final releases of `package` with a wheel for one of `pythons` on x86-64 Linux.

    Left out are pre-releases, development and local versions, releases whose every file was withdrawn, and
    releases without an upload time (PEP 700), since without a date one has no place in a history. Files that
    belong to another project, and versions and times that cannot be, are passed over with a note.
    """
    grouped: dict[Version, list[IndexFile]] = {}
    odd: list[str] = []
    for file in files:
        parsed = _name_and_version(file.filename)
        if parsed is None or parsed[1].is_prerelease or parsed[1].local or file.is_yanked:
            continue
        try:
            grouped.setdefault(_checked(package, *parsed, file), []).append(file)
        except ValueError as error:
            odd.append(f"{file.filename[:80]!r}: {error}")
    found = []
    for version in sorted(grouped):
        usable = tuple(python for python in pythons if _has_wheel(grouped[version], python))
        uploads = [release_day(file.upload_time) for file in grouped[version] if file.upload_time]
        if usable and uploads:
            found.append(Candidate(version=str(version), date=min(uploads), pythons=usable))
    note = f"{package}: {len(odd)} files on the index were passed over (first: {odd[0]})" if odd else ""
    return Catalogue(candidates=tuple(found), note=note)


def _name_and_version(filename: str) -> tuple[str, Version] | None:
    """What a file name says; None for what is neither a wheel nor a source archive (old eggs)."""
    if len(filename) > _FILENAME_CHARACTERS:
        return None
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[:2]
        return parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _checked(package: str, name: str, version: Version, file: IndexFile) -> Version:
    """`version`; raise ValueError for a file that cannot be one of a release of `package`."""
    if name != canonicalize_name(package):
        raise ValueError(f"belongs to {name}")
    if file.upload_time:
        release_day(file.upload_time)
    return release_version(str(version))


def _has_wheel(files: Iterable[IndexFile], python: str) -> bool:
    return any(
        file.filename.endswith(".whl")
        and _allows(file.requires_python, python)
        and any(_fits(tag, python) for tag in parse_wheel_filename(file.filename)[3])
        for file in files
    )


def _allows(requires_python: str | None, python: str) -> bool:
    try:
        # The last patch of a minor: `>=3.11.4` is no obstacle, for the newest patch is what one installs.
        return SpecifierSet(requires_python or "").contains(f"{python}.99")
    except InvalidSpecifier:
        return False


def _fits(tag: Tag, python: str) -> bool:
    """Whether a wheel tag installs on CPython `python` (with its lock, not free-threaded) on x86-64 Linux."""
    on_platform = tag.platform == "any" or bool(_LINUX.fullmatch(tag.platform))
    own = f"cp{python.replace('.', '')}"
    if tag.interpreter == own:
        return on_platform and tag.abi in {own, "abi3", "none"}
    oldest = _CPYTHON_3.fullmatch(tag.interpreter)
    if tag.abi == "abi3" and oldest:
        return on_platform and int(oldest[1] or 0) <= int(python.partition(".")[2])
    return on_platform and tag.interpreter == "py3" and tag.abi == "none"
