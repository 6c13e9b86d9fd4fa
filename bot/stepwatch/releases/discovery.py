"""New releases of one track: what the index has beyond the table, each with the companions it needs."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packaging.version import Version

from stepwatch.errors import EnvironmentFailed
from stepwatch.model import Release
from stepwatch.releases.catalogue import find_candidates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stepwatch.config import Track
    from stepwatch.releases.catalogue import Candidate
    from stepwatch.releases.index import IndexFile
    from stepwatch.releases.uv import Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class OnIndex:
    """What the index has of a track: candidates by version, oldest first."""

    own: dict[str, Candidate]
    companions: dict[str, dict[str, Candidate]]
    """Companion package to its candidates."""
    notes: tuple[str, ...] = ()
    """What the index says that cannot be, one line for each package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What `discover` found."""

    releases: tuple[Release, ...] = ()
    """To append to the table, in version order."""
    notes: tuple[str, ...] = field(default=())
    """What was left out and why, one line each."""


def read_index(track: Track, files: Mapping[str, Sequence[IndexFile]]) -> OnIndex:
    """Sort the files of a track's package and companions into candidates."""
    found = {
        package: find_candidates(package, files[package], track.python)
        for package in (track.package, *track.companions)
    }
    by_version = {
        package: {candidate.version: candidate for candidate in catalogue.candidates}
        for package, catalogue in found.items()
    }
    return OnIndex(
        own=by_version[track.package],
        companions={package: by_version[package] for package in track.companions},
        notes=tuple(catalogue.note for catalogue in found.values() if catalogue.note),
    )


def discover(track: Track, known: Sequence[Release], index: OnIndex, resolver: Resolver) -> Discovery:
    """The releases that the table of `track` does not have yet.

    A table is append-only and in version order, so a late patch of an old line (0.8.3 when 0.9.0 is known)
    is left out with a note. Releases older than the first one whose companions are on the index are not
    looked at: they cannot be installed.
    """
    tip = Version(known[-1].version) if known else None
    releases: list[Release] = []
    notes = [*index.notes, *_late_patches(track, known, index)]
    for candidate in index.own.values():
        if tip and Version(candidate.version) <= tip:
            continue
        exact = _exact_companions(track, candidate, index)
        if exact is None and not (known or releases):
            continue
        try:
            requires = _resolved_companions(track, candidate, resolver) if exact is None else exact
        except EnvironmentFailed as error:
            notes.append(f"{error}; left out")
            continue
        releases.append(
            Release(package=track.package, version=candidate.version, date=candidate.date, requires=requires)
        )
    return Discovery(releases=tuple(releases), notes=tuple(notes))


def choose_python(track: Track, release: Release, index: OnIndex) -> str | None:
    """The first Python of the track that has wheels for the release and all its companions, or None."""
    candidates = [index.own.get(release.version)]
    candidates += [index.companions.get(name, {}).get(version) for name, version in release.requires.items()]
    for python in track.python:
        if all(candidate and python in candidate.pythons for candidate in candidates):
            return python
    return None


def _exact_companions(track: Track, candidate: Candidate, index: OnIndex) -> dict[str, str] | None:
    """Companions of the very same version, or None when one was not released along."""
    if all(candidate.version in index.companions[name] for name in track.companions):
        return dict.fromkeys(track.companions, candidate.version)
    return None


def _resolved_companions(track: Track, candidate: Candidate, resolver: Resolver) -> dict[str, str]:
    """Companions as the release's own metadata asks for them (jax 0.4.37 runs on jaxlib 0.4.36)."""
    name = f"{track.package}/{candidate.version}"
    resolution = resolver.resolve(
        [f"{track.package}=={candidate.version}"],
        release=name,
        python=candidate.pythons[0],
        through=(dt.date.fromisoformat(candidate.date) + dt.timedelta(days=1)).isoformat(),
    )
    missing = [package for package in track.companions if package not in resolution.pins]
    if missing:
        raise EnvironmentFailed(name, "finding its companions", f"it does not ask for {missing[0]}")
    return {package: resolution.pins[package] for package in track.companions}


def _late_patches(track: Track, known: Sequence[Release], index: OnIndex) -> list[str]:
    if not known:
        return []
    tip, names = known[-1], {release.version for release in known}
    return [
        f"{track.package}/{version} ({found.date}) came after {tip.name} and belongs before it: left out, "
        "for a table is append-only and in version order"
        for version, found in index.own.items()
        if version not in names and Version(version) < Version(tip.version) and found.date > tip.date
    ]
