"""Temporary folders that do not outlive stepwatch: what a killed process left, the next one removes."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.errors import StorageFailed
from stepwatch.measure.storage import storage_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "stepwatch-scratch-"
_ROOM_BYTES = 256 * 1024
_YOUNG_SECONDS = 60.0
"""A folder is locked right after it was made; a younger one is left alone."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder with room in it, removed afterwards, whatever became of it meanwhile.

    Raises:
        StorageFailed: the temporary folder of this machine (`TMPDIR`) is full or cannot be written to.
    """
    try:
        place = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise StorageFailed("TMPDIR", error.strerror or str(error)) from error
    _sweep_once(place)
    with storage_errors(place):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        handle = os.open(folder, os.O_RDONLY)
    try:
        with storage_errors(place):
            fcntl.flock(handle, fcntl.LOCK_EX)
            room = folder / "room"
            room.write_bytes(bytes(_ROOM_BYTES))
            room.unlink()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


@functools.cache
def _sweep_once(place: Path) -> None:
    sweep(place)


def sweep(place: Path) -> None:
    """Remove the scratch folders of processes that are gone: a lock ends with its process, the folder not."""
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # another user's, or removed meanwhile
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - os.fstat(handle).st_mtime > _YOUNG_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(handle)
