"""From the files of an index to the releases that can be measured: final, not withdrawn, with a wheel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packaging.tags import Tag
    from packaging.version import Version

    from stepwatch.releases.index import IndexFile


_LINUX = re.compile(r"(many)?linux.*_x86_64")  # glibc; musllinux wheels are for other machines


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A release on the index that some Python of the track can install from wheels."""

    version: str
    date: str
    """Day of the first upload, ISO 8601, UTC."""
    pythons: tuple[str, ...]
    """Those of the asked Pythons that a wheel exists for, in the order asked."""


def find_candidates(files: Iterable[IndexFile], pythons: Sequence[str]) -> list[Candidate]:
    """The final releases of a project with a wheel for one of `pythons` on x86-64 Linux, in version order.

    Left out are pre-releases, development and local versions, releases whose every file was withdrawn, and
    files without an upload time (PEP 700), since a release without a date has no place in a history.
    """
    grouped: dict[Version, list[IndexFile]] = {}
    for file in files:
        version = _version_of(file.filename)
        if version and not version.is_prerelease and not version.local and not file.is_yanked:
            grouped.setdefault(version, []).append(file)
    found = []
    for version in sorted(grouped):
        usable = tuple(python for python in pythons if _has_wheel(grouped[version], python))
        uploads = [file.upload_time for file in grouped[version] if file.upload_time]
        if usable and uploads:
            found.append(Candidate(version=str(version), date=min(uploads)[:10], pythons=usable))
    return found


def _version_of(filename: str) -> Version | None:
    """The version in a file name; None for what is neither a wheel nor a source archive (old eggs)."""
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[1]
        return parse_sdist_filename(filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


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
    if tag.abi == "abi3" and tag.interpreter.startswith("cp3"):
        return on_platform and int(tag.interpreter[3:] or 0) <= int(python.partition(".")[2])
    return on_platform and tag.interpreter == "py3" and tag.abi == "none"
