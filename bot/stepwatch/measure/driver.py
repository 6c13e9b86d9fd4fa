"""stepwatch's own driver: alternates releases session by session and keeps every finished session.

asv runs one release after the other and saves at the end, so machine drift looks like a difference and a
crash loses hours. Here each session is on disk before the next one begins: first its sidecar line, the
record of truth, then the asv rows derived from it. A kill at any moment loses what is running (one session,
or the two of a pair that take turns); the next start derives the rows again and goes on with what is left.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING

from stepwatch.errors import EnvironmentFailed
from stepwatch.measure.asv_results import ENVIRONMENT_TYPE
from stepwatch.measure.campaign import (
    PlannedSession,
    SessionKey,
    plan,
    remaining,
    session_key,
    units,
)
from stepwatch.measure.events import (
    EnvironmentBroken,
    EnvironmentReady,
    EnvironmentStarted,
    GroupClosed,
    Noted,
    Progress,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    quiet,
)
from stepwatch.measure.job import Job, Summary
from stepwatch.measure.ledger import Ledger
from stepwatch.measure.session import (
    Failed,
    Finished,
    SessionRequest,
    SessionResult,
    Skipped,
    run_sessions,
)
from stepwatch.measure.storage import machine_lock
from stepwatch.model import Place, RecordedSession, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.measure.environments import BuiltEnvironment, EnvironmentStore

ATTEMPTS = 2
"""How often a session is tried before its place stays empty."""
FAILURES_BEFORE_CLOSING = 2
"""How many places of one benchmark on one release may stay empty before the run gives it up."""


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
    """One run of a campaign; holds what changes while it goes on."""

    def __init__(self, job: Job, store: EnvironmentStore, progress: Progress) -> None:
        self.job, self.store, self.progress = job, store, progress
        self.ledger = Ledger(job)
        self.environments: dict[str, BuiltEnvironment] = {}
        self.closed: set[tuple[str, str]] = set()
        self.empty_places: Counter[tuple[str, str]] = Counter()
        writer = self.ledger.writer
        self.planned = plan(
            job.comparison, job.groups_by_release(), rounds=job.sessions, seed=writer.header.seed
        )
        self.todo = remaining(self.planned, {session_key(s) for s in self.ledger.present.sessions})
        self.summary = Summary(
            sidecar=writer.path,
            planned=len(self.planned),
            finished_before=len(self.planned) - len(self.todo),
        )

    def go(self) -> Summary:
        """Heal what a kill left, build environments, run sessions."""
        for note in self.ledger.notes():
            self.progress(Noted(text=note))
        self.ledger.heal()
        try:
            self._build_environments()
            self._run_sessions()
        except KeyboardInterrupt:
            # It may have come right behind the write of a session: what is on disk is what counts.
            self.summary.interrupted = True
            on_disk = self.ledger.finished_now() & {session.key for session in self.planned}
            self.summary.finished = len(on_disk) - self.summary.finished_before
        finally:
            for environment in self.environments.values():
                environment.close()
        return self.summary

    def _build_environments(self) -> None:
        for name in dict.fromkeys(session.key.release for session in self.todo):
            release = self.job.releases[name]
            self.progress(EnvironmentStarted(release=name))
            try:
                built = self.store.ensure(release, self.job.accelerator, self.job.lock_path(name))
            except EnvironmentFailed as error:
                self.summary.broken_environments[name] = str(error)
                failed = Failed(reason=str(error), detail="")
                # One line per benchmark: each of them gets its row, `broken`, in the report.
                for group in self.job.groups_by_release()[name]:
                    self.ledger.record_failure(failed, release=name, stage="environment", benchmark=group)
                self.progress(EnvironmentBroken(release=name, reason=str(error)))
            else:
                self.environments[name] = built
                self.progress(
                    EnvironmentReady(
                        release=name, source=built.stamp.source, built_seconds=built.built_seconds
                    )
                )

    def _run_sessions(self) -> None:
        number = 0
        for unit in units(self.todo, pairs_together=self.job.turns):
            wanted = [session for session in unit if self._is_open(session)]
            self.summary.skipped += len(unit) - len(wanted)
            if wanted:
                self._announce(wanted[0], number)
                self._run_unit(wanted, number)
            number += len(unit)

    def _announce(self, session: PlannedSession, done: int) -> None:
        left = self.ledger.records.expected_total(
            s.key.benchmark for s in self.todo[done:] if self._is_open(s)
        )
        total = len(self.todo)
        self.progress(SessionStarted(session=session, number=done + 1, total=total, seconds_left=left))

    def _run_unit(self, unit: Sequence[PlannedSession], done: int) -> None:
        """Fill one place of the plan, or the two of a pair together; what failed is tried again alone."""
        places = [_place(session, self.environments[session.key.release].stamp.lock) for session in unit]
        results = run_sessions([self._request(session) for session in unit])
        for offset, (session, place, result) in enumerate(zip(unit, places, results, strict=True)):
            seconds = self._settle(session, place, result, attempt=1) or self._try_again(session)
            if seconds is not None:
                number, total = done + offset + 1, len(self.todo)
                self.progress(SessionFinished(session=session, number=number, total=total, seconds=seconds))

    def _try_again(self, session: PlannedSession) -> float | None:
        """Further attempts at a place, alone; the session's seconds if one filled it."""
        for attempt in range(2, ATTEMPTS + 1):
            if not self._is_open(session):
                return None
            place = _place(session, self.environments[session.key.release].stamp.lock)
            (result,) = run_sessions([self._request(session)])
            seconds = self._settle(session, place, result, attempt=attempt)
            if seconds is not None:
                return seconds
        return None

    def _is_open(self, session: PlannedSession) -> bool:
        """Whether a session is worth running: its release, and the other side's, can still be measured."""
        comparison, key = self.job.comparison, session.key
        paired = key.side in (Side.BASELINE, Side.CONTENDER)
        needed = {key.release, *filter(None, (comparison.baseline, comparison.contender) if paired else ())}
        return all(
            name not in self.summary.broken_environments and (key.benchmark, name) not in self.closed
            for name in needed
        )

    def _settle(
        self, session: PlannedSession, place: Place, result: SessionResult, *, attempt: int
    ) -> float | None:
        """Record what came of an attempt; the session's seconds if the place is filled now."""
        key = session.key
        match self._checked(key, result):
            case Finished(record=record):
                self.ledger.keep(RecordedSession(place=place, record=record))
                self.summary.finished += 1
                return record.wall_seconds
            case Failed(reason=reason) as failed:
                self.ledger.record_failure(
                    failed, release=key.release, stage="session", place=place, benchmark=key.benchmark
                )
                self.progress(SessionFailed(session=session, reason=reason, retry=attempt < ATTEMPTS))
                if attempt == ATTEMPTS:
                    self._leave_empty(key)
        return None

    def _leave_empty(self, key: SessionKey) -> None:
        self.summary.failed += 1
        self.empty_places[key.benchmark, key.release] += 1
        if self.empty_places[key.benchmark, key.release] >= FAILURES_BEFORE_CLOSING:
            self._close(key, f"{FAILURES_BEFORE_CLOSING} sessions failed")

    def _close(self, key: SessionKey, reason: str) -> None:
        self.closed.add((key.benchmark, key.release))
        self.progress(GroupClosed(benchmark=key.benchmark, release=key.release, reason=reason))

    def _checked(self, key: SessionKey, result: SessionResult) -> Finished | Failed:
        """What a session is worth here.

        Only benchmarks of a release's own track run on it, and its lock holds that framework: a session
        that does not find it met a damaged environment, which is a failure and no reason to skip.
        """
        match result:
            case Finished(record=record):
                fault = self.ledger.fault_of(record)
                return result if fault is None else Failed(reason=fault, detail="")
            case Skipped(reason=reason):
                next_step = f"delete {self.environments[key.release].path} and run the command again"
                return Failed(reason=f"{reason}, though its lock has it; {next_step}", detail="")
            case Failed():
                return result

    def _request(self, session: PlannedSession) -> SessionRequest:
        environment = self.environments[session.key.release]
        group = self.job.groups[session.key.benchmark]
        revision = self.ledger.revisions[session.key.release]
        planted = session.key.side is not Side.BASELINE and session.key.side is not Side.BESIDE
        return SessionRequest(
            benchmark=group.name,
            benchmark_id=group.benchmarks[0].name,
            suite=self.job.suite.folder,
            python=environment.python,
            accelerator=self.job.accelerator,
            size=self.job.size,
            timeout_seconds=group.timeout_seconds,
            cache_folder=environment.cache_folder(group.name),
            plant=self.job.plant if planted else "",
            asv_variables={
                "ASV": "true",
                "ASV_COMMIT": revision.commit,
                "ASV_CONF_DIR": str(self.job.project_folder),
                "ASV_ENV_DIR": str(environment.path),
                "ASV_ENV_NAME": self.ledger.files.env_name,
                "ASV_ENV_TYPE": ENVIRONMENT_TYPE,
            },
        )


def _place(session: PlannedSession, lock: str) -> Place:
    return Place(
        session=uuid.uuid4().hex[:12],
        release=session.key.release,
        side=session.key.side,
        pair=session.key.round,
        position=session.position,
        lock=lock,
    )
