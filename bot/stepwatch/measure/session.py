"""One session: a fresh process of a release's environment that runs the suite's session protocol.

The process is the one asv would start (`asv/benchmark.py setup_cache`), so plain `asv run` and stepwatch's
own driver measure the same thing. What comes back is a value: finished, failed or skipped; a failed
session is recorded and never becomes data.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from asv.runner import BENCHMARK_RUN_SCRIPT

from stepwatch.model import SessionRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

RECORD_SCHEMA = 1
DETAIL_CHARACTERS = 4000
_REASON_CHARACTERS = 300
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
    """
    with contextlib.ExitStack() as stack:
        folders = [
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stepwatch-session-")))
            for _ in requests
        ]
        codes = _run_children(list(zip(requests, folders, strict=True)))
        return [
            _result(request, folder, code, turns=len(requests) > 1)
            for request, folder, code in zip(requests, folders, codes, strict=True)
        ]


def _result(request: SessionRequest, folder: Path, code: int | None, *, turns: bool) -> SessionResult:
    detail = _tail(folder / _OUTPUT_FILE)
    if code is None:
        return Failed(reason=f"no end after {request.timeout_seconds:g} s (killed)", detail=detail)
    if code:
        return Failed(reason=_exit_reason(code, detail), detail=detail)
    result = read_record(
        folder / _SESSION_FILE, benchmark=request.benchmark, accelerator=request.accelerator, detail=detail
    )
    if turns and isinstance(result, Finished) and "turns" not in result.record.settings:
        return Failed(reason="the suite's harness takes no turns (STEPWATCH_TURNS)", detail=detail)
    return result


def _run_children(jobs: Sequence[tuple[SessionRequest, Path]]) -> list[int | None]:
    """Start the children, wait for them, leave nothing behind; exit statuses, None after a timeout."""
    children: list[subprocess.Popen[bytes]] = []
    codes: list[int | None] = []
    started = time.monotonic()
    together = sum(request.timeout_seconds for request, _ in jobs)
    try:
        with _turn_pipes(len(jobs)) as pipes:
            for (request, folder), pipe in zip(jobs, pipes, strict=True):
                children.append(_start_child(request, folder, pipe))
        for (request, _), child in zip(jobs, children, strict=True):
            # The second of a pair may have waited for the first until that was killed: it gets its own time.
            left = max(started + together - time.monotonic(), request.timeout_seconds if codes else 0.0)
            codes.append(_wait(child, left))
    finally:
        for child in children:
            kill_group(child)
    return codes


def _start_child(
    request: SessionRequest, folder: Path, pipe: tuple[int, int] | None
) -> subprocess.Popen[bytes]:
    command = [request.python, BENCHMARK_RUN_SCRIPT, "setup_cache", request.suite, request.benchmark_id, "{}"]
    environment = child_environment(request, folder / _SESSION_FILE, os.environ)
    if pipe is not None:
        environment["STEPWATCH_TURNS"] = f"{pipe[0]},{pipe[1]}"
    with (folder / _OUTPUT_FILE).open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
            pass_fds=pipe or (),
            preexec_fn=_die_with_parent(),  # noqa: PLW1509  one prctl call, safe: this process has no threads
        )


@contextlib.contextmanager
def _turn_pipes(count: int) -> Iterator[list[tuple[int, int] | None]]:
    """For each session where its turn comes from and where it goes; the first has the first turn.

    Our own copies are closed as soon as the children have theirs: a session must learn of its partner's end.
    """
    if count == 1:
        yield [None]
        return
    first, second = os.pipe(), os.pipe()
    try:
        os.write(first[1], b".")
        yield [(first[0], second[1]), (second[0], first[1])]
    finally:
        for descriptor in (*first, *second):
            os.close(descriptor)


def _wait(child: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit status of a child; None if it had to be killed."""
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        kill_group(child)
        return None


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a child's process group, and reap the child."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _die_with_parent() -> Callable[[], None] | None:
    """What makes a session end when stepwatch is killed: an orphan would disturb the next measurement."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    set_parent_death_signal = 1

    def ask_kernel() -> None:
        prctl(set_parent_death_signal, signal.SIGKILL)

    return ask_kernel


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


def read_record(path: Path, *, benchmark: str, accelerator: str, detail: str = "") -> SessionResult:
    """Read what the harness wrote, as strictly as foreign input: `Failed` if it is not a sound record."""
    try:
        data = path.read_bytes()
    except OSError:
        return Failed(reason="the session ended well but wrote no record", detail=detail)
    with contextlib.suppress(msgspec.DecodeError):
        return Skipped(reason=msgspec.json.decode(data, type=_SkippedRecord).skipped)
    try:
        record = msgspec.json.decode(data, type=SessionRecord)
    except msgspec.DecodeError as error:
        return Failed(reason=f"the session's record is malformed: {error}", detail=detail)
    fault = next(_faults(record, benchmark, accelerator), None)
    return Finished(record=record) if fault is None else Failed(reason=fault, detail=detail)


def _faults(record: SessionRecord, benchmark: str, accelerator: str) -> Iterator[str]:
    """Everything that keeps a well-formed record from being data."""
    if record.schema != RECORD_SCHEMA:
        yield f"the session's record has schema {record.schema}, not {RECORD_SCHEMA}"
    if record.benchmark != benchmark:
        yield f"the session measured {record.benchmark}, not {benchmark}"
    if record.accelerator != accelerator:
        yield f"asked for {accelerator}, but the session ran on {record.accelerator}"
    if not record.metrics:
        yield "the session measured nothing"
    for name, metric in record.metrics.items():
        if not metric.samples:
            yield f"metric {name} has no sample"
        if not all(map(math.isfinite, metric.samples)):
            yield f"metric {name} is not finite"


def device_name(record: SessionRecord) -> str:
    """The device as part of the machine class: the processor's or the accelerator's own name."""
    return str(record.device.get("kind") or record.device.get("platform") or "unknown")


def _exit_reason(code: int, detail: str) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    last = next((line.strip() for line in reversed(detail.splitlines()) if line.strip()), "")
    reason = last or f"exit status {code} without a word"
    return reason[:_REASON_CHARACTERS]


def _tail(path: Path) -> str:
    with path.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - 4 * DETAIL_CHARACTERS))
        return stream.read().decode("utf-8", "replace")[-DETAIL_CHARACTERS:]
