"""Keeping the sessions that plain asv runs: the sidecar `asv-run.jsonl`, beside asv's own results.

asv pools samples without run boundaries and, when a session fails, erases the earlier ones. The sidecar
keeps each session whole, so stepwatch can judge what plain asv measured, and rebuild what asv lost.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asv import util
from asv.console import log

from stepwatch.errors import StepwatchError
from stepwatch.history.sidecar import read_sidecar
from stepwatch.measure.asv_results import MACHINE_FILE
from stepwatch.measure.session import DETAIL_CHARACTERS, Failed, Finished, Skipped, one_line, read_record
from stepwatch.measure.sidecar import SidecarWriter, open_sidecar
from stepwatch.model import (
    SIDECAR_SCHEMA,
    CampaignHeader,
    Place,
    RecordedSession,
    SessionRecord,
    Side,
)

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.measure.session import SessionResult

CAMPAIGN = "asv-run"


def session_result(  # noqa: PLR0913  what was asked for, and what was seen from outside
    session_file: Path,
    benchmark_id: str,
    *,
    accelerator: str,
    size: str,
    lasted_seconds: float,
    code: int,
    output: str,
) -> SessionResult | None:
    """What a `setup_cache` that asv ran came to; None if the suite writes no session records."""
    if code:
        lines = [line for line in output.splitlines() if line.strip()]
        reason = one_line(lines[-1]) if lines else f"exit status {code}"
        return Failed(reason=reason, detail=output[-DETAIL_CHARACTERS:])
    if not session_file.exists():
        return None
    return read_record(
        session_file,
        benchmark=_group(benchmark_id),
        accelerator=accelerator,
        size=size,
        lasted_seconds=lasted_seconds,
    )


def _group(benchmark_id: str) -> str:
    """`mlp.bench.JaxJit` of `mlp.bench.JaxJit.track_loss` (asv appends `-0` for a parameter)."""
    return benchmark_id.partition("-")[0].rpartition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AsvSessions:
    """Appends to `asv-run.jsonl` of the machine that asv measures on."""

    results: Path
    accelerator: str
    size: str

    def keep(self, release: str, lock: str, benchmark_id: str, result: SessionResult) -> None:
        """Append a finished or failed session; a skipped one leaves nothing.

        asv still has the numbers when the evidence beside them cannot be written, so that is shown and
        does not end the run.
        """
        try:
            if isinstance(result, Finished):
                self._append_session(release, lock, result.record)
            elif not isinstance(result, Skipped):
                self._append_failure(release, "session", result, benchmark=_group(benchmark_id))
        except StepwatchError as error:
            log.error(str(error))

    def keep_failed_install(self, release: str, reason: str) -> None:
        """Append that an environment could not be built."""
        try:
            self._append_failure(release, "environment", Failed(reason=reason, detail=""))
        except StepwatchError as error:
            log.error(str(error))

    def _append_session(self, release: str, lock: str, record: SessionRecord) -> None:
        writer = self._writer()
        present = read_sidecar(writer.path).sessions
        same = [s for s in present if (s.place.release, s.record.benchmark) == (release, record.benchmark)]
        place = Place(
            session=uuid.uuid4().hex[:12],
            release=release,
            side=Side.SINGLE,
            pair=len(same),
            position=0,
            lock=lock,
        )
        writer.append(RecordedSession(place=place, record=record))

    def _append_failure(
        self,
        release: str,
        stage: Literal["environment", "session"],
        failed: Failed,
        *,
        benchmark: str | None = None,
    ) -> None:
        failure = failed.recorded(release=release, stage=stage, benchmark=benchmark)
        self._writer().append(failure)

    def _writer(self) -> SidecarWriter:
        header = CampaignHeader(
            schema=SIDECAR_SCHEMA,
            campaign=CAMPAIGN,
            baseline=None,
            contender=None,
            seed=0,
            created_at=time.time(),
            machine=_current_machine(self.results),
            accelerator=self.accelerator,
            size=self.size,
        )
        return open_sidecar(self.results, header)[0]


def _current_machine(results: Path) -> str:
    """The machine of this run; asv tells plugins nothing, but writes its `machine.json` anew at the start."""
    files = sorted(results.glob(f"*/{MACHINE_FILE}"), key=lambda path: path.stat().st_mtime)
    if not files:
        raise util.UserError(f"{results}: no machine is described here; run `asv machine --yes`")
    return files[-1].parent.name
