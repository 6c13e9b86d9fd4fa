"""Which alerts a series would have raised, had it been watched while it grew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stepwatch.stats.changepoint import ChangePoint, detect
from stepwatch.verdict.changes import LEAST_POINTS, least_observations
from stepwatch.verdict.series import observations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stepwatch.stats.changepoint import Detection, Settings
    from stepwatch.verdict.series import Floats

    Places = NDArray[np.intp]

MARGIN = 5
"""Points within which two places are the same change."""


class Job(NamedTuple):
    """One series, as far as the detector is concerned."""

    values: Floats
    """Shape (n,), NaN = missing."""
    samples: tuple[Floats, ...] | None
    """The sessions' values of each point."""
    exact: bool
    """Whether values can repeat to the last digit."""
    first: int = 0
    """For a replay: index of the first point that can raise an alert; what lies before it is known."""

    def ends(self, settings: Settings) -> Places:
        """The lengths, each up to a measured point, at which a step could be found."""
        measured = ~np.isnan(self.values)
        enough = np.cumsum(observations(self.values, self.samples)) >= least_observations(settings)
        return np.flatnonzero(measured & enough & (np.cumsum(measured) >= LEAST_POINTS)) + 1

    def look(self, end: int, settings: Settings) -> Detection:
        """What the detector finds in the first `end` points."""
        samples = None if self.samples is None else self.samples[:end]
        return detect(self.values[:end], samples=samples, exact=self.exact, settings=settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A change point as it looked when it was first seen."""

    at: int
    """Index of the newest point then."""
    change: ChangePoint


def replay(job: Job, *, settings: Settings, step: int = 1) -> tuple[Raised, ...]:
    """Run the detector again for every new point, on the points up to it and no others.

    A change that is none of those seen before (`newcomers`) is raised, once and for all. A missing point is
    no occasion to look.

    Args:
        job: the series.
        settings: of the detector.
        step: look at every `step`-th occasion only.

    Returns:
        What was raised, in the order of time.
    """
    ends = job.ends(settings)
    before = ends[ends <= job.first]
    known = [change.index for change in job.look(int(before[-1]), settings).changes] if before.size else []
    raised: list[Raised] = []
    for end in occasions(job, settings=settings, step=step):
        for change in newcomers(job.look(end, settings).changes, known):
            known.append(change.index)
            raised.append(Raised(at=end - 1, change=change))
    return tuple(raised)


def newcomers(changes: Sequence[ChangePoint], known: Sequence[int]) -> list[ChangePoint]:
    """The changes that no known place accounts for; each accounts for the nearest one within `MARGIN` only.

    So two steps that are close together are two, as soon as the detector shows both.
    """
    pairs = sorted(
        (abs(change.index - place), one, other)
        for one, change in enumerate(changes)
        for other, place in enumerate(known)
        if abs(change.index - place) <= MARGIN
    )
    seen, taken = set(), set()
    for _, one, other in pairs:
        if one not in seen and other not in taken:
            seen.add(one)
            taken.add(other)
    return [change for one, change in enumerate(changes) if one not in seen]


def occasions(job: Job, *, settings: Settings, step: int) -> list[int]:
    """The lengths at which `replay` looks at a series.

    They are counted from the start, so that which they are does not depend on what comes later.
    """
    ends = job.ends(settings)
    return [int(end) for end in ends[ends > job.first][::step]]
