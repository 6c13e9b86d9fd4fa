"""Files that only save time: checked when read, replaced whole when written, never a reason to fail.

A cache file names its kind and the digest of its content. What is torn, foreign, of another version or
unreadable counts as absent, and it is made again. Two processes may write the same one: the last wins.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from stepwatch.errors import StorageFailed
from stepwatch.releases.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

_T = TypeVar("_T")
_DIGEST_BYTES = 16


class Cache(Generic[_T]):
    """One file that holds one value.

    Args:
        path: the file; None: nothing is ever kept.
        kind: what it holds and in which version; a file of another kind counts as absent.
        shape: the type of the value, one that msgspec can encode.
    """

    def __init__(self, path: Path | None, kind: str, shape: type[_T]) -> None:
        self._path = path
        self._head = f"stepwatch cache: {kind}\n".encode()
        self._decoder = msgspec.msgpack.Decoder(shape)

    def load(self) -> _T | None:
        """The value as it was saved; None: there is none that can be trusted."""
        if self._path is None:
            return None
        try:
            data = self._path.read_bytes()
        except OSError:
            return None
        body = data[len(self._head) + _DIGEST_BYTES :]
        if data[: -len(body) or None] != self._head + _digest(body):
            return None
        try:
            return self._decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def save(self, value: _T) -> None:
        """Replace the file; a full or read-only disk costs the time saved, nothing else."""
        if self._path is not None:
            body = msgspec.msgpack.encode(value)
            with contextlib.suppress(StorageFailed):
                write_atomically(self._path, self._head + _digest(body) + body)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
