"""From what the detector found to what people are told: revisions in place of indices, worse or better."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from stepwatch.stats.changepoint import DEFAULT
from stepwatch.units import Direction
from stepwatch.verdict.series import observations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.stats.changepoint import ChangePoint, Detection, Drift, Settings
    from stepwatch.verdict.series import Series


_JSON_KEYS = (
    *("index", "revision", "after", "through"),
    *("ratio", "ratio_low", "ratio_high", "p_value", "direction"),
)


class Turn(StrEnum):
    """Where a change leads."""

    WORSE = "worse"
    BETTER = "better"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A lasting step of a series."""

    index: int
    """First point of the new level, 0-based."""
    revision: str
    after: str
    through: str
    """Blame range `(after, through]`, as revisions."""
    ratio: float | None
    """New level / old level; None where a level is not positive."""
    ratio_low: float | None
    ratio_high: float | None
    p_value: float
    direction: Turn
    before: float
    level: float
    """Levels on either side, in the series' unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifting:
    """A slow movement since a reference that no step explains."""

    since: str
    """First revision of the reference stretch."""
    ratio: float
    """Newest level / reference level."""
    ratio_low: float
    ratio_high: float
    direction: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesChanges:
    """One series, judged."""

    series: str
    points: int
    measured: int
    """Points with a value."""
    unit: str
    too_short: bool
    """Too few points for any step to be found: not the same as no change."""
    changes: tuple[Change, ...]
    drift: Drifting | None
    notes: tuple[str, ...]


def describe_changes(series: Series, found: Detection, settings: Settings = DEFAULT) -> SeriesChanges:
    """What the detection `found` in `series`, under `settings`, means."""
    measured = series.measured
    seen = int(observations(series.values, series.samples).sum())
    return SeriesChanges(
        series=series.name,
        points=len(series.values),
        measured=measured,
        unit=series.unit,
        too_short=measured < LEAST_POINTS or seen < least_observations(settings),
        changes=tuple(change_of(series, change) for change in found.changes),
        drift=None if found.drift is None else _drifting(series, found.drift),
        notes=series.notes,
    )


def changes_as_json(judged: Sequence[SeriesChanges], notes: Sequence[str]) -> bytes:
    """Everything found, for machines: every series with its change points, one without change with none."""
    return msgspec.json.encode(
        {
            "series": {
                one.series: [{key: getattr(change, key) for key in _JSON_KEYS} for change in one.changes]
                for one in judged
            },
            "drift": {one.series: one.drift for one in judged if one.drift is not None},
            "too_short": [one.series for one in judged if one.too_short],
            "notes": [*notes, *(f"{one.series}: {note}" for one in judged for note in one.notes)],
        }
    )


LEAST_POINTS = 2
"""No step without a point on either side."""


def least_observations(settings: Settings) -> int:
    """The fewest observations (sessions; where they are not known, points) in which a step can be found."""
    return 2 * settings.min_run


def change_of(series: Series, change: ChangePoint) -> Change:
    """A change point as people are told of it."""
    return Change(
        index=change.index,
        revision=series.revisions[change.index],
        after=series.revisions[change.after],
        through=series.revisions[change.through],
        ratio=change.ratio,
        ratio_low=change.ratio_low,
        ratio_high=change.ratio_high,
        p_value=change.p_value,
        direction=turn_of(series.better, change),
        before=change.before,
        level=change.level,
    )


def turn_of(better: Direction, change: ChangePoint) -> Turn:
    """Whether a change is for the worse; by the levels, which have an order even where no ratio exists."""
    return _turn(better, change.before, change.level)


def _turn(better: Direction, before: float, level: float) -> Turn:
    return Turn.WORSE if (level > before) is (better is Direction.LOWER) else Turn.BETTER


def _drifting(series: Series, drift: Drift) -> Drifting:
    return Drifting(
        since=series.revisions[drift.since],
        ratio=drift.ratio,
        ratio_low=drift.ratio_low,
        ratio_high=drift.ratio_high,
        direction=_turn(series.better, 1.0, drift.ratio),
    )
