"""The books of a run: the sidecar first, then what is derived from it (asv rows, `machine.json`).

A session counts from the moment its sidecar line is on disk. Everything else can be made again from the
lines, and is, at the start of every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from stepwatch.errors import UsageError
from stepwatch.history.credibility import credible
from stepwatch.history.sidecar import read_sidecar
from stepwatch.measure.asv_results import freeze_machine, read_revisions
from stepwatch.measure.campaign import SessionKey, session_key
from stepwatch.measure.records import MachineRecords, load_records, machine_class
from stepwatch.measure.sidecar import open_sidecar
from stepwatch.measure.suite import save_benchmarks
from stepwatch.model import RecordedSession, Side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stepwatch.measure.asv_results import Revision
    from stepwatch.measure.job import Job
    from stepwatch.measure.session import Failed
    from stepwatch.model import Place, SessionRecord


class Ledger:
    """Reads what is there when it is made, and writes down what a run of `job` adds."""

    def __init__(self, job: Job) -> None:
        """Read everything before anything starts.

        Raises:
            MalformedFile: a sidecar or result file cannot be read.
            UnknownRelease: the release-history repository has no such release.
            UsageError: the campaign on disk, or the machine of this name, is another one.
        """
        self.job = job
        self.files = job.result_files()
        releases = job.releases()
        self.revisions: dict[str, Revision] = read_revisions(job.history_repo, releases) if releases else {}
        self.records: MachineRecords = load_records(job.results, job.machine)
        for revision in self.revisions.values():
            self.files.check(revision)
        job.check_machine(self.records)
        self.writer, self.present = open_sidecar(job.results, job.header(), seed=job.seed)
        (evidence,) = credible((self.present,))
        self.sessions, self.failures = list(evidence.sessions), list(evidence.failures)
        """What the campaign holds, as far as it is evidence; grows with the run."""

    def notes(self) -> Iterator[str]:
        """What whoever runs this should know about what is there already."""
        yield from self.records.notes
        paired = [s for s in self.present.sessions if s.place.side in (Side.BASELINE, Side.CONTENDER)]
        took_turns = [bool(session.record.settings.get("turns")) for session in paired]
        if paired and any(took_turns) != self.job.turns:
            kind = "took turns" if any(took_turns) else "took no turns"
            yield f"earlier pairs of this campaign {kind}, unlike those of this run; all are judged together"

    def heal(self) -> None:
        """Make again what a kill, plain asv or a clean-up took: machine file, benchmarks and rows.

        Raises:
            MalformedFile: the machine file describes another machine.
            StorageFailed: no space or no permission.
        """
        save_benchmarks(self.job.suite, self.job.results, only_new=not self.job.suite_is_the_trackers)
        if self.records.machine_class:
            freeze_machine(self.job.results, self.job.machine, {}, earlier=self.records.machine_class)
        for release in self.revisions:
            self._derive_rows(release, None)

    def read_again(self) -> None:
        """Bring `sessions` and `failures` up to the disk: an interrupt may have come right behind a write."""
        (evidence,) = credible((read_sidecar(self.writer.path),))
        self.sessions, self.failures = list(evidence.sessions), list(evidence.failures)

    def finished_now(self) -> set[SessionKey]:
        """Which places are filled on disk at this moment."""
        return {session_key(session) for session in read_sidecar(self.writer.path).sessions}

    def fault_of(self, record: SessionRecord) -> str | None:
        """Why a sound record is no data here: it was measured on another device than the earlier ones."""
        try:
            freeze_machine(
                self.job.results,
                self.job.machine,
                machine_class(record),
                earlier=self.records.machine_class,
            )
        except UsageError as error:
            return str(error)
        return None

    def keep(self, session: RecordedSession) -> None:
        """Write a session down, then the rows that follow from it."""
        self.writer.append(session)
        self.sessions.append(session)
        self.records.add(self.writer.header, session)
        self._derive_rows(session.place.release, session.record.benchmark)

    def record_failure(
        self,
        failed: Failed,
        *,
        release: str,
        stage: Literal["environment", "session"],
        place: Place | None = None,
        benchmark: str | None = None,
    ) -> None:
        """Write down what could not be measured, and why."""
        failure = failed.recorded(release=release, stage=stage, place=place, benchmark=benchmark)
        self.writer.append(failure)
        self.failures.append(failure)

    def _derive_rows(self, release: str, group: str | None) -> None:
        """Bring the rows of a release up to date; commits and locks that are not a release's have none."""
        sessions = self.records.of(release, group)
        if sessions and release in self.revisions:
            self.files.write(self.revisions[release], self.job.suite.groups(), sessions)
