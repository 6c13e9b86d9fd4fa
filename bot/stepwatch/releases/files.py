"""Writing that leaves either the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.errors import Busy, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

_NEW_FILE_MODE = 0o644
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


def storage_failed(path: Path, error: OSError) -> StorageFailed:
    """What kept `path` from being written, with the step that helps."""
    if error.errno in _NO_ROOM:
        next_step = "nothing was lost: make room and run the same command again"
    else:
        next_step = "nothing was lost: make that place writable or name another one"
    return StorageFailed(path, error.strerror or str(error), next_step)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: a temporary file in the same folder, synced, then renamed.

    A link is followed, and a file that is replaced keeps its permissions. What is no regular file (a device,
    a pipe) is written to and not replaced. `-` is a file of that name, not the standard output.

    Raises:
        StorageFailed: no space, no permission or no place for a file; a regular file is as it was before.
    """
    try:
        mode = _mode_of(path)
        if mode is not None and not stat.S_ISREG(mode):
            _write_into(path, data)
        else:
            _replace(
                Path(os.path.realpath(path)), data, _NEW_FILE_MODE if mode is None else stat.S_IMODE(mode)
            )
    except OSError as error:
        raise storage_failed(path, error) from error


def _mode_of(path: Path) -> int | None:
    """Kind and permissions of what `path` leads to; None when nothing is there yet."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _write_into(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY), "wb") as file:
        file.write(data)


def _replace(path: Path, data: bytes, mode: int) -> None:
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A part of the name: with the whole one the temporary name could be longer than a name may be.
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)  # mkstemp makes it private
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise


def append_lines(path: Path, lines: list[bytes]) -> None:
    """Append whole lines to `path`; a write that fails half-way is taken back.

    Raises:
        StorageFailed: no space or no permission; `path` is as it was before.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                _write_whole(file, b"".join(line + b"\n" for line in lines))
            except OSError:
                file.truncate(size)
                raise
    except OSError as error:
        raise storage_failed(path, error) from error


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Keep other processes out of the block; the lock ends with its process, however that ends.

    Raises:
        Busy: another process is in it.
        StorageFailed: the lock file cannot be made.
    """
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, _NEW_FILE_MODE)
    except OSError as error:
        raise storage_failed(lock, error) from error
    with os.fdopen(handle, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = file.read(20).decode("ascii", "replace").strip()
            raise Busy(lock, f"process {holder}" if holder else "another process") from error
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


def _write_whole(file: FileIO, data: bytes) -> None:
    if file.write(data) != len(data):  # an unbuffered write may take only a part when the disk fills up
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file.fileno())
