"""The judged rows, as they stand in `report.json`: flat, bounded, every number finite or null.

The bounds are there because readers treat a report as hostile: a row that breaks one is refused on decoding.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stepwatch.model import Outcome

Name = Annotated[str, Meta(max_length=200)]
Text = Annotated[str, Meta(max_length=600)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Positive = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Notes = Annotated[list[Text], Meta(max_length=100)]
UnitName = Literal["seconds", "bytes", "count", "1"]
_LARGEST_LOGARITHM = 690.0
NAME_LIMIT, TEXT_LIMIT, CHANGES_LIMIT, VARIANTS_LIMIT = 200, 600, 500, 50


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in a report: immutable, and strict about unknown fields."""


class BlameRange(Row, frozen=True, kw_only=True):
    """Half open: the change came after `after` and not later than `through`."""

    after: Name
    through: Name


class SideSummary(Row, frozen=True, kw_only=True):
    """One side of a comparison."""

    release: Name
    sessions: Count
    """Finished sessions that measured this metric, paired or not."""
    value: float | None
    """Geometric mean, over the paired sessions, of the session's better quintile, in the unit of the row; the
    median where a value is not positive, over all sessions where there is no pair."""


class Change(Row, frozen=True, kw_only=True):
    """Something that is not the same on the two sides; null: absent there."""

    name: Name
    baseline: Text | None
    contender: Text | None


class Differences(Row, frozen=True, kw_only=True):
    """What else differed between the environments of the two sides: the candidates for a cause."""

    python: Change | None
    packages: Annotated[list[Change], Meta(max_length=CHANGES_LIMIT)]
    """Distributions, the released package and its companions among them."""
    settings: Annotated[list[Change], Meta(max_length=CHANGES_LIMIT)]
    """Device and session settings."""


class Confirmation(Row, frozen=True, kw_only=True):
    """What fresh pairs, never pooled with those that raised the suspicion, say of a regression."""

    outcome: Literal["confirmed", "refuted", "inconclusive", "pending"]
    sessions: Count
    """Fresh pairs used."""
    ratio: Positive | None = None
    """Raw contender / baseline over the fresh pairs alone; null: none yet."""
    ratio_low: Positive | None = None
    ratio_high: Positive | None = None
    e_value: Positive | None = None
    """Evidence of the fresh pairs that the change exceeds the policy's floor."""


class Verdict(Row, frozen=True, kw_only=True):
    """One benchmark's outcome with its evidence."""

    benchmark: Name
    """Public id: `mlp.bench.JaxJit.track_step_cpu`."""
    metric: Name
    unit: UnitName
    better: Literal["lower", "higher"]
    outcome: Outcome
    reason: Text
    method: Literal["paired-e-process", "exact", "none"]
    ratio: Positive | None
    """Raw contender / baseline, the quotient of the two values; 1.0 = same. Null where undefined (a baseline
    of zero) or unknown."""
    ratio_low: Positive | None
    ratio_high: Positive | None
    """Ends of the confidence sequence of level 1 - alpha; null: too few pairs for one."""
    e_value: Positive | None
    """Evidence that the change exceeds the policy's floor; 1/e_value bounds the false-alarm probability."""
    sessions: Count
    """Pairs used (exact metrics: sessions on the smaller side)."""
    baseline: SideSummary
    contender: SideSummary
    blame_range: BlameRange | None
    proven_beyond_min_effect: bool
    differences: Differences
    notes: Notes
    confirmation: Confirmation | None = None
    """Null: nothing had to be confirmed, or nobody asked for it."""
    mde: Positive | None = None
    """Minimal detectable effect, a fraction: the smallest change called with probability .9; null: unknown,
    or beyond `mde_beyond`."""
    mde_low: Positive | None = None
    mde_high: Positive | None = None
    """95 % interval of `mde`; a null `mde_high` beside an `mde_low`: no upper end was found."""
    mde_beyond: Positive | None = None
    """The largest change tried, where even that is called less often."""
    mde_pairs: Count | None = None
    """The number of pairs that `mde` supposes."""
    mde_source: Literal["calibration", "pairs"] | None = None
    """`calibration`: identical code measured against itself; `pairs`: the spread of this row's own pairs."""
    a_a_rate: Share | None = None
    """How often identical code gets a verdict of a change on this machine; null: not calibrated."""
    a_a_low: Share | None = None
    a_a_high: Share | None = None
    """95 % interval of `a_a_rate`."""


class Interval(Row, frozen=True, kw_only=True):
    """A value with its confidence sequence over sessions; null ends: too few sessions for one."""

    value: float
    low: float | None
    high: float | None
    sessions: Count


class TwinVariant(Row, frozen=True, kw_only=True):
    """One implementation of a workload."""

    benchmark: Name
    variant: Name
    release: Name
    sessions: Count
    step_wall: Interval | None
    step_cpu: Interval | None
    compile_cold: float | None
    compile_warm: float | None
    """Process CPU seconds, geometric mean over sessions."""
    ratio_wall: Interval | None
    ratio_cpu: Interval | None
    """This variant / the reference (`jax-jit`), raw; null for the reference itself."""
    notes: Notes


class Twin(Row, frozen=True, kw_only=True):
    """One workload in every framework that was measured on this machine; the reference comes first."""

    workload: Name
    variants: Annotated[list[TwinVariant], Meta(max_length=VARIANTS_LIMIT)]
    notes: Notes


def exponential(logarithm: float) -> float:
    """`exp`, held within what JSON can carry: at most 1e299 instead of infinity."""
    return math.exp(min(logarithm, _LARGEST_LOGARITHM))


def shorten(text: str, limit: int = TEXT_LIMIT) -> str:
    """`text` on one line, within what a field of the report may hold."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
