"""One session: a fresh process of a release's environment that runs the suite's session protocol.

The process is the one asv would start (`asv/benchmark.py setup_cache`), so plain `asv run` and stepwatch's
own driver measure the same thing. What comes back is a value: finished, failed or skipped; a failed
session is recorded and never becomes data.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec
from asv.runner import BENCHMARK_RUN_SCRIPT

from stepwatch.measure.children import Command, Ended, run_children, signal_name
from stepwatch.measure.scratch import scratch_folder
from stepwatch.model import RecordedFailure, SessionRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from stepwatch.model import Place

RECORD_SCHEMA = 1
DETAIL_CHARACTERS = 4000
_REASON_CHARACTERS = 300
_RECORD_BYTES = 16 * 2**20
_METRIC_SAMPLES = 100_000
_METRIC_NAME_CHARACTERS = 64
_NESTING = 20
_CLOCK_SLACK_SECONDS = 1.0
_DAY_SECONDS = 86_400.0
_SESSION_FILE = "session.json"
_OUTPUT_FILE = "output.txt"
_KEPT_VARIABLES = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "CC", "CXX", "LD_LIBRARY_PATH"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
    *("STEPWATCH_STEPS", "STEPWATCH_CORE"),
)
"""What a session sees of the caller's environment; no flag of a framework, and no token, gets through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """Everything that decides what a session does."""

    benchmark: str
    """Module and class: `mlp.bench.JaxJit`."""
    benchmark_id: str
    """Any asv benchmark of that class: asv looks up the class's `setup_cache` by it."""
    suite: Path
    python: Path
    accelerator: str
    size: str
    timeout_seconds: float
    cache_folder: Path | None = None
    plant: str = ""
    asv_variables: Mapping[str, str]
    """The `ASV_*` variables that asv sets for its own children."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A session that is data."""

    record: SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A session that is no data."""

    reason: str
    """One line."""
    detail: str
    """The end of the process's output."""

    def recorded(
        self,
        *,
        release: str,
        stage: Literal["environment", "session"],
        place: Place | None = None,
        benchmark: str | None = None,
    ) -> RecordedFailure:
        """The line that says so in a sidecar, at this moment."""
        return RecordedFailure(
            place=place,
            benchmark=benchmark,
            release=release,
            stage=stage,
            reason=self.reason,
            detail=self.detail,
            at=time.time(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """The release's environment does not hold the framework of this benchmark."""

    reason: str


SessionResult = Finished | Failed | Skipped


class _SkippedRecord(msgspec.Struct, frozen=True):
    schema: int
    skipped: str
    benchmark: str


def run_sessions(requests: Sequence[SessionRequest]) -> list[SessionResult]:
    """Run one session, or the two of a pair taking turns: only one of them computes at any moment.

    Each has at most its `timeout_seconds` (a pair the sum of both, since each waits for the other); then its
    whole process group is killed. An interrupt (KeyboardInterrupt) also kills the process groups, and goes on
    upward.

    Args:
        requests: one, or two in the order of their first turns.

    Raises:
        StorageFailed: the machine's temporary folder is full or cannot be written to.
    """
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(scratch_folder()) for _ in requests]
        commands = [_command(*job) for job in zip(requests, folders, strict=True)]
        ends = run_children(commands, "STEPWATCH_TURNS")
        return [
            _result(request, folder, ended, turns=len(requests) > 1)
            for request, folder, ended in zip(requests, folders, ends, strict=True)
        ]


def _command(request: SessionRequest, folder: Path) -> Command:
    script = [request.python, BENCHMARK_RUN_SCRIPT, "setup_cache", request.suite, request.benchmark_id, "{}"]
    return Command(
        arguments=script,
        folder=folder,
        environment=child_environment(request, folder / _SESSION_FILE, os.environ),
        output=folder / _OUTPUT_FILE,
        timeout_seconds=request.timeout_seconds,
    )


def _result(request: SessionRequest, folder: Path, ended: Ended, *, turns: bool) -> SessionResult:
    output = _read_file(folder / _OUTPUT_FILE, last_bytes=4 * DETAIL_CHARACTERS) or b""
    detail = output.decode("utf-8", "replace")[-DETAIL_CHARACTERS:]
    if ended.code is None:
        return Failed(reason=one_line(ended.fault), detail=detail)
    if ended.code:
        return Failed(reason=_exit_reason(ended.code, detail), detail=detail)
    result = read_record(
        folder / _SESSION_FILE,
        benchmark=request.benchmark,
        accelerator=request.accelerator,
        size=request.size,
        lasted_seconds=ended.seconds,
        detail=detail,
    )
    if turns and isinstance(result, Finished) and "turns" not in result.record.settings:
        return Failed(reason="the suite's harness takes no turns (STEPWATCH_TURNS)", detail=detail)
    return result


def child_environment(
    request: SessionRequest, session_file: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of the child: the little that is kept, asv's variables, and the session's."""
    kept = {key: environment[key] for key in _KEPT_VARIABLES if key in environment}
    kept |= {key: value for key, value in environment.items() if key.startswith("LC_")}
    kept["PATH"] = os.pathsep.join(filter(None, [str(request.python.parent), kept.get("PATH", os.defpath)]))
    session = {
        "STEPWATCH_SESSION_FILE": str(session_file),
        "STEPWATCH_ACCELERATOR": request.accelerator,
        "STEPWATCH_SIZE": request.size,
        "STEPWATCH_CACHE_DIR": str(request.cache_folder or ""),
        "STEPWATCH_PLANT": request.plant,
    }
    return kept | dict(request.asv_variables) | {key: value for key, value in session.items() if value}


def read_record(  # noqa: PLR0913  what was asked for, and what was seen from outside
    path: Path, *, benchmark: str, accelerator: str, size: str, lasted_seconds: float, detail: str = ""
) -> SessionResult:
    """Read what the harness wrote, as strictly as foreign input: `Failed` if it is not a sound record.

    Args:
        path: where the session was to write it.
        benchmark: what was to be measured; `accelerator` and `size` likewise.
        accelerator: see `benchmark`.
        size: see `benchmark`.
        lasted_seconds: how long the process was there, in wall seconds.
        detail: the end of its output.
    """
    data = _read_file(path)
    if data is None:
        return Failed(reason="the session ended well but wrote no record", detail=detail)
    try:
        with contextlib.suppress(msgspec.DecodeError):
            return Skipped(reason=one_line(msgspec.json.decode(data, type=_SkippedRecord).skipped))
        record = msgspec.json.decode(data, type=SessionRecord)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Failed(reason=one_line(f"the session's record is malformed: {error}"), detail=detail)
    asked = {"benchmark": benchmark, "accelerator": accelerator, "size": size}
    fault = next(_faults(record, asked, lasted_seconds), None)
    return Finished(record=record) if fault is None else Failed(reason=one_line(fault), detail=detail)


def _faults(record: SessionRecord, asked: Mapping[str, str], lasted_seconds: float) -> Iterator[str]:
    """Everything that keeps a well-formed record from being data."""
    if record.schema != RECORD_SCHEMA:
        yield f"the session's record has schema {record.schema}, not {RECORD_SCHEMA}"
    for (field, wanted), verb in zip(asked.items(), ("measured", "ran on", "ran at size"), strict=True):
        if getattr(record, field) != wanted:
            yield f"asked for {wanted}, but the session {verb} {getattr(record, field)}"
    if not abs(time.time() - record.started_at) <= _DAY_SECONDS:
        yield f"the session says it started at {record.started_at:g} (Unix seconds), which is not today"
    if not 0 <= record.wall_seconds <= lasted_seconds + _CLOCK_SLACK_SECONDS:
        yield f"the session says it took {record.wall_seconds:g} s, its process took {lasted_seconds:.1f} s"
    if not record.metrics:
        yield "the session measured nothing"
    yield from _metric_faults(record)
    free = (record.device, record.machine_before, record.machine_after, record.settings, record.fingerprint)
    if any(_is_nested(value, _NESTING) for value in free):
        yield f"the session's record is nested more than {_NESTING} levels deep"


def _metric_faults(record: SessionRecord) -> Iterator[str]:
    for name, metric in record.metrics.items():
        if not (name.isascii() and name.isidentifier() and len(name) <= _METRIC_NAME_CHARACTERS):
            yield f"metric {name!r} is no name (letters, digits and underscores)"
        if not 0 < len(metric.samples) <= _METRIC_SAMPLES:
            yield f"metric {name} has {len(metric.samples)} samples, not 1 to {_METRIC_SAMPLES}"
        if not all(map(math.isfinite, metric.samples)):
            yield f"metric {name} is not finite"


def _is_nested(value: object, levels: int) -> bool:
    """Whether a JSON value is nested deeper than `levels`: what can be read may be too deep to be written."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_nested(one, levels - 1) for one in inner)


def device_name(record: SessionRecord) -> str:
    """The device as part of the machine class: the processor's or the accelerator's own name."""
    return str(record.device.get("kind") or record.device.get("platform") or "unknown")


def one_line(text: str) -> str:
    """`text` as a reason: one line, of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 1] + "…"


def _exit_reason(code: int, detail: str) -> str:
    if code < 0:
        return f"killed by {signal_name(-code)}"
    last = next((line for line in reversed(detail.splitlines()) if line.strip()), "")
    return one_line(last) or f"exit status {code} without a word"


def _read_file(path: Path, *, last_bytes: int = _RECORD_BYTES) -> bytes | None:
    """The end of a regular file that a session wrote; None if it is gone, or is a pipe or a device by now."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - last_bytes))
            return stream.read(last_bytes)
    except OSError:
        return None
