"""What a running campaign tells whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwatch.measure.campaign import PlannedSession
    from stepwatch.model import Stage
    from stepwatch.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something about what is on disk already that whoever runs this should know."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentStarted:
    """An environment is being built, or found."""

    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentReady:
    """An environment can be used."""

    release: str
    source: str
    """Where the release came from (`index`, `find-links`, `CPU backend`, `CUDA build`)."""
    built_seconds: float | None
    """None: it was there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentBroken:
    """An environment could not be built; the campaign goes on without it."""

    release: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted:
    """A session begins."""

    session: PlannedSession
    number: int
    """1-based place among the sessions of this run."""
    total: int
    seconds_left: float
    """Estimate for everything that is left, this session included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinished:
    """A session is on disk."""

    session: PlannedSession
    number: int
    total: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFailed:
    """An attempt failed and is recorded."""

    session: PlannedSession
    reason: str
    retry: bool
    """Whether it is tried again at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupClosed:
    """A benchmark is not measured any more on a release in this run: it fails too often."""

    benchmark: str
    release: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairStarted:
    """A pair of a comparison begins."""

    group: str
    stage: Stage
    number: int
    """1-based, in its stage."""
    seconds: float
    """What it will take, by what is known."""
    spent_seconds: float
    budget_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairJudged:
    """Everything of a comparison was judged, at its start or after a pair."""

    rows: tuple[Verdict, ...]
    groups: tuple[str, ...]
    """Every benchmark of the comparison, measured already or not."""
    undecided: frozenset[str]
    """Those of them that are measured on."""
    spent_seconds: float
    budget_seconds: float


Event = (
    Noted
    | EnvironmentStarted
    | EnvironmentReady
    | EnvironmentBroken
    | SessionStarted
    | SessionFinished
    | SessionFailed
    | GroupClosed
    | PairStarted
    | PairJudged
)
Progress = Callable[[Event], None]


def quiet(event: Event) -> None:
    """Watch nothing."""
    del event
