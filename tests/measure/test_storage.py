"""Appending and locking survive torn lines, full disks and other processes."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from stepwatch.errors import StorageFailed
from stepwatch.measure.storage import FileLock, append_line, create_atomically, storage_errors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("torn", [b"", b'{"half', b"x" * 200_000])
def test_a_line_is_appended_behind_the_last_whole_line(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "deep" / "file.jsonl"
    append_line(path, b"one")
    path.write_bytes(path.read_bytes() + torn)
    append_line(path, b"two")
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_file_with_only_a_torn_line_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(b"torn" * 50_000)
    append_line(path, b"one")
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("kept", [0, 3])
def test_a_write_that_fails_half_way_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    path = tmp_path / "file.jsonl"
    append_line(path, b"one")
    real_write = os.write

    def full_disk(handle: int, data: bytes) -> int:
        if kept == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(handle, data[:kept])

    monkeypatch.setattr("stepwatch.measure.storage.os.write", full_disk)
    with pytest.raises(StorageFailed, match=r"file\.jsonl: No space left on device"):
        append_line(path, b"two")
    assert path.read_bytes() == b"one\n"


def test_a_file_is_created_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert create_atomically(path, b"first")
    assert not create_atomically(path, b"second")
    assert path.read_bytes() == b"first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_locks_exclude_each_other_and_name_the_holder(tmp_path: Path) -> None:
    one, two = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert two.holder == "another process"
    assert one.acquire(wait=False)
    assert not two.acquire(wait=False)
    assert two.holder == f"process {os.getpid()}"
    assert one.acquire(shared=True)
    assert two.acquire(shared=True, wait=False)
    two.release()
    two.release()
    with one:
        pass
    assert two.acquire(wait=False)


def test_a_lock_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match=r"file/lock: "):
        FileLock(tmp_path / "file" / "lock").acquire()


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.ENOSPC, "make room and run the same command again"),
        (errno.EDQUOT, "make room and run the same command again"),
        (errno.EROFS, "make that place writable and run"),
        (errno.EACCES, "make that place writable and run"),
        (errno.EISDIR, "put that right and run"),
        (errno.EEXIST, "put that right and run"),
    ],
)
def test_the_next_step_fits_what_went_wrong(tmp_path: Path, number: int, step: str) -> None:
    with pytest.raises(StorageFailed) as failed, storage_errors(tmp_path):
        raise OSError(number, os.strerror(number))
    assert f"{os.strerror(number)}; finished sessions are safe: {step}" in str(failed.value)


def test_a_file_that_somebody_removed_is_not_begun_again_by_appending(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    append_line(path, b"one")
    append_line(path, b"two", create=False)
    path.unlink()
    with pytest.raises(StorageFailed, match=r"file\.jsonl: No such file"):
        append_line(path, b"three", create=False)
    assert not path.exists()
