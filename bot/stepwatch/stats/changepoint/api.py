"""Find the lasting level changes of a series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint.description import describe
from stepwatch.stats.changepoint.drift import find_drift
from stepwatch.stats.changepoint.exact import exact_changes, is_exact
from stepwatch.stats.changepoint.location import locate
from stepwatch.stats.changepoint.observations import observe
from stepwatch.stats.changepoint.results import Detection
from stepwatch.stats.changepoint.settings import DEFAULT, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def detect(
    values: ArrayLike,
    *,
    samples: Sequence[ArrayLike] | None = None,
    exact: bool = False,
    reference: int = 0,
    settings: Settings = DEFAULT,
) -> Detection:
    """The level changes of one series, and its drift since the last of them.

    Args:
        values: shape (n,), in time order; NaN is a missing point and keeps its index.
        samples: the session values of each point, where there are several. Then the sessions are the
            evidence: a point with more of them weighs more, and even a level of one point can be a change.
        exact: the values repeat to the digit (bytes, counts), so any difference that stays is a change. Found
            out without being told where three quarters of the neighbours are equal.
        reference: index of the last accepted point; drift is looked for from there on, or from the last
            change on, whichever is later.
        settings: how clear, how large, how lasting.

    Raises:
        ValueError: values are not one-dimensional or infinite, or samples are not as many.
    """
    series = np.asarray(values, dtype=float)
    if series.ndim == 1 and np.isnan(series).all():
        return Detection()
    seen = observe(series, samples)
    if is_exact(seen.values, told=exact) and not seen.sampled:
        return Detection(changes=exact_changes(seen.values, seen.place, settings))
    found = locate(seen, settings)
    if found is None:
        return Detection()
    changes = describe(seen, found, settings)
    since = int(np.searchsorted(seen.place, max(reference, changes[-1].index if changes else 0)))
    return Detection(changes=changes, drift=find_drift(seen.values, seen.place, since, settings))


def warm_up() -> None:
    """Compile the kernels, or load them from the cache: seconds once, then a fraction of a second."""
    # One step, and after it enough points for drift to be looked for: every kernel runs.
    detect(np.repeat([1.0, 1.1], [20, 80]) + np.tile([0.0, 0.001, 0.003, 0.002], 25))
