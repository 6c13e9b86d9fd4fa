"""stepwatch itself, through the functions that its commands use."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from stepwatch.stats import changepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def detect(values: Floats, *, settings: changepoint.Settings = changepoint.DEFAULT) -> list[int]:
    """Indices of the change points of one series, shape (n,)."""
    return [change.index for change in changepoint.detect(values, settings=settings).changes]


def detector(changes: dict[str, float] | None = None) -> Callable[[Floats], list[int]]:
    """The detector at its defaults, or with some settings changed."""
    return partial(detect, settings=replace(changepoint.DEFAULT, **(changes or {})))


def warm_up() -> None:
    """Compile or load the kernels, so that no measurement pays for it."""
    changepoint.warm_up()
