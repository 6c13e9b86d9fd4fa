"""Compile caches: where they lie, and whether they were warm when the session began."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, kw_only=True, slots=True)
class CompileCache:
    """The cache folder of one program."""

    folder: Path
    warm: bool
    identity: str

    @property
    def _marker(self) -> Path:
        return self.folder / "complete"

    def complete(self) -> None:
        """Note that everything was compiled: the next session on this folder is warm."""
        self._marker.write_text(self.identity, encoding="utf-8")


@contextlib.contextmanager
def compile_cache(parent: Path | None, *, program: str, identity: str) -> Iterator[CompileCache]:
    """The cache of `program` below `parent`; without a parent a fresh folder, gone after the session.

    It is warm when an earlier session of the same `identity` (versions, figures) compiled to the end. What
    an interrupted or different session left is removed: half a cache is neither cold nor warm.
    """
    if parent is None:
        with TemporaryDirectory(prefix="stepwatch-cache-", ignore_cleanup_errors=True) as temporary:
            yield CompileCache(folder=Path(temporary), warm=False, identity=identity)
        return
    folder = parent / program
    marker = folder / "complete"
    warm = marker.is_file() and marker.read_text(encoding="utf-8") == identity
    if not warm:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    yield CompileCache(folder=folder, warm=warm, identity=identity)
