"""Writing that leaves either the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.errors import StorageFailed

if TYPE_CHECKING:
    from io import FileIO


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: a temporary file in the same folder, synced, then renamed.

    Raises:
        StorageFailed: no space or no permission; `path` is as it was before.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp makes it private; these files are for everybody
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise StorageFailed(path, error.strerror or str(error)) from error


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
        raise StorageFailed(path, error.strerror or str(error)) from error


def _write_whole(file: FileIO, data: bytes) -> None:
    if file.write(data) != len(data):  # an unbuffered write may take only a part when the disk fills up
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file.fileno())
