"""Children end with stepwatch; scratch folders do not outlive it; a missing accelerator is told at once."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from stepwatch.errors import StorageFailed
from stepwatch.measure import accelerators, scratch
from stepwatch.measure.accelerators import accelerator_fault
from stepwatch.measure.children import run_tool, signal_name
from stepwatch.measure.scratch import scratch_folder, sweep

PARENT = """
import os, sys
from pathlib import Path
from stepwatch.measure.children import run_tool
tool = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
run_tool([sys.executable, "-c", tool, sys.argv[1]], environment=os.environ, timeout_seconds=60)
"""


def wait_until(condition: object, what: str) -> None:
    assert callable(condition)
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(what)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_tool_dies_with_the_process_that_ran_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(pid_file)])
    wait_until(lambda: pid_file.is_file() and pid_file.read_text(), "the tool never started")
    tool = int(pid_file.read_text())
    assert is_running(tool)
    parent.send_signal(signal.SIGKILL)
    parent.wait(20)
    wait_until(lambda: not is_running(tool), "the tool outlived its parent")


def test_a_tool_has_a_time_and_an_answer() -> None:
    done = run_tool([sys.executable, "-c", "print(input('x'))"], environment={}, timeout_seconds=20)
    assert done.returncode == 1
    assert "EOFError" in done.stderr
    with pytest.raises(subprocess.TimeoutExpired):
        run_tool(["sleep", "20"], environment={}, timeout_seconds=0.05)


def test_every_signal_can_be_named() -> None:
    assert [signal_name(number) for number in (9, 40)] == ["SIGKILL", "signal 40"]


def test_a_scratch_folder_goes_whatever_became_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder() as kept, scratch_folder() as removed:
        assert list(kept.iterdir()) == []
        (kept / "file").touch()
        removed.rmdir()
    assert list(tmp_path.iterdir()) == []


def test_scratch_folders_of_killed_processes_are_swept_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = ("stepwatch-scratch-dead", "stepwatch-scratch-young", "stepwatch-scratch-held", "somebodys-own")
    dead, young, held, other = (tmp_path / name for name in names)
    for folder in (dead, young, held, other):
        folder.mkdir()
        (folder / "output.txt").touch()
    (tmp_path / "stepwatch-scratch-link").symlink_to(other)
    for folder in (dead, held, other):
        os.utime(folder, (time.time() - 120,) * 2)
    handle = os.open(held, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        sweep(tmp_path)
        assert [folder.exists() for folder in (dead, young, held, other)] == [False, True, True, True]
    finally:
        os.close(handle)
    with scratch_folder():  # the first one in a place sweeps it
        assert [folder.exists() for folder in (dead, young, held, other)] == [False, True, False, True]


def test_a_full_temporary_folder_is_named_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(scratch.Path, "write_bytes", full)
    with pytest.raises(StorageFailed, match=f"{tmp_path}: No space left on device;.* make room"):
        scratch_folder().__enter__()
    assert list(tmp_path.iterdir()) == []


def test_no_temporary_folder_at_all_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(StorageFailed, match="missing: No such file or directory"):
        scratch_folder().__enter__()

    def none_usable() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none_usable)
    with pytest.raises(StorageFailed, match="TMPDIR: No usable temporary directory found"):
        scratch_folder().__enter__()


def test_a_gpu_needs_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerators, "_DRIVER_SIGNS", (str(tmp_path / "none"), str(tmp_path / "nvidiactl")))
    assert accelerator_fault("cpu") is None
    for accelerator in ("cuda12", "cuda13"):
        fault = accelerator_fault(accelerator)
        assert fault is not None
        assert fault.startswith(f"{accelerator} was asked for, but this machine has no NVIDIA driver: ")
    (tmp_path / "nvidiactl").touch()
    assert accelerator_fault("cuda12") is None
