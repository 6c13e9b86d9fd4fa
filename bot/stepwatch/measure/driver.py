"""stepwatch's own driver: alternates releases session by session and keeps every finished session.

asv runs one release after the other and saves at the end, so machine drift looks like a difference and a
crash loses hours. Here each session is on disk before the next one begins: first its sidecar line, the
record of truth, then the asv rows derived from it. A kill at any moment loses what is running (one session,
or the two of a pair that take turns); the next start derives the rows again and goes on with what is left.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Literal

from stepwatch.errors import EnvironmentFailed, UsageError
from stepwatch.history.sidecar import read_sidecar
from stepwatch.measure.asv_results import ENVIRONMENT_TYPE, freeze_machine, read_revisions
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
    Progress,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    quiet,
)
from stepwatch.measure.job import Job, Summary
from stepwatch.measure.records import MachineRecords, load_records
from stepwatch.measure.session import (
    Failed,
    Finished,
    SessionRequest,
    SessionResult,
    Skipped,
    device_name,
    run_sessions,
)
from stepwatch.measure.sidecar import SidecarWriter, open_sidecar
from stepwatch.measure.storage import machine_lock
from stepwatch.measure.suite import save_benchmarks
from stepwatch.model import Place, RecordedFailure, RecordedSession, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.history.sidecar import Sidecar
    from stepwatch.measure.asv_results import Revision
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
        UsageError: the campaign on disk is another one (seed, accelerator, size).
    """
    with machine_lock(job.results, job.machine):
        return _Run(job, store, progress).go()


class _Run:
    """One run of a campaign; holds what changes while it goes on."""

    def __init__(self, job: Job, store: EnvironmentStore, progress: Progress) -> None:
        self.job, self.store, self.progress = job, store, progress
        self.files = job.result_files()
        self.revisions: dict[str, Revision] = read_revisions(job.history_repo, job.comparison.releases)
        self.environments: dict[str, BuiltEnvironment] = {}
        self.closed: set[tuple[str, str]] = set()
        self.empty_places: Counter[tuple[str, str]] = Counter()
        self.records: MachineRecords = load_records(job.results, job.machine)
        for revision in self.revisions.values():
            self.files.check(revision)
        self.writer, present = self._open()
        self.planned = plan(
            job.comparison, job.groups_by_release(), rounds=job.sessions, seed=self.writer.header.seed
        )
        self.todo = remaining(self.planned, {session_key(s) for s in present.sessions})
        self.summary = Summary(
            sidecar=self.writer.path,
            planned=len(self.planned),
            finished_before=len(self.planned) - len(self.todo),
        )
        self._close_known_skips(present)

    def _open(self) -> tuple[SidecarWriter, Sidecar]:
        writer, present = open_sidecar(self.job.results, self.job.header())
        if self.job.seed is not None and self.job.seed != writer.header.seed:
            raise UsageError(
                f"{writer.path}: this campaign was begun with --seed {writer.header.seed}; "
                "leave --seed out, or move the file away"
            )
        return writer, present

    def _close_known_skips(self, present: Sidecar) -> None:
        """A benchmark whose framework a lock does not hold stays skipped as long as the lock is the same."""
        for failure in present.failures:
            place = failure.place
            if failure.stage != "skipped" or place is None or failure.benchmark is None:
                continue
            if place.lock == self.job.lock_digest(place.release):
                self.closed.add((failure.benchmark, place.release))

    def go(self) -> Summary:
        """Heal what a kill left, build environments, run sessions."""
        save_benchmarks(self.job.suite, self.job.results)
        for release in self.revisions:
            self._derive_rows(release, None)
        try:
            self._build_environments()
            self._run_sessions()
        except KeyboardInterrupt:
            # It may have come right behind the write of a session: what is on disk is what counts.
            self.summary.interrupted = True
            self.summary.finished = len(self._finished_now()) - self.summary.finished_before
        finally:
            for environment in self.environments.values():
                environment.close()
        return self.summary

    def _finished_now(self) -> set[SessionKey]:
        on_disk = {session_key(session) for session in read_sidecar(self.writer.path).sessions}
        return on_disk & {session.key for session in self.planned}

    def _build_environments(self) -> None:
        for name in dict.fromkeys(session.key.release for session in self.todo):
            release = self.job.releases[name]
            self.progress(EnvironmentStarted(release=name))
            try:
                built = self.store.ensure(release, self.job.accelerator, self.job.lock_path(name))
            except EnvironmentFailed as error:
                self.summary.broken_environments[name] = str(error)
                self._record_failure(None, name, None, "environment", Failed(reason=str(error), detail=""))
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
        left = self.records.expected_total(s.key.benchmark for s in self.todo[done:] if self._is_open(s))
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
        match self._checked(result):
            case Finished(record=record):
                self._keep(RecordedSession(place=place, record=record))
                return record.wall_seconds
            case Skipped(reason=reason):
                failed = Failed(reason=reason, detail="")
                self._record_failure(place, key.release, key.benchmark, "skipped", failed)
                self._close(key, reason)
                self.summary.skipped += 1
            case Failed(reason=reason) as failed:
                self._record_failure(place, key.release, key.benchmark, "session", failed)
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

    def _checked(self, result: SessionResult) -> SessionResult:
        """A session on another device than the machine's earlier ones is a failure, never data."""
        if isinstance(result, Finished):
            extra = {
                "accelerator": self.job.accelerator,
                "size": result.record.size,
                "device": device_name(result.record),
            }
            try:
                freeze_machine(self.job.results, self.job.machine, extra)
            except UsageError as error:
                return Failed(reason=str(error), detail="")
        return result

    def _request(self, session: PlannedSession) -> SessionRequest:
        environment = self.environments[session.key.release]
        group = self.job.groups[session.key.benchmark]
        revision = self.revisions[session.key.release]
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
                "ASV_ENV_NAME": self.files.env_name,
                "ASV_ENV_TYPE": ENVIRONMENT_TYPE,
            },
        )

    def _keep(self, session: RecordedSession) -> None:
        self.writer.append(session)
        self.summary.finished += 1
        self.records.add(self.writer.header, session)
        self._derive_rows(session.place.release, session.record.benchmark)

    def _derive_rows(self, release: str, group: str | None) -> None:
        sessions = self.records.of(release, group)
        if sessions:
            self.files.write(self.revisions[release], self.job.suite.groups(), sessions)

    def _record_failure(
        self,
        place: Place | None,
        release: str,
        benchmark: str | None,
        stage: Literal["environment", "session", "skipped"],
        failed: Failed,
    ) -> None:
        self.writer.append(
            RecordedFailure(
                place=place,
                benchmark=benchmark,
                release=release,
                stage=stage,
                reason=failed.reason,
                detail=failed.detail,
                at=time.time(),
            )
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
