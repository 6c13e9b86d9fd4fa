"""A series in columns: what every reader of histories returns and the detector looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.units import Direction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points along one axis, oldest first; a missing point keeps its index; nothing in it is infinite."""

    name: str
    revisions: Sequence[str]
    values: Floats
    """Shape (n,), in base units (seconds, bytes) where the unit is known; NaN = missing."""
    samples: tuple[Floats, ...] | None = None
    """Values of the sessions behind each point, one array per point; None: not known."""
    dates: Floats | None = None
    """Shape (n,), of the revisions, Unix time in seconds; None: not known."""
    unit: str = ""
    better: Direction = Direction.LOWER
    exact: bool = False
    """Whether values can repeat to the last digit; the detector looks whether they do."""
    notes: tuple[str, ...] = ()
    """What a reader of the result should know about the data."""

    @property
    def measured(self) -> int:
        """How many points have a value."""
        return int(np.count_nonzero(~np.isnan(self.values)))


def observations(values: Floats, samples: Sequence[Floats] | None) -> NDArray[np.int64]:
    """How many observations each point has: its sessions, one where they are not known, none if missing.

    Shape (n,), like `values`.
    """
    counts = np.ones(len(values), dtype=np.int64)
    if samples is not None:
        counts = np.maximum([len(taken) for taken in samples], counts)
    return np.where(np.isnan(values), 0, counts)
