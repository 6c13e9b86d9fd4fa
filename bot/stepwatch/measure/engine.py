"""The engine of every campaign: environments, sessions, retries, and writing down what came of them.

What runs in which order is decided by a planner: a fixed plan (`driver.py`) or a scheduler that looks at the
verdicts so far (`comparison.py`). Whoever decides, a session is on disk before the next one begins: first its
sidecar line, the record of truth, then the asv rows derived from it.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING

from stepwatch.errors import EnvironmentFailed
from stepwatch.measure.asv_results import ENVIRONMENT_TYPE
from stepwatch.measure.events import (
    EnvironmentBroken,
    EnvironmentReady,
    EnvironmentStarted,
    GroupClosed,
    Noted,
    SessionFailed,
)
from stepwatch.measure.ledger import Ledger
from stepwatch.measure.session import (
    Failed,
    Finished,
    SessionRequest,
    SessionResult,
    Skipped,
    run_sessions,
)
from stepwatch.model import Place, RecordedSession, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stepwatch.measure.campaign import PlannedSession, SessionKey
    from stepwatch.measure.environments import BuiltEnvironment, EnvironmentStore
    from stepwatch.measure.events import Progress
    from stepwatch.measure.job import Job
    from stepwatch.measure.subject import Installation

ATTEMPTS = 2
"""How often a session is tried before its place stays empty."""
FAILURES_BEFORE_CLOSING = 2
"""How many places of one benchmark on one side may stay empty before the run gives it up."""


class Engine:
    """Measures what it is told to; holds what changes while a run goes on."""

    def __init__(self, job: Job, store: EnvironmentStore, progress: Progress) -> None:
        """Read everything that is there; see `Ledger` for what may be wrong with it."""
        self.job, self.store, self.progress = job, store, progress
        self.ledger = Ledger(job)
        self.environments: dict[tuple[str, str], BuiltEnvironment] = {}
        """By name of the subject and benchmark."""
        self.broken_environments: dict[str, str] = {}
        self.closed: set[tuple[str, str]] = set()
        """Benchmark and name of the subject that it is not measured on any more."""
        self.finished = 0
        self.failed = 0
        """Places that stayed empty."""
        self._held: list[BuiltEnvironment] = []
        self._empty_places: Counter[tuple[str, str]] = Counter()

    def heal(self) -> None:
        """Say what is odd about what is there, and make again what a kill left undone."""
        for note in self.ledger.notes():
            self.progress(Noted(text=note))
        self.ledger.heal()

    def close(self) -> None:
        """Let go of the environments."""
        for environment in self._held:
            environment.close()

    def build_environments(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Make ready what `wanted` (name of the subject, benchmark) runs in, or close what cannot run."""
        for name, group in wanted:
            if (name, group) not in self.environments and (group, name) not in self.closed:
                place = self.job.subjects[name].installation_of(group)
                self._build(name, place, _sharing(self.job, name, place))

    def _build(self, name: str, place: Installation, groups: Sequence[str]) -> None:
        shown = name if place.own else f"{name} ({place.release.name})"
        self.progress(EnvironmentStarted(release=shown))
        try:
            built = self.store.ensure(place.release, self.job.accelerator, place.lock_path, own=place.own)
        except EnvironmentFailed as error:
            self.broken_environments[shown] = str(error)
            failed = Failed(reason=str(error), detail="")
            # One line per benchmark: each of them gets its row, `broken`, in the report.
            for group in groups:
                self.closed.add((group, name))
                self.ledger.record_failure(failed, release=name, stage="environment", benchmark=group)
            self.progress(EnvironmentBroken(release=shown, reason=str(error)))
            return
        self._held.append(built)
        self.environments |= {(name, group): built for group in groups}
        self.progress(
            EnvironmentReady(release=shown, source=built.stamp.source, built_seconds=built.built_seconds)
        )

    def is_open(self, session: PlannedSession) -> bool:
        """Whether a session is worth running: its side, and the other one, can still be measured."""
        comparison, key = self.job.comparison, session.key
        paired = key.side in (Side.BASELINE, Side.CONTENDER)
        needed = {key.release, *filter(None, (comparison.baseline, comparison.contender) if paired else ())}
        return not any((key.benchmark, name) in self.closed for name in needed)

    def run_unit(
        self, unit: Sequence[PlannedSession], finished: Callable[[PlannedSession, float], None]
    ) -> None:
        """Fill one place, or the two of a pair together; what failed is tried again alone.

        Args:
            unit: one session, or two that take turns.
            finished: told about each place that is filled, with the session's seconds.
        """
        places = [self._place(session) for session in unit]
        results = run_sessions([self._request(session) for session in unit])
        for session, place, result in zip(unit, places, results, strict=True):
            seconds = self._settle(session, place, result, attempt=1) or self._try_again(session)
            if seconds is not None:
                finished(session, seconds)

    def _try_again(self, session: PlannedSession) -> float | None:
        """Further attempts at a place, alone; the session's seconds if one filled it."""
        for attempt in range(2, ATTEMPTS + 1):
            if not self.is_open(session):
                return None
            (result,) = run_sessions([self._request(session)])
            seconds = self._settle(session, self._place(session), result, attempt=attempt)
            if seconds is not None:
                return seconds
        return None

    def _settle(
        self, session: PlannedSession, place: Place, result: SessionResult, *, attempt: int
    ) -> float | None:
        """Record what came of an attempt; the session's seconds if the place is filled now."""
        key = session.key
        match self._checked(key, result):
            case Finished(record=record):
                self.ledger.keep(RecordedSession(place=place, record=record))
                self.finished += 1
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
        self.failed += 1
        self._empty_places[key.benchmark, key.release] += 1
        if self._empty_places[key.benchmark, key.release] >= FAILURES_BEFORE_CLOSING:
            reason = f"{FAILURES_BEFORE_CLOSING} sessions failed"
            self.closed.add((key.benchmark, key.release))
            self.progress(GroupClosed(benchmark=key.benchmark, release=key.release, reason=reason))

    def _checked(self, key: SessionKey, result: SessionResult) -> Finished | Failed:
        """What a session is worth here.

        Only benchmarks of an environment's own track run in it, and its lock holds that framework: a session
        that does not find it met a damaged environment, which is a failure and no reason to skip.
        """
        match result:
            case Finished(record=record):
                fault = self.ledger.fault_of(record)
                return result if fault is None else Failed(reason=fault, detail="")
            case Skipped(reason=reason):
                environment = self.environments[key.release, key.benchmark]
                next_step = f"delete {environment.path} and run the command again"
                return Failed(reason=f"{reason}, though its lock has it; {next_step}", detail="")
            case Failed():
                return result

    def _request(self, session: PlannedSession) -> SessionRequest:
        key = session.key
        environment = self.environments[key.release, key.benchmark]
        subject = self.job.subjects[key.release]
        group = subject.groups[key.benchmark]
        planted = key.side not in (Side.BASELINE, Side.BESIDE)
        return SessionRequest(
            benchmark=group.name,
            benchmark_id=group.benchmarks[0].name,
            suite=subject.suite.folder,
            python=environment.python,
            accelerator=self.job.accelerator,
            size=self.job.size,
            timeout_seconds=group.timeout_seconds,
            cache_folder=environment.cache_folder(group.name),
            plant=self.job.plant if planted else "",
            asv_variables={
                "ASV": "true",
                "ASV_COMMIT": subject.revision or self.ledger.revisions[key.release].commit,
                "ASV_CONF_DIR": str(subject.project_folder),
                "ASV_ENV_DIR": str(environment.path),
                "ASV_ENV_NAME": self.ledger.files.env_name,
                "ASV_ENV_TYPE": ENVIRONMENT_TYPE,
            },
        )

    def _place(self, session: PlannedSession) -> Place:
        key = session.key
        return Place(
            session=uuid.uuid4().hex[:12],
            release=key.release,
            side=key.side,
            pair=key.round,
            position=session.position,
            lock=self.environments[key.release, key.benchmark].stamp.lock,
            stage=key.stage,
        )


def _sharing(job: Job, name: str, place: Installation) -> list[str]:
    """The benchmarks of a subject that run in one of its environments."""
    subject = job.subjects[name]
    return [group for group in subject.groups if subject.installation_of(group) is place]
