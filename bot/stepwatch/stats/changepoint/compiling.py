"""Numba, and what to do where it cannot store what it compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

F = TypeVar("F", bound="Callable[..., Any]")


def compiled(function: F) -> F:
    """Compile `function` at its first call; the machine code is cached where a folder can be written.

    Numba caches beside the source, or in the user's cache when that is read-only, and refuses when neither
    can be written; then every process compiles for itself.
    """
    try:
        return cast("F", njit(cache=True)(function))
    except RuntimeError:
        return cast("F", njit(function))


def part(function: F) -> F:
    """For what one kernel calls, in one place: becomes a part of that, and is not compiled for itself."""
    return cast("F", njit(inline="always")(function))
