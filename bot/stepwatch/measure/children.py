"""Child processes that leave nothing behind: they end with stepwatch, in time, and with all they started.

An orphan would disturb the next measurement, or go on writing into an environment that is built anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwatch.measure.stopping import held_back, stop_if_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

PARTNER_GONE = b"x" * select.PIPE_BUF
"""Put into a session's pipe when its partner has ended: enough bytes that it never waits for a turn again,
also when its harness takes every byte for a turn."""
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to run."""

    arguments: Sequence[str | Path]
    folder: Path
    """Where it runs."""
    environment: Mapping[str, str]
    output: Path
    """Gets what it prints."""
    timeout_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended."""

    code: int | None
    """Its exit status; None if it was never started, or was killed for its time."""
    fault: str = ""
    """Why there is no exit status."""
    seconds: float
    """How long it was there."""


@dataclass(slots=True, kw_only=True)
class _Child:
    command: Command
    turn_pipe: int | None
    """Write end of the pipe that this child's turns come from."""
    process: subprocess.Popen[bytes] | None = None
    deadline: float = 0.0
    ended: Ended | None = None
    started: float = field(default_factory=time.monotonic)

    def has_ended(self, now: float) -> bool:
        """Whether the process is gone; one whose time is up is killed."""
        if self.ended is None and self.process is not None:
            code = self.process.poll()
            if code is not None:
                self.end(code)
            elif now >= self.deadline:
                self.end(None, f"no end after {self.command.timeout_seconds:g} s (killed)")
        return self.ended is not None

    def end(self, code: int | None, fault: str = "") -> None:
        """Note the end, and kill what the process started and left in its group."""
        if self.process is not None:
            kill_group(self.process)
        self.ended = Ended(code=code, fault=fault, seconds=time.monotonic() - self.started)

    def carry_on_alone(self, now: float) -> None:
        """The partner has ended: wait for no turn any more, and get a whole time of one's own."""
        self.deadline = max(self.deadline, now + self.command.timeout_seconds)
        if self.turn_pipe is not None:
            with contextlib.suppress(BlockingIOError, BrokenPipeError):
                os.set_blocking(self.turn_pipe, False)  # a pipe that a session filled up must not stop us
                os.write(self.turn_pipe, PARTNER_GONE)
            os.close(self.turn_pipe)
            self.turn_pipe = None


def run_children(commands: Sequence[Command], turns_variable: str) -> list[Ended]:
    """Run one process, or two that take turns by two pipes; leave none of them behind.

    Each has at most its `timeout_seconds` (a pair the sum of both, since each waits for the other); then its
    whole process group is killed. The write ends of the pipes stay open here: the end of a process, not the
    end of the file, tells its partner that it is alone, because a daemon that a session left may hold the
    pipe open for ever.

    Args:
        commands: one, or two in the order of their first turns.
        turns_variable: tells each of a pair its descriptors, `from,to`.
    """
    children: list[_Child] = []
    with contextlib.ExitStack() as stack:
        stack.callback(_kill_all, children)
        pipes = [os.pipe() for _ in commands] if len(commands) > 1 else []
        for number, command in enumerate(commands):
            children.append(_Child(command=command, turn_pipe=pipes[number][1] if pipes else None))
        with contextlib.ExitStack() as readers:
            for reading, _ in pipes:
                readers.callback(os.close, reading)
            if pipes:
                os.write(pipes[0][1], b".")
            for number, child in enumerate(children):
                turns = (pipes[number][0], pipes[1 - number][1]) if pipes else None
                _start(child, turns, turns_variable)
        return _wait(children)


def _start(child: _Child, turns: tuple[int, int] | None, turns_variable: str) -> None:
    command = child.command
    environment = dict(command.environment)
    if turns is not None:
        environment[turns_variable] = f"{turns[0]},{turns[1]}"
    try:
        with command.output.open("wb") as output, held_back():
            child.process = subprocess.Popen(
                command.arguments,
                cwd=command.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
                pass_fds=turns or (),
                preexec_fn=die_with_parent(),  # noqa: PLW1509  one prctl call, safe: this process has no threads
            )
    except OSError as error:
        what = error.filename or command.arguments[0]
        child.end(None, f"it cannot be started: {what}: {error.strerror or error}")


def _wait(children: Sequence[_Child]) -> list[Ended]:
    together = time.monotonic() + sum(child.command.timeout_seconds for child in children)
    for child in children:
        child.deadline = together
    running = list(children)
    while running:
        stop_if_asked()
        for child in list(running):
            now = time.monotonic()
            if child.has_ended(now):
                running.remove(child)
                for partner in running:
                    partner.carry_on_alone(now)
        if running:
            time.sleep(_POLL_SECONDS)
    return [child.ended for child in children if child.ended is not None]


def _kill_all(children: Sequence[_Child]) -> None:
    for child in children:
        if child.process is not None:
            kill_group(child.process)
        if child.turn_pipe is not None:
            os.close(child.turn_pipe)


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a child's process group, and reap the child."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def run_tool(
    arguments: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    timeout_seconds: float,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a helper that answers on its standard output; it ends with stepwatch.

    Raises:
        subprocess.TimeoutExpired: no end in time; it was killed.
    """
    return subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_seconds,
        check=False,
        preexec_fn=die_with_parent(),
    )


def die_with_parent() -> Callable[[], None] | None:
    """What makes a child end when stepwatch is killed; None where the kernel knows no such thing."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    set_parent_death_signal = 1

    def ask_kernel() -> None:
        prctl(set_parent_death_signal, signal.SIGKILL)

    return ask_kernel


def signal_name(number: int) -> str:
    """`SIGSEGV`, or `signal 40` for one that has no name (the real-time signals)."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
