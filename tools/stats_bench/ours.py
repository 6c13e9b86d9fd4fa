"""stepwatch itself, through the functions that its commands use."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stepwatch import stats
from stepwatch.stats import changepoint

if TYPE_CHECKING:
    from collections.abc import Callable

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


def log_ratios(base: Floats, head: Floats) -> Floats:
    """One log ratio per pair from the iterations of its two sessions.

    Args:
        base: times, shape (repetitions, pairs, iterations).
        head: the same shape.
    """
    values = [np.apply_along_axis(stats.session_value, -1, side) for side in (base, head)]
    return np.log(values[1]) - np.log(values[0])


def sequential(
    differences: Floats, *, floor: float, min_effect: float, alpha: float = 0.05
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Outcome codes and pairs used, looking after every pair; from shape (repetitions, pairs)."""
    margins = stats.Margins(floor=floor, min_effect=min_effect, alpha=alpha)
    decisions = stats.sequential_outcomes(differences, margins)
    return decisions.codes, decisions.pairs


def family(
    differences: Floats, *, floor: float = 0.0025, min_effect: float = 0.02, alpha: float = 0.05
) -> NDArray[np.bool_]:
    """Which benchmarks of a report are called when all advance together, with e-BH after every pair.

    Shape (benchmarks, pairs) to (benchmarks,).
    """
    margins = stats.Margins(floor=floor, min_effect=min_effect, alpha=alpha)
    return np.abs(stats.family_outcomes(list(differences), margins, corrected=True).codes) == 1
