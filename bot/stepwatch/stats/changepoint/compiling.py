"""Numba, and what to do where it cannot store what it compiled."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

F = TypeVar("F", bound="Callable[..., Any]")
_SETTINGS: Any = numba.config  # fills itself from the environment, so no checker knows its names


def _cache_folder() -> str:
    """Beside the sources, named by what is in all of them; empty (numba chooses) where that is no place.

    Numba asks only whether the file of a kernel is newer than its cache. A kernel contains what it calls in
    other files, so after an upgrade that leaves its own file alone it would go on running the old code.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(here.glob("*.py")):
        digest.update(source.read_bytes())
    if _SETTINGS.CACHE_DIR or not os.access(here, os.W_OK):
        return str(_SETTINGS.CACHE_DIR)
    return str(here / "__pycache__" / f"kernels-{digest.hexdigest()[:12]}")


_CACHE_FOLDER = _cache_folder()


def compiled(function: F) -> F:
    """Compile `function` at its first call; the machine code is cached where a folder can be written.

    The cache lies beside the sources, or in the user's cache when those are read-only. Numba refuses when
    neither can be written; then every process compiles for itself.
    """
    users_choice, _SETTINGS.CACHE_DIR = _SETTINGS.CACHE_DIR, _CACHE_FOLDER
    try:
        return cast("F", njit(cache=True)(function))
    except RuntimeError:
        return cast("F", njit(function))
    finally:
        _SETTINGS.CACHE_DIR = users_choice


def part(function: F) -> F:
    """For what one kernel calls, in one place: becomes a part of that, and is not compiled for itself."""
    return cast("F", njit(inline="always")(function))
