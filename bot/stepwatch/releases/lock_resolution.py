"""Resolving the locks of one release, for every accelerator that it offers."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwatch.errors import EnvironmentFailed
from stepwatch.releases.locks import Lock
from stepwatch.releases.uv import PLATFORM, RUNNER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stepwatch.config import Track
    from stepwatch.model import Release
    from stepwatch.releases.uv import Resolution, Resolver

_CUDA_EXTRAS = ("cuda12", "cuda13")
_CUDA_PACKAGE = re.compile(r"(nvidia|cuda)-|(pytorch-)?triton$")
_CUDA_MAJOR = re.compile(r"-cu(\d\d)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLocks:
    """The locks of one release."""

    locks: tuple[Lock, ...]
    """One per accelerator that the release offers; `cpu` is the last one."""
    notes: tuple[str, ...]
    """What could not be resolved, one line each."""


def resolve_locks(release: Release, track: Track, python: str, resolver: Resolver) -> ResolvedLocks:
    """Resolve `release` as of the day after its date for each accelerator.

    Two ways of offering CUDA are known. A release that pulls CUDA by itself (torch) was built for one CUDA
    major: its full resolution is that accelerator's lock, and the same without CUDA packages is the `cpu`
    lock, which a CPU build of the same version satisfies. Others (jax) offer it as an extra per major.

    Raises:
        EnvironmentFailed: the release cannot be resolved at all.
    """
    through = (dt.date.fromisoformat(release.date) + dt.timedelta(days=1)).isoformat()
    companions = [f"{name}=={version}" for name, version in release.requires.items()]

    def resolve(extra: str, beside: Sequence[str]) -> Resolution:
        own = f"{release.package}{f'[{extra}]' if extra else ''}=={release.version}"
        requirements = [own, *beside, *track.extra_packages, RUNNER]
        return resolver.resolve(requirements, release=release.name, python=python, through=through)

    def resolve_extra(extra: str) -> Resolution:
        try:
            return resolve(extra, companions)
        except EnvironmentFailed:
            return resolve(extra, ())  # an extra may pin another companion: jax[cuda12] 0.4.35, jaxlib 0.4.34

    def lock(accelerator: str, pins: Mapping[str, str]) -> Lock:
        return Lock(
            release=release.name,
            accelerator=accelerator,
            python=python,
            platform=PLATFORM,
            resolved_as_of=through,
            requirements=_requirements(pins),
        )

    plain = resolve("", companions).pins
    notes: list[str] = []
    offered: dict[str, Mapping[str, str]] = {}
    major = _cuda_major(plain)
    if major:
        offered[f"cuda{major}"] = plain
    else:
        for extra in _CUDA_EXTRAS:
            try:
                resolution = resolve_extra(extra)
            except EnvironmentFailed as error:
                notes.append(f"{error}; {release.name} has no {extra} lock")
                continue
            if not resolution.missing_extras:
                offered[extra] = resolution.pins
    offered["cpu"] = {name: version for name, version in plain.items() if not _CUDA_PACKAGE.match(name)}
    return ResolvedLocks(locks=tuple(lock(*item) for item in offered.items()), notes=tuple(notes))


def _requirements(pins: Mapping[str, str]) -> tuple[str, ...]:
    """Pins as requirements, without local versions: which build (`+cpu`) is chosen when installing."""
    return tuple(f"{name}=={version.partition('+')[0]}" for name, version in sorted(pins.items()))


def _cuda_major(pins: Sequence[str] | Mapping[str, str]) -> str | None:
    majors = {found[1] for found in map(_CUDA_MAJOR.search, pins) if found}
    return max(majors, default=None)
