"""What the detector answers: frozen values, indices into the series as it was given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """The series went from one lasting level to another.

    Indices count from 0 in the series as it was given, missing points included.
    """

    index: int
    """First point of the new level: the best single guess."""
    after: int
    through: int
    """Blame range `(after, through]`: a confidence set for the place. Both are measured points."""
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    """`level / before` with its 95 % interval; None where a level is not positive."""
    p_value: float
    """Bound on the chance of as clear a step anywhere in a series of this length without a change."""
    before: float
    level: float
    """Levels left and right of the step, in the unit of the series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A slow movement away from a reference that no step explains."""

    since: int
    """First point of the reference stretch."""
    ratio: float
    ratio_low: float
    ratio_high: float
    """Newest level over the level of the reference, with its 95 % interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """Everything found in one series."""

    changes: tuple[ChangePoint, ...] = ()
    drift: Drift | None = None
