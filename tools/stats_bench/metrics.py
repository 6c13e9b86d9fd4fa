"""Scores of detections and verdicts, as defined in docs/explanation/statistics.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Detector = Callable[[Floats], Sequence[int]]

MARGIN = 5
"""A detection counts for a change at most this many points away."""
ONLINE_START = 60
FOUND_WITHIN = 30


def match(truth: Iterable[int], detections: Iterable[int], *, margin: int = MARGIN) -> int:
    """How many true points are found: in rising order, each takes the nearest unused detection in reach."""
    unused = sorted(detections)
    found = 0
    for point in sorted(truth):
        near = [d for d in unused if abs(d - point) <= margin]
        if near:
            unused.remove(min(near, key=lambda d: (abs(d - point), d)))
            found += 1
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts over many series; add them up before dividing (micro averages)."""

    matched: int = 0
    detected: int = 0
    true: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            matched=self.matched + other.matched,
            detected=self.detected + other.detected,
            true=self.true + other.true,
        )

    @classmethod
    def of(cls, truth: Sequence[int], detections: Sequence[int], *, margin: int = MARGIN) -> Score:
        """The score of one series."""
        matched = match(truth, detections, margin=margin)
        return cls(matched=matched, detected=len(detections), true=len(truth))

    @property
    def precision(self) -> float:
        """Share of detections that are true; 1 without any detection."""
        return self.matched / self.detected if self.detected else 1.0

    @property
    def recall(self) -> float:
        """Share of true points that are found; 1 where there is none."""
        return self.matched / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return harmonic(self.precision, self.recall)


def harmonic(precision: float, recall: float) -> float:
    """2PR/(P+R), 0 where both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def tcpd_f1(
    annotations: Sequence[Sequence[int]], detections: Sequence[int], *, margin: int = MARGIN
) -> float:
    """The score of the Turing change-point data set (arXiv 2003.06222) for one series.

    Index 0 belongs to every annotator's set and to the detections. Precision counts matches with the union of
    all sets, recall is the mean over annotators.
    """
    found = sorted({0, *detections})
    sets = [sorted({0, *marks}) for marks in annotations]
    union = sorted(set().union(*sets))
    precision = match(union, found, margin=margin) / len(found)
    recall = float(np.mean([match(marks, found, margin=margin) / len(marks) for marks in sets]))
    return harmonic(precision, recall)


def consensus(annotations: Sequence[Sequence[int]], *, margin: int = MARGIN) -> list[int]:
    """Places that more than half of the annotators marked within the margin.

    The place is the median of the marks, the most-marked first; later ones lie more than the margin away.
    """
    candidates = []
    for centre in sorted({mark for marks in annotations for mark in marks}):
        near = [min(marks, key=lambda m: abs(m - centre)) for marks in annotations if marks]
        near = [mark for mark in near if abs(mark - centre) <= margin]
        if 2 * len(near) > len(annotations):
            candidates.append((-len(near), centre, round(float(np.median(near)))))
    places: list[int] = []
    for _, _, place in sorted(candidates):
        if all(abs(place - other) > margin for other in places):
            places.append(place)
    return sorted(places)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineOutcome:
    """What a detector did with one growing series."""

    alarms: int
    """New alarms, true ones included."""
    spurious: int
    """Alarms that are not near the step."""
    delay: int | None
    """Points of the new level available when the step was first alarmed; None = never."""
    appended: int

    @property
    def found(self) -> bool:
        """Whether the step was alarmed in time."""
        return self.delay is not None and self.delay <= FOUND_WITHIN


def replay(
    detect: Detector,
    values: Floats,
    *,
    at: int | None = None,
    start: int = ONLINE_START,
    margin: int = MARGIN,
) -> OnlineOutcome:
    """Run `detect` on every prefix longer than `start`; what it finds at `start` is known.

    A detection more than the margin from all raised ones is a new alarm and stays raised.

    Args:
        detect: values of shape (m,) to indices.
        values: shape (n,).
        at: index of the true step, None without one.
        start: length of the prefix that is known beforehand.
        margin: reach of an alarm, in points.
    """
    raised = list(detect(values[:start]))
    alarms = spurious = 0
    delay: int | None = None
    for length in range(start + 1, values.size + 1):
        for index in detect(values[:length]):
            if any(abs(index - known) <= margin for known in raised):
                continue
            raised.append(index)
            alarms += 1
            if at is not None and length > at and abs(index - at) <= margin:
                delay = length - at if delay is None else delay
            else:
                spurious += 1
    return OnlineOutcome(alarms=alarms, spurious=spurious, delay=delay, appended=values.size - start)


def binomial_interval(hits: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson: the exact interval of a share."""
    if not trials:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def bootstrap_interval(
    statistic: Callable[[NDArray[np.intp]], float],
    size: int,
    rng: np.random.Generator,
    *,
    draws: int = 400,
    level: float = 0.95,
) -> tuple[float, float]:
    """Percentile interval of `statistic(indices)` when `size` series are drawn again with replacement."""
    values = [statistic(rng.integers(0, size, size)) for _ in range(draws)]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
