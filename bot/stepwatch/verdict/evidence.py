"""What a verdict is built from: sessions and failures of one comparison, sorted into benchmarks."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwatch.model import RecordedFailure, SessionRecord, Side
from stepwatch.policy import EXACT_METRICS
from stepwatch.stats import session_value
from stepwatch.units import Direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stepwatch.model import Place

JUDGED_SIDES = (Side.BASELINE, Side.CONTENDER)
PairKey = tuple[str, int]
"""Campaign and round: the two sessions of a pair share it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTraits:
    """What the suite says of a metric (attributes of the `track_` function)."""

    better: Direction
    exact: bool

    @classmethod
    def default(cls, metric: str) -> MetricTraits:
        """For a metric that the suite's `benchmarks.json` does not list."""
        return cls(better=Direction.LOWER, exact=metric in EXACT_METRICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSession:
    """A finished session and the campaign it belongs to."""

    campaign: str
    place: Place
    record: SessionRecord

    @property
    def key(self) -> PairKey:
        """What it shares with the other session of its pair."""
        return self.campaign, self.place.pair


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFailure:
    """A failed session or environment and the campaign it belongs to."""

    campaign: str
    failure: RecordedFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything one report judges."""

    baseline: str | None
    """None: a release measured alone, nothing to judge."""
    contender: str
    accelerator: str
    size: str
    sessions: tuple[CampaignSession, ...]
    failures: tuple[CampaignFailure, ...] = ()
    traits: Mapping[str, MetricTraits] = field(default_factory=dict)
    """By benchmark id with metric (`mlp.bench.JaxJit.track_step_cpu`)."""
    fresh: tuple[CampaignSession, ...] = ()
    """Pairs that test suspected regressions again (stage `confirm`); never pooled with `sessions`."""
    must_confirm: bool = False
    """Whether a regression counts only when fresh pairs confirm it; else only where there are any."""

    def traits_of(self, benchmark: str, metric: str) -> MetricTraits:
        """The suite's word on a metric, or the default."""
        return self.traits.get(f"{benchmark}.track_{metric}") or MetricTraits.default(metric)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEvidence:
    """One benchmark on one side."""

    release: str
    sessions: tuple[CampaignSession, ...] = ()
    failures: tuple[RecordedFailure, ...] = ()
    """Its own failed sessions, and failures of its whole environment."""

    def values(self, metric: str, traits: MetricTraits) -> dict[PairKey, float]:
        """One number per session that measured `metric`, by pair.

        Samples that are not finite make no number: the harness refuses them, a foreign writer might not.
        """
        found: dict[PairKey, float] = {}
        for session in self.sessions:
            measured = session.record.metrics.get(metric)
            if measured and measured.samples and all(map(math.isfinite, measured.samples)):
                found[session.key] = session_value(
                    measured.samples, higher_is_better=traits.better is Direction.HIGHER
                )
        return found

    def units(self, metric: str) -> set[str]:
        """The units of `metric` here: one, unless the sessions contradict each other; empty: not measured."""
        metrics = (session.record.metrics.get(metric) for session in self.sessions)
        return {measured.unit for measured in metrics if measured}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkEvidence:
    """One benchmark (`mlp.bench.JaxJit`) on both sides."""

    benchmark: str
    baseline: SideEvidence
    contender: SideEvidence


def by_benchmark(evidence: Evidence) -> list[BenchmarkEvidence]:
    """Sort the judged sessions into benchmarks, in name order.

    The failure of a whole environment (no benchmark named) counts against every benchmark of its side.
    """
    releases = {Side.BASELINE: evidence.baseline or "", Side.CONTENDER: evidence.contender}
    sessions: dict[tuple[str, Side], list[CampaignSession]] = defaultdict(list)
    failures: dict[tuple[str, Side], list[RecordedFailure]] = defaultdict(list)
    whole: dict[Side, list[RecordedFailure]] = defaultdict(list)
    for session in evidence.sessions:
        sessions[session.record.benchmark, session.place.side].append(session)
    for failure in (item.failure for item in evidence.failures):
        for side in _sides_of(failure, releases):
            if failure.benchmark is None:
                whole[side].append(failure)
            else:
                failures[failure.benchmark, side].append(failure)
    names = {name for name, side in (*sessions, *failures) if side in JUDGED_SIDES}

    def one(name: str, side: Side) -> SideEvidence:
        return SideEvidence(
            release=releases[side],
            sessions=tuple(sessions[name, side]),
            failures=(*failures[name, side], *whole[side]),
        )

    return [
        BenchmarkEvidence(
            benchmark=name, baseline=one(name, Side.BASELINE), contender=one(name, Side.CONTENDER)
        )
        for name in sorted(names)
    ]


def _sides_of(failure: RecordedFailure, releases: Mapping[Side, str]) -> Iterable[Side]:
    """The sides a failure counts against; an environment has no place: every side of its release."""
    if failure.place is not None:
        return (failure.place.side,) if failure.place.side in JUDGED_SIDES else ()
    return [side for side, release in releases.items() if release == failure.release]
