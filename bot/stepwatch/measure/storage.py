"""Writing files so that a kill, a full disk or a second process never leaves half a file behind."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from stepwatch.errors import Busy, StorageFailed
from stepwatch.releases.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_FILE = ".measuring.lock"
_BLOCK_BYTES = 65536
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block into `StorageFailed` naming `path` and the step that helps."""
    try:
        yield
    except OSError as error:
        help_by = (
            "make room" if error.errno in _NO_ROOM
            else "make that place writable" if error.errno in _FORBIDDEN
            else "put that right"
        )  # fmt: skip
        next_step = f"finished sessions are safe: {help_by} and run the same command again"
        raise StorageFailed(path, error.strerror or str(error), next_step) from error


def create_atomically(path: Path, data: bytes) -> bool:
    """Create `path` with `data` unless it exists; whether it was created.

    A link instead of a rename, so that of two processes that start at once exactly one creates the file.

    Raises:
        StorageFailed: no space or no permission.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    write_atomically(temporary, data)
    with storage_errors(path):
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
    return True


def append_line(path: Path, line: bytes, *, create: bool = True) -> None:
    """Append one line (without its newline) in a single write, synced to disk.

    With `create` off the file must be there: a sidecar that somebody removed is not begun without its header.

    A torn last line, left by a kill or a full disk, is cut off first, so that a file only ever grows by
    whole lines. When the write fails the file is cut back to what it was.

    Raises:
        StorageFailed: no space or no permission; the earlier lines are untouched.
    """
    with storage_errors(path):
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0), 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            end = _end_of_last_line(handle)
            os.ftruncate(handle, end)
            try:
                _write_whole(handle, line + b"\n")
            except OSError:
                os.ftruncate(handle, end)
                raise
        finally:
            os.close(handle)


def _write_whole(handle: int, data: bytes) -> None:
    written = os.write(handle, data)
    if written != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(handle)


def _end_of_last_line(handle: int) -> int:
    """Offset just behind the last newline; 0 when there is none."""
    end = os.fstat(handle).st_size
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        newline = os.pread(handle, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def folder_bytes(folder: Path) -> int:
    """Disk blocks below a folder, 0 where there is none; files linked from a cache count in full."""
    return sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in _files(folder))


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(folder / entry.name)
            else:
                yield entry


class FileLock:
    """An advisory lock on a file (flock); it ends with its process, however that ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self, *, shared: bool = False, wait: bool = True) -> bool:
        """Take the lock, or change between shared and exclusive; False if `wait` is off and it is held.

        A change is not atomic: check again what the lock protects.

        Raises:
            StorageFailed: the lock file cannot be made.
        """
        with storage_errors(self.path):
            if self._handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
            try:
                fcntl.flock(self._handle, mode)
            except BlockingIOError:
                self.release()
                return False
            if not shared:
                os.ftruncate(self._handle, 0)
                os.pwrite(self._handle, str(os.getpid()).encode(), 0)
        return True

    def release(self) -> None:
        """Give the lock back; nothing happens when it is not held."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @property
    def holder(self) -> str:
        """Who took the lock exclusively last: `process 1234`."""
        try:
            pid = self.path.read_text("ascii").strip()
        except (OSError, ValueError):
            pid = ""
        return f"process {pid}" if pid else "another process"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextmanager
def machine_lock(results: Path, machine: str) -> Iterator[None]:
    """Keep every other stepwatch from measuring under this machine name.

    Raises:
        Busy: another process does; names it.
    """
    with FileLock(results / machine / LOCK_FILE) as lock:
        if not lock.acquire(wait=False):
            raise Busy(lock.path, lock.holder)
        yield
