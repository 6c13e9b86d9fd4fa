"""What a name on the command line stands for once it can be measured: a suite, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stepwatch.measure.suite import Group, Suite
    from stepwatch.model import Release

ANY_TRACK = ""
"""The track of a benchmark that names none: it runs where there is only one environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An environment to be: a release, and the lock that pins everything around it."""

    release: Release
    lock_path: Path
    own: bool = True
    """Whether it is the release's own lock; another lock has an environment of its own, by its digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A release, a lock or a commit, ready to be measured."""

    name: str
    """How results call it: `jax/0.4.31`, `lock/jax-0.4.31-1a2b3c4d5e6f`, `commit/1a2b3c4d5e6f`."""
    suite: Suite
    groups: Mapping[str, Group]
    """The selected benchmarks that run on it."""
    installations: Mapping[str, Installation]
    """By track."""
    project_folder: Path
    """Holds `asv.conf.json`; the suite's parents are found from there."""
    revision: str | None = None
    """What asv's variables call it; None: a release, whose commit the history repository knows."""

    def installation_of(self, group: str) -> Installation:
        """Where a benchmark of this subject runs."""
        track = self.groups[group].track
        if track == ANY_TRACK:
            return next(iter(self.installations.values()))
        return self.installations[track]


def runnable_groups(suite: Suite, installations: Mapping[str, Installation]) -> dict[str, Group]:
    """The benchmarks of `suite` that have an environment to run in."""
    anywhere = {ANY_TRACK} if len(installations) == 1 else set()
    return suite.select((), installations.keys() | anywhere)
