"""Nothing is lost: kill -9 at random moments, Ctrl-C, no disk space, two at once."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import termios
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import asv.results
import pytest

from stepwatch.commands.interrupts import stop_as_ctrl_c_does
from stepwatch.errors import StorageFailed
from stepwatch.measure.children import Command, run_children
from stepwatch.measure.stopping import ask_to_stop, stop_if_asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Tracker

KILLS = 30
ROUNDS = 60
STEP = "spin.bench.Mini.track_step_cpu"
ARGUMENTS = ("stepwatch", "measure", "mini/1.0..mini/2.0", "--machine", "m", "--bench", "spin")


def start(tracker: Tracker, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        tracker.command(*ARGUMENTS, *arguments),
        cwd=tracker.root,
        env=tracker.environ(),
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(tracker: Tracker, sessions: int, child: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Until so many sessions are on disk, or the child ended."""
    path = tracker.root / "results" / "m" / "sessions" / "mini-1.0..mini-2.0.jsonl"
    while child.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") > sessions):
        time.sleep(0.005)


def test_kill_9_at_30_random_moments_loses_and_doubles_no_finished_session(ready_tracker: Tracker) -> None:
    draw = random.Random(20261130)  # noqa: S311  moments to kill at, not secrets
    seen: list[str] = []
    arguments = ("--sessions", str(ROUNDS), "--seed", "5")
    for _ in range(KILLS):
        child = start(ready_tracker, *arguments)
        wait_for(ready_tracker, len(seen) + draw.randrange(3), child)
        time.sleep(draw.uniform(0.0, 0.3))
        assert child.poll() is None, "the campaign ended before it was killed: raise ROUNDS"
        child.send_signal(signal.SIGKILL)
        child.communicate()
        now = (
            [s.place.session for s in ready_tracker.sidecar().sessions]
            if seen or _begun(ready_tracker)
            else []
        )
        assert now[: len(seen)] == seen, "a finished session was lost"
        seen = now
    finished = {s.place.session: s for s in ready_tracker.sidecar().sessions}
    ready_tracker.run(*ARGUMENTS, "--sessions", str(ROUNDS))
    sessions = ready_tracker.sidecar().sessions
    assert [s.place.session for s in sessions[: len(finished)]] == list(finished)
    places = Counter((s.record.benchmark, s.place.side, s.place.pair) for s in sessions)
    assert len(places) == 2 * ROUNDS
    assert set(places.values()) == {1}, "a session was doubled"
    for path in ready_tracker.results():
        rows = asv.results.Results.load(str(path), machine_name="m")
        samples = rows.get_result_samples(STEP, [])[0]
        assert len(samples) == len(set(samples)) == 30 * ROUNDS


def _begun(tracker: Tracker) -> bool:
    return (tracker.root / "results" / "m" / "sessions" / "mini-1.0..mini-2.0.jsonl").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_says_what_is_safe_and_exits_130(ready_tracker: Tracker, number: signal.Signals) -> None:
    ready_tracker.control({"spin.bench.Mini": {"seconds": 0.3}})
    child = start(ready_tracker, "--sessions", "50")
    wait_for(ready_tracker, 1, child)
    child.send_signal(number)
    _, stderr = child.communicate(timeout=20)
    assert child.returncode == 130
    last = stderr.strip().splitlines()[-1]
    safe = len(ready_tracker.sidecar().sessions)
    assert re.fullmatch(rf"interrupted: {safe} of 100 sessions are in \S+; the same command goes on", last)
    assert "Traceback" not in stderr


def test_a_closed_terminal_is_an_interrupt_too(ready_tracker: Tracker) -> None:
    ready_tracker.control({"spin.bench.Mini": {"seconds": 0.3}})
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        ready_tracker.command(*ARGUMENTS, "--sessions", "50"),
        cwd=ready_tracker.root,
        env={**ready_tracker.environ(), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  one call, no threads here
    )
    os.close(theirs)
    wait_for(ready_tracker, 1, child)
    os.close(ours)
    assert child.wait(timeout=20) == 130
    assert ready_tracker.sidecar().sessions
    assert not ready_tracker.sidecar().failures


def test_what_the_caller_has_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored = {signal.SIGHUP: signal.SIG_IGN, signal.SIGINT: signal.SIG_IGN}
    set_now: dict[int, object] = {}
    monkeypatch.setattr(signal, "getsignal", lambda number: ignored.get(number, signal.SIG_DFL))
    monkeypatch.setattr(signal, "signal", set_now.__setitem__)
    stop_as_ctrl_c_does()
    assert set_now == {signal.SIGTERM: ask_to_stop}


def test_an_interrupt_that_python_threw_away_still_stops_the_session(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ask_to_stop(signal.SIGINT, None)
    sleeper = Command(
        arguments=["sleep", "60"], folder=tmp_path, environment=dict(os.environ),
        output=tmp_path / "out", timeout_seconds=60,
    )  # fmt: skip
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_children([sleeper], "TURNS")
    assert time.monotonic() - started < 30
    stop_if_asked()


def test_a_killed_driver_takes_its_running_session_with_it(ready_tracker: Tracker) -> None:
    ready_tracker.control({"spin.bench.Mini": {"seconds": 30}})
    child = start(ready_tracker, "--sessions", "1")
    deadline = time.monotonic() + 60
    while not (orphans := _sessions_of(ready_tracker)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert orphans
    child.send_signal(signal.SIGKILL)
    child.communicate()
    while _sessions_of(ready_tracker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _sessions_of(ready_tracker)


def _sessions_of(tracker: Tracker) -> list[int]:
    suite = str(tracker.root / "mini_suite").encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"setup_cache" in command and suite in command:
            found.append(int(folder.name))
    return found


def test_two_measures_at_once_one_of_them_is_told_who_is_busy(ready_tracker: Tracker) -> None:
    ready_tracker.control({"spin.bench.Mini": {"seconds": 0.3}})
    first = start(ready_tracker, "--sessions", "50")
    wait_for(ready_tracker, 0, first)
    second = ready_tracker.run(*ARGUMENTS, "--sessions", "50", code=3)
    assert f"in use by process {first.pid}" in second.stderr
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=20)
    assert first.returncode == 130


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    options = ("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder))
    done = subprocess.run([mount, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no right to mount: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_no_disk_space_is_one_line_and_loses_no_finished_session(
    ready_tracker: Tracker, small_disk: Path
) -> None:
    results = small_disk / "results"
    done = ready_tracker.measure(
        "mini/1.0..mini/2.0", "--bench", "spin", "--sessions", "500", "--results", str(results), code=3
    )
    last = done.stderr.strip().splitlines()[-1]
    assert re.fullmatch(
        r"stepwatch: \S+: No space left on device; (nothing was lost|.* are safe): make room .*", last
    )
    sidecar = next(results.rglob("*.jsonl"))
    assert sidecar.read_bytes().endswith(b"\n")
    kept = sidecar.read_bytes().count(b"\n")
    assert kept > 5
    moved = ready_tracker.root / "results"
    shutil.copytree(results, moved)
    summary, _ = ready_tracker.campaign(sessions=kept, seed=None)
    finished = ready_tracker.sidecar().sessions
    assert summary.finished_before == kept - 1
    assert len(finished) == 2 * kept


def test_no_space_for_the_very_first_line(ready_tracker: Tracker, small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 60 * 1024)
    with pytest.raises(StorageFailed, match="No space left"):
        ready_tracker.campaign(sessions=1, results=small_disk / "results")
