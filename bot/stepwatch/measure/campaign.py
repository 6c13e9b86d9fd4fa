"""The plan of a campaign: which session comes after which. Pure: no clock, no files, no processes.

A campaign is a number of rounds. In each round every group (one class of the suite: one `setup_cache`) is
measured once, groups in random order; for a pair both releases follow each other at once, in random order,
and every second round reverses the order of the round before: whatever going first costs, both sides pay it.
Each draw is a hash of (seed, round, group), so a plan with more rounds or more groups keeps the order of
the rounds and groups that it already had, and a resumed campaign goes on where it was.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwatch.model import Side

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from stepwatch.model import RecordedSession, Stage


SIZES = ("cpu-smoke", "gpu")
"""The sizes that the session protocol knows."""


def default_size(accelerator: str) -> str:
    """The size that is measured when none is asked for."""
    return "cpu-smoke" if accelerator == "cpu" else "gpu"


def workload_of(group: str) -> str:
    """The workload or probe that a group measures: `mlp` of `mlp.bench.JaxJit`."""
    return group.removeprefix("probes.").partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The releases of a campaign."""

    baseline: str | None
    """None: the contender is measured alone (`Side.SINGLE`)."""
    contender: str
    beside: tuple[str, ...] = ()
    """Measured once per round in the same shuffled order, judged against nobody."""
    beside_rounds: int | None = None
    """In how many rounds, from the first on; None: in all."""

    @property
    def releases(self) -> tuple[str, ...]:
        """Every release once, baseline first."""
        named = (self.baseline, self.contender, *self.beside)
        return tuple(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SessionKey:
    """What makes a session of a campaign the same session after a restart."""

    round: int
    benchmark: str
    side: Side
    release: str
    stage: Stage = "search"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    """One session to run."""

    key: SessionKey
    position: int
    """0 if this side runs first in its pair, else 1."""


def plan(
    comparison: Comparison, groups: Mapping[str, Sequence[str]], *, rounds: int, seed: int
) -> tuple[PlannedSession, ...]:
    """All sessions of a campaign, in the order they run.

    Args:
        comparison: what is compared with what.
        groups: release name -> the groups (`mlp.bench.JaxJit`) that run on it.
        rounds: sessions per group and side.
        seed: decides every order.
    """
    return tuple(session for number in range(rounds) for session in _round(comparison, groups, number, seed))


def _round(
    comparison: Comparison, groups: Mapping[str, Sequence[str]], number: int, seed: int
) -> Iterable[PlannedSession]:
    units: list[tuple[str, tuple[tuple[Side, str], ...]]] = []
    main = comparison.contender
    for group in groups.get(main, ()):
        if comparison.baseline is None:
            units.append((group, ((Side.SINGLE, main),)))
        elif group in groups.get(comparison.baseline, ()):
            units.append((group, ((Side.BASELINE, comparison.baseline), (Side.CONTENDER, main))))
    accompanied = comparison.beside_rounds is None or number < comparison.beside_rounds
    for release in comparison.beside if accompanied else ():
        units += [(group, ((Side.BESIDE, release),)) for group in groups.get(release, ())]
    units.sort(key=lambda unit: _draw(seed, number, unit[0], *(release for _, release in unit[1])))
    for group, sides in units:
        yield from _unit(group, sides, number, seed)


def pair(
    comparison: Comparison, group: str, number: int, *, seed: int, stage: Stage = "search"
) -> tuple[PlannedSession, ...]:
    """The two sessions of one pair, as `plan` has them in round `number`; a stage has rounds of its own."""
    sides = ((Side.BASELINE, comparison.baseline or ""), (Side.CONTENDER, comparison.contender))
    return tuple(_unit(group, sides, number, seed, stage))


def _unit(
    group: str, sides: Sequence[tuple[Side, str]], number: int, seed: int, stage: Stage = "search"
) -> Iterable[PlannedSession]:
    """The sessions of one group in one round, in the order they run."""
    drawn = _draw(seed, number // 2, group, "side", *(() if stage == "search" else (stage,)))
    flipped = len(sides) > 1 and (drawn + number) % 2 == 1
    for position, (side, release) in enumerate(reversed(sides) if flipped else sides):
        key = SessionKey(round=number, benchmark=group, side=side, release=release, stage=stage)
        yield PlannedSession(key=key, position=position)


def _draw(*parts: object) -> int:
    """A number in 0..2^64-1 that depends on `parts` alone, on every machine and Python."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "big")


def remaining(
    planned: Sequence[PlannedSession], settled: Collection[SessionKey]
) -> tuple[PlannedSession, ...]:
    """The planned sessions that are neither finished nor skipped, in order."""
    return tuple(session for session in planned if session.key not in settled)


def session_key(session: RecordedSession) -> SessionKey:
    """Which place of the plan a finished session fills."""
    place = session.place
    return SessionKey(
        round=place.pair,
        benchmark=session.record.benchmark,
        side=place.side,
        release=place.release,
        stage=place.stage,
    )


def units(
    sessions: Sequence[PlannedSession], *, pairs_together: bool
) -> Iterator[tuple[PlannedSession, ...]]:
    """The sessions in the order they run; with `pairs_together` the two of a pair are one unit."""
    waiting: PlannedSession | None = None
    for session in sessions:
        if waiting is not None and _are_pair(waiting, session):
            yield waiting, session
            waiting = None
            continue
        if waiting is not None:
            yield (waiting,)
        waiting = session if pairs_together else None
        if not pairs_together:
            yield (session,)
    if waiting is not None:
        yield (waiting,)


def _are_pair(left: PlannedSession, right: PlannedSession) -> bool:
    return (left.key.round, left.key.benchmark) == (right.key.round, right.key.benchmark) and {
        left.key.side,
        right.key.side,
    } == {Side.BASELINE, Side.CONTENDER}
