"""From what a person typed to releases: `jax/0.4.31`, `jax/0.4.31..jax/0.4.33`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from stepwatch.errors import MixedTracks, UnknownRelease, UsageError
from stepwatch.model import parse_release_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stepwatch.model import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRange:
    """Two releases of one track, `after` the older one."""

    after: Release
    through: Release
    between: tuple[Release, ...]
    """The releases strictly between the two, oldest first."""


def resolve_release(name: str, tables: Mapping[str, Sequence[Release]]) -> Release:
    """The release called `name` (`jax/0.4.31`); white space around it, as pasting brings, does not matter.

    Raises:
        UnknownRelease: no track knows it; the message holds the closest names.
    """
    name = name.strip()
    try:
        package, version = parse_release_name(name)
    except ValueError:
        raise UnknownRelease(name, _closest(name, tables)) from None
    for release in tables.get(package, ()):
        if release.version == version:
            return release
    raise UnknownRelease(name, _closest(name, tables))


def resolve_range(text: str, tables: Mapping[str, Sequence[Release]]) -> ReleaseRange:
    """The range `after..through` (`jax/0.4.31..jax/0.4.33`, or shorter `jax/0.4.31..0.4.33`).

    Raises:
        UsageError: `text` is no range, or it does not run forward.
        UnknownRelease: one end is not known.
        MixedTracks: the ends belong to two libraries.
    """
    after_name, dots, through_name = (part.strip() for part in text.partition(".."))
    if not (dots and after_name and through_name):
        raise UsageError(f"{text!r} is no range: write after..through, like jax/0.4.31..jax/0.4.33")
    if "/" not in through_name:
        through_name = f"{after_name.partition('/')[0]}/{through_name}"
    after, through = resolve_release(after_name, tables), resolve_release(through_name, tables)
    if after.package != through.package:
        raise MixedTracks(after.name, through.name)
    track = list(tables[after.package])
    first, last = track.index(after), track.index(through)
    if first == last:
        raise UsageError(
            f"{text!r} names one release twice; to measure a release against itself use --a-a {after.name}"
        )
    if first > last:
        raise UsageError(f"{text!r} runs backward; write {through.name}..{after.name}")
    return ReleaseRange(after=after, through=through, between=tuple(track[first + 1 : last]))


def _closest(name: str, tables: Mapping[str, Sequence[Release]]) -> list[str]:
    """Up to three known names: those that look alike, else the neighbours of the version in its track."""
    package, _, version = name.partition("/")
    if tables.get(package):
        return _neighbours(version, tables[package]) or _alike(name, tables)
    return _alike(name, tables)


def _alike(name: str, tables: Mapping[str, Sequence[Release]]) -> list[str]:
    known = [release.name for releases in tables.values() for release in reversed(releases)]
    return difflib.get_close_matches(name, known, n=3)


def _neighbours(version: str, releases: Sequence[Release]) -> list[str]:
    """The last release before `version` and the first one after it."""
    try:
        wanted = Version(version)
    except ValueError:  # no version, or one whose numbers no computer takes
        return []
    before = [release.name for release in releases if Version(release.version) < wanted]
    after = [release.name for release in releases if Version(release.version) > wanted]
    return [*before[-1:], *after[:1]]
