"""Change-point detectors of others: values of shape (n,) in, indices of first points of new levels out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import ruptures
from asv.step_detect import detect_regressions, detect_steps
from otava.series import AnalysisOptions, Metric, Series

from stats_bench.peers import perfherder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Detector = Callable[[Any], Sequence[int]]


def asv_steps(values: Floats) -> list[int]:
    """Every boundary that asv's step detection draws."""
    return [step[0] for step in detect_steps(values.tolist())[1:]]


def asv_regressions(values: Floats, *, threshold: float = 0.05) -> list[int]:
    """What asv's regressions page would report (its default threshold is 5 %), both directions.

    Falls are found by asv's own rule on the steps in reversed time.
    """
    steps = detect_steps(values.tolist())
    n = len(values)
    mirrored = [(n - right, n - left, *rest) for left, right, *rest in reversed(steps)]
    rises = detect_regressions(steps, threshold)[2] or []
    falls = detect_regressions(mirrored, threshold)[2] or []
    return sorted({after for _, after, *_ in rises} | {n - 1 - before for before, *_ in falls})


def otava(
    values: Floats, *, window_len: int = 50, max_pvalue: float = 0.001, min_magnitude: float = 0.0
) -> list[int]:
    """apache-otava's analysis of one series; the defaults are its own."""
    options = AnalysisOptions()
    options.window_len, options.max_pvalue, options.min_magnitude = window_len, max_pvalue, min_magnitude
    series = Series(
        test_name="series",
        branch=None,
        time=list(range(len(values))),
        metrics={"value": Metric(1, 1.0)},
        data={"value": values.tolist()},
        attributes={},
    )
    return sorted({point.index for point in series.analyze(options).change_points["value"]})


def kernel_cpd(values: Floats, *, pen: float = 10.0) -> list[int]:
    """Ruptures KernelCPD, rbf kernel with its own bandwidth."""
    if len(values) < 4:
        return []
    return list(ruptures.KernelCPD(kernel="rbf").fit(values.reshape(-1, 1)).predict(pen=pen))[:-1]


def pelt(values: Floats, *, pen: float = 10.0) -> list[int]:
    """Ruptures Pelt, rbf cost, its default grid of every fifth point."""
    if len(values) < 4:
        return []
    return list(ruptures.Pelt(model="rbf").fit(values.reshape(-1, 1)).predict(pen=pen))[:-1]


def binseg(values: Floats, *, c: float = 3.0) -> list[int]:
    """Ruptures Binseg, l2 cost, penalty c ln n sigma^2 with sigma from the differences."""
    sigma = 1.4826 * float(np.median(np.abs(np.diff(values)))) / math.sqrt(2) if len(values) > 1 else 0.0
    if len(values) < 4 or sigma == 0:
        return []
    scaled = ((values - np.median(values)) / sigma).reshape(-1, 1)
    return list(ruptures.Binseg(model="l2").fit(scaled).predict(pen=c * math.log(len(values))))[:-1]


def nothing(values: Floats) -> list[int]:  # noqa: ARG001  the detector that never speaks
    """Report nothing: a score that a method must beat to be of use."""
    return []


METHODS: dict[str, Callable[..., list[int]]] = {
    "asv": asv_steps,
    "asv-regressions": asv_regressions,
    "otava": otava,
    "kernelcpd": kernel_cpd,
    "pelt": pelt,
    "binseg": binseg,
    "perfherder": perfherder.detect,
    "nothing": nothing,
}
DEFAULTS: dict[str, dict[str, float]] = {
    "asv": {},
    "asv-regressions": {"threshold": 0.05},
    "otava": {"window_len": 50, "max_pvalue": 0.001, "min_magnitude": 0.0},
    "kernelcpd": {"pen": 10.0},
    "pelt": {"pen": 10.0},
    "binseg": {"c": 3.0},
    "perfherder": {"back": 12, "fore": 12, "threshold": 7.0, "least": 0.02},
}
"""Settings a user gets without choosing; `pen` and `c` have no default in ruptures and are usual choices."""
GRIDS: dict[str, dict[str, list[float]]] = {
    "asv-regressions": {"threshold": [0.0, 0.01, 0.02, 0.03]},
    "otava": {
        "window_len": [30, 50, 100],
        "max_pvalue": [1e-3, 1e-4, 1e-5, 1e-6, 1e-8],
        "min_magnitude": [0.0, 0.01],
    },
    "kernelcpd": {"pen": [5.0, 8.0, 12.0, 16.0, 24.0]},
    "perfherder": {"back": [12, 24], "fore": [8, 12], "threshold": [4.5, 5.5, 7.0], "least": [0.0, 0.01]},
}
"""What a peer is tuned over."""


def combinations(peer: str) -> list[dict[str, float]]:
    """Every setting of a peer's grid."""
    grid = GRIDS[peer]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def detector(peer: str, settings: dict[str, float]) -> Detector:
    """A peer at given settings."""
    return partial(METHODS[peer], **settings)
