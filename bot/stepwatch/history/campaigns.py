"""Choosing what one report judges among everything a machine has measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwatch.errors import DataError, HistoryNotFound, UsageError
from stepwatch.history.calibration import is_calibration
from stepwatch.history.credibility import credible
from stepwatch.history.sidecar import SESSIONS_FOLDER, Sidecar, find_sidecars, read_sidecar
from stepwatch.model import Side
from stepwatch.verdict import CampaignFailure, CampaignSession, Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from stepwatch.model import Stage
    from stepwatch.verdict import MetricTraits

COMMIT_PREFIX, LOCK_PREFIX = "commit/", "lock/"
"""How results begin the names of sides that are no releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a report is asked for."""

    baseline: str | None
    """None: one release alone."""
    contender: str
    plant: str = ""
    """The planted slowdown of a self-test; empty: real measurements only."""

    @property
    def spec(self) -> str:
        """As on the command line."""
        return _spec(self.baseline, self.contender)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The campaigns of one comparison, and the others of the machine that may lend twins."""

    comparison: Comparison
    campaigns: tuple[Sidecar, ...]
    accelerator: str
    size: str
    evidence: Evidence
    notes: tuple[str, ...]


def find_machine(results: Path, asked: str | None) -> str:
    """The machine whose sessions are judged: the one asked for, or the only one.

    Raises:
        HistoryNotFound: there is none (or not the one asked for).
        UsageError: there are several and none was asked for.
    """
    machines = sorted(path.parent.name for path in results.glob(f"*/{SESSIONS_FOLDER}") if path.is_dir())
    if asked:
        if asked not in machines:  # a name, not a path: `lab/../lab` would be a machine of its own
            raise HistoryNotFound(results / asked / SESSIONS_FOLDER)
        return asked
    if not machines:
        raise HistoryNotFound(results)
    if len(machines) > 1:
        raise UsageError(f"{results} holds several machines: add --machine {' or --machine '.join(machines)}")
    return machines[0]


def read_campaigns(results: Path, machine: str) -> tuple[Sidecar, ...]:
    """Every campaign of a machine, as far as it is evidence.

    Raises:
        HistoryNotFound: there is none.
        MalformedFile, UnsupportedSchema: a sidecar cannot be read.
    """
    sidecars = tuple(read_sidecar(path) for path in find_sidecars(results, machine))
    if not sidecars:
        raise HistoryNotFound(results / machine / SESSIONS_FOLDER)
    return credible(sidecars)


def newest_comparison(sidecars: Sequence[Sidecar]) -> Comparison:
    """The comparison that is meant when none is named: the newest pair campaign that measured something.

    A self-test is meant only where nothing else is, before it a campaign that ended before its first session
    (its budget was too small), before that a calibration.

    Raises:
        UsageError: nothing was measured in pairs.
    """
    pairs = [sidecar for sidecar in sidecars if sidecar.header.baseline and sidecar.header.contender]
    if not pairs:
        raise UsageError(
            "no pair was measured yet: run `stepwatch measure A..B`, or name one release to see its twins"
        )
    newest = max(pairs, key=_significance).header
    return Comparison(baseline=newest.baseline, contender=newest.contender or "", plant=newest.plant)


def _significance(sidecar: Sidecar) -> tuple[bool, bool, bool, float]:
    header = sidecar.header
    return (
        not header.plant,
        _holds_something(sidecar),
        not is_calibration(header.campaign),
        header.created_at,
    )


def _holds_something(sidecar: Sidecar) -> bool:
    return bool(sidecar.sessions or sidecar.failures)


def select(
    sidecars: Sequence[Sidecar], comparison: Comparison, traits: Mapping[str, MetricTraits]
) -> Selection:
    """Gather the evidence of one comparison.

    The campaigns of the comparison give its pairs, failures and twins; sessions measured alone (`single`)
    on the same accelerator and size lend further twins. Campaigns on another accelerator or size are left
    out, with a note: the newest campaign decides which is meant.

    Raises:
        DataError: nothing was measured for this comparison; a passing run without data does not exist.
    """
    matching = [sidecar for sidecar in sidecars if _matches(sidecar, comparison)]
    if not any(map(_holds_something, matching)):
        known = {
            _spec(sidecar.header.baseline, sidecar.header.contender or sidecar.header.campaign)
            for sidecar in sidecars
            if _holds_something(sidecar)
        }
        doubts = "; ".join(note for sidecar in matching for note in sidecar.notes)
        raise DataError(
            f"{comparison.spec}: no session of it here; run {_command(comparison)} "
            f"({doubts or 'measured: ' + (', '.join(sorted(known)) or 'nothing')})"
        )
    newest = max(matching, key=lambda sidecar: sidecar.header.created_at).header
    campaigns = tuple(
        sidecar
        for sidecar in matching
        if (sidecar.header.accelerator, sidecar.header.size) == (newest.accelerator, newest.size)
    )
    left_out = [sidecar.path.name for sidecar in matching if sidecar not in campaigns]
    notes = [note for sidecar in campaigns for note in sidecar.notes]
    notes += [f"{name}: another accelerator or size, left out" for name in left_out]
    return Selection(
        comparison=comparison,
        campaigns=campaigns,
        accelerator=newest.accelerator,
        size=newest.size,
        evidence=Evidence(
            baseline=comparison.baseline,
            contender=comparison.contender,
            accelerator=newest.accelerator,
            size=newest.size,
            sessions=(*_own(campaigns, comparison), *_lent(sidecars, campaigns)),
            fresh=_sessions(campaigns, "confirm") if comparison.baseline is not None else (),
            failures=tuple(
                CampaignFailure(campaign=sidecar.path.stem, failure=failure)
                for sidecar in campaigns
                for failure in sidecar.failures
            ),
            traits=traits,
        ),
        notes=tuple(notes),
    )


def _matches(sidecar: Sidecar, comparison: Comparison) -> bool:
    """Whether a campaign belongs to the comparison; a release alone may be part of any unplanted one."""
    header = sidecar.header
    if comparison.baseline is None:
        return not header.plant and any(
            session.place.release == comparison.contender for session in sidecar.sessions
        )
    return (header.baseline, header.contender, header.plant) == (
        comparison.baseline,
        comparison.contender,
        comparison.plant,
    )


def _spec(baseline: str | None, contender: str) -> str:
    if baseline is None:
        return contender
    return f"--a-a {contender}" if baseline == contender else f"{baseline}..{contender}"


def _command(comparison: Comparison) -> str:
    """What measures a comparison: commits, and locks that are not a release's own, only `compare` knows."""
    if comparison.baseline and not (is_release(comparison.baseline) and is_release(comparison.contender)):
        return "`stepwatch compare` on its two sides"
    return f"`stepwatch measure {comparison.spec}`"


def is_release(name: str) -> bool:
    """Whether results mean a release by `name`, not a commit or the content of a lock."""
    return not name.startswith((COMMIT_PREFIX, LOCK_PREFIX))


def _sessions(sidecars: Sequence[Sidecar], stage: Stage = "search") -> tuple[CampaignSession, ...]:
    return tuple(
        CampaignSession(campaign=sidecar.path.stem, place=session.place, record=session.record)
        for sidecar in sidecars
        for session in sidecar.sessions
        if session.place.stage == stage
    )


def _own(campaigns: Sequence[Sidecar], comparison: Comparison) -> Sequence[CampaignSession]:
    """The sessions of the comparison; of a release alone one side of its A/A campaigns, not two per round."""
    if comparison.baseline is not None:
        return _sessions(campaigns)
    doubled = {
        sidecar.path.stem for sidecar in campaigns if sidecar.header.baseline == sidecar.header.contender
    }
    return [
        session
        for session in _sessions(campaigns)
        if not (session.place.side is Side.BASELINE and session.campaign in doubled)
    ]


def _lent(sidecars: Sequence[Sidecar], campaigns: Sequence[Sidecar]) -> list[CampaignSession]:
    """Sessions measured alone, in campaigns that are not the comparison's own."""
    others = [sidecar for sidecar in sidecars if sidecar not in campaigns and not sidecar.header.plant]
    return [session for session in _sessions(others) if session.place.side is Side.SINGLE]
