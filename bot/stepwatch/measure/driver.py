"""stepwatch's own driver of a fixed plan: alternates releases session by session, keeps every finished one.

asv runs one release after the other and saves at the end, so machine drift looks like a difference and a
crash loses hours. Here a kill at any moment loses what is running (one session, or the two of a pair that
take turns); the next start derives asv's rows again and goes on with what is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepwatch.measure.campaign import plan, remaining, session_key, units
from stepwatch.measure.engine import Engine
from stepwatch.measure.events import Progress, SessionFinished, SessionStarted, quiet
from stepwatch.measure.job import Job, Summary
from stepwatch.measure.storage import machine_lock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.measure.campaign import PlannedSession
    from stepwatch.measure.environments import EnvironmentStore


def run_campaign(job: Job, *, store: EnvironmentStore, progress: Progress = quiet) -> Summary:
    """Run what is left of a campaign, and say how it ended; an interrupt ends it early.

    Raises:
        Busy: another process measures on this machine name.
        MalformedFile: a sidecar or result file cannot be read; nothing was started.
        StorageFailed: no space or no permission; finished sessions are safe.
        UnknownRelease: the release-history repository has no such release.
        UsageError: the campaign on disk, or the machine of this name, is another one (seed, accelerator,
            size).
    """
    with machine_lock(job.results, job.machine):
        return _Run(job, store, progress).go()


class _Run:
    """One run of a campaign."""

    def __init__(self, job: Job, store: EnvironmentStore, progress: Progress) -> None:
        self.engine, self.progress = Engine(job, store, progress), progress
        ledger = self.engine.ledger
        self.planned = plan(
            job.comparison, job.groups_by_release(), rounds=job.sessions, seed=ledger.writer.header.seed
        )
        self.todo = remaining(self.planned, {session_key(s) for s in ledger.present.sessions})
        self.turns = job.turns
        self.summary = Summary(
            sidecar=ledger.writer.path,
            planned=len(self.planned),
            finished_before=len(self.planned) - len(self.todo),
            broken_environments=self.engine.broken_environments,
        )

    def go(self) -> Summary:
        """Heal what a kill left, build environments, run sessions."""
        engine, summary = self.engine, self.summary
        engine.heal()
        try:
            engine.build_environments((s.key.release, s.key.benchmark) for s in self.todo)
            self._run_sessions()
            summary.finished = engine.finished
        except KeyboardInterrupt:
            # It may have come right behind the write of a session: what is on disk is what counts.
            summary.interrupted = True
            on_disk = engine.ledger.finished_now() & {session.key for session in self.planned}
            summary.finished = len(on_disk) - summary.finished_before
        finally:
            engine.close()
        summary.failed = engine.failed
        return summary

    def _run_sessions(self) -> None:
        number = 0
        for unit in units(self.todo, pairs_together=self.turns):
            wanted = [session for session in unit if self.engine.is_open(session)]
            self.summary.skipped += len(unit) - len(wanted)
            if wanted:
                self._announce(wanted[0], number)
                self._run(wanted, number)
            number += len(unit)

    def _announce(self, session: PlannedSession, done: int) -> None:
        left = self.engine.ledger.records.expected_total(
            s.key.benchmark for s in self.todo[done:] if self.engine.is_open(s)
        )
        total = len(self.todo)
        self.progress(SessionStarted(session=session, number=done + 1, total=total, seconds_left=left))

    def _run(self, unit: Sequence[PlannedSession], done: int) -> None:
        def finished(session: PlannedSession, seconds: float) -> None:
            number, total = done + unit.index(session) + 1, len(self.todo)
            self.progress(SessionFinished(session=session, number=number, total=total, seconds=seconds))

        self.engine.run_unit(unit, finished)
