"""Writing: what is replaced, what is kept, and what the error says to do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from stepwatch.errors import Busy, StorageFailed
from stepwatch.releases.files import only_one, write_atomically

if TYPE_CHECKING:
    from pathlib import Path


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_atomically(tmp_path / "link.json", b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_a_link_to_nothing_makes_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("later.json")
    write_atomically(tmp_path / "link.json", b"new")
    assert (tmp_path / "later.json").read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o640])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (path.read_text(), path.stat().st_mode & 0o7777) == ("new", mode)


def test_a_new_file_is_for_everybody_to_read(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a" / "report.json", b"new")
    assert (tmp_path / "a" / "report.json").stat().st_mode & 0o7777 == 0o644


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()), daemon=True)
    reader.start()
    write_atomically(path, b"new")
    reader.join(10)
    assert received == [b"new"]
    assert path.is_fifo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_a_name_as_long_as_names_may_be(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)
    write_atomically(path, b"new")
    assert path.read_text() == "new"


def test_each_failure_says_what_helps_and_nothing_of_sessions(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "round").symlink_to("round")
    for path, reason in (
        (tmp_path, "Is a directory"),
        (tmp_path / "file" / "report.json", "Not a directory"),
        (tmp_path / ("a" * 256), "File name too long"),
        (tmp_path / "round", "Too many levels of symbolic links"),
    ):
        with pytest.raises(StorageFailed) as caught:
            write_atomically(path, b"new")
        wanted = f"{path}: {reason}; nothing was lost: make that place writable or name another one"
        assert str(caught.value) == wanted


def test_a_full_device_asks_for_room() -> None:
    from pathlib import Path  # noqa: PLC0415  its type alone is needed above

    with pytest.raises(StorageFailed, match="No space left on device; nothing was lost: make room"):
        write_atomically(Path("/dev/full"), b"new")


def test_only_one_process_is_let_in_and_the_other_is_told_whom_it_waits_for(tmp_path: Path) -> None:
    lock = tmp_path / "deep" / "sync.lock"
    code = (
        "import sys; from pathlib import Path; from stepwatch.releases.files import only_one\n"
        f"with only_one(Path({str(lock)!r})): print('in', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(Busy, match=rf"sync\.lock: in use by process {other.pid};"), only_one(lock):
            raise AssertionError
        other.kill()
        other.wait()
    with only_one(lock):
        assert lock.read_text() == str(os.getpid())


def test_a_lock_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StorageFailed, match=r"sync\.lock: File exists"),
        only_one(tmp_path / "file" / "sync.lock"),
    ):
        raise AssertionError


def test_a_lock_whose_holder_left_no_name(tmp_path: Path) -> None:
    lock = tmp_path / "sync.lock"
    with only_one(lock):
        lock.write_text("")
        with pytest.raises(Busy, match="in use by another process"), only_one(lock):
            raise AssertionError
