"""Calibrating a machine: A/A pairs, measured as verdicts are, and what they say of each benchmark.

The pairs are a campaign of their own (`calibration-jax-0.4.33-1`), run by the same driver as every other
one, so that whatever disturbs verdicts disturbs the calibration. An unfinished or young campaign is gone on
with, also after a kill; one that is too old to speak for the machine, or that took turns otherwise, is left
as it is and the next number is begun.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec

from stepwatch.errors import DataError
from stepwatch.history.calibration import CAMPAIGN_PREFIX, calibration_path, fault_of, read_calibration
from stepwatch.history.sidecar import find_sidecars, read_sidecar
from stepwatch.measure.records import OVERHEAD_SECONDS
from stepwatch.measure.storage import append_line
from stepwatch.model import Side
from stepwatch.policy import judged_metrics
from stepwatch.stats import session_value
from stepwatch.stats.calibration import (
    FEWEST_PAIRS,
    LARGEST_EFFECT,
    Detectable,
    FalseAlarms,
    detectable,
    false_alarms,
)
from stepwatch.stats.noise import Noise, noise_of
from stepwatch.units import Direction
from stepwatch.verdict.calibration import CALIBRATION_SCHEMA, CalibrationRecord, Identity, Margins
from stepwatch.verdict.detection import STALE_DAYS
from stepwatch.verdict.evidence import by_benchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from stepwatch.history.sidecar import Sidecar
    from stepwatch.measure.job import Job
    from stepwatch.policy import Policy
    from stepwatch.stats.calibration import Rule
    from stepwatch.verdict.evidence import BenchmarkEvidence, CampaignSession, Evidence, MetricTraits, PairKey

LONGEST_REPLAY = 40
"""Pairs of a replay; what a budget pays beyond them changes little and costs much."""
_DAY = 86_400.0
_NAME = re.compile(CAMPAIGN_PREFIX + r"(.+)-([0-9]{1,6})")


def calibration_job(job: Job, *, pairs: int, now: float, fresh: bool) -> Job:
    """`job`, an A/A comparison, as the calibration campaign to begin or to go on with.

    Args:
        job: what is compared with itself.
        pairs: per benchmark.
        now: Unix seconds.
        fresh: begin a new campaign in any case.

    Raises:
        MalformedFile, UnsupportedSchema: an earlier calibration cannot be read.
    """
    read_calibration(job.results, job.machine)  # what is added to a damaged file is shown by no report
    subject = job.comparison.contender.replace("/", "-")
    earlier = {
        int(found[2]): path
        for path in find_sidecars(job.results, job.machine)
        if (found := _NAME.fullmatch(path.stem)) and found[1] == subject
    }
    last = max(earlier, default=0)
    goes_on = last and not fresh and _goes_on(read_sidecar(earlier[last]), job, now)
    number = last if goes_on else last + 1
    return dataclasses.replace(job, sessions=pairs, campaign=f"{CAMPAIGN_PREFIX}{subject}-{number}")


def _goes_on(sidecar: Sidecar, job: Job, now: float) -> bool:
    """Whether more pairs of `job` belong into this campaign.

    A session that was tried again alone took no turns; most of them say what the campaign was.
    """
    if now - sidecar.header.created_at > STALE_DAYS * _DAY:
        return False
    turns = Counter(bool(session.record.settings.get("turns")) for session in sidecar.sessions)
    if turns and turns.most_common(1)[0][0] != job.turns:
        return False
    versions = {name: str(one.benchmarks[0].description.get("version")) for name, one in job.groups.items()}
    records = [session.record for session in sidecar.sessions if session.record.benchmark in versions]
    return all(
        record.settings.get("benchmark_version", "?") in ("?", versions[record.benchmark])
        for record in records
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One benchmark and metric with its pairs, in the order they were measured."""

    benchmark: str
    traits: MetricTraits
    identity: Identity
    measured_at: float
    pairs: tuple[tuple[CampaignSession, CampaignSession], ...]
    """Baseline and contender."""
    values: tuple[tuple[float, float], ...]
    samples: tuple[Sequence[float], ...]
    """Of each session of a pair, in its order."""

    @property
    def exact(self) -> bool:
        """Whether the metric has no noise here, so that verdicts on it are exact."""
        return self.traits.exact and len({value for pair in self.values for value in pair}) == 1

    @property
    def has_logarithms(self) -> bool:
        """Whether ratios can be formed: every sample is positive."""
        return min(min(samples) for samples in self.samples) > 0

    @property
    def differences(self) -> list[float]:
        """Log contender - log baseline, per pair."""
        return [math.log(new) - math.log(old) for old, new in self.values]

    @property
    def places(self) -> list[float]:
        """Log value of the session that ran second - that of the one that ran first, per pair."""
        return [
            difference if old.place.position == 0 else -difference
            for difference, (old, _) in zip(self.differences, self.pairs, strict=True)
        ]


def calibrate(
    evidence: Evidence,
    policy: Policy,
    rule: Callable[[int], Rule],
    *,
    machine: str,
    budget_seconds: float,
) -> Iterator[CalibrationRecord]:
    """What the A/A pairs say, benchmark by benchmark, each as soon as it is found.

    The budget is shared evenly: every benchmark gets as many pairs as it pays for when all get equally many.
    The false-alarm rate is that of a benchmark judged alone; the detectable effect is that of a lone change
    among all rows calibrated here, which the error rate of a family asks more of.

    Args:
        evidence: the pairs of one calibration campaign.
        policy: margins and judged metrics.
        rule: how many rows are judged together -> the sequential decision rule at the policy's margins.
        machine: whose sessions they are.
        budget_seconds: of the comparison that the detectable effect is stated for.
    """
    rows = list(_rows(evidence, policy, machine))
    seconds = {
        group.benchmark: _pair_seconds(group.baseline.sessions + group.contender.sessions)
        for group in by_benchmark(evidence)
        if group.baseline.sessions and group.contender.sessions
    }
    affordable = int(budget_seconds / sum(seconds.values())) if seconds else 0
    budget_pairs = max(1, min(affordable, LONGEST_REPLAY))
    family = sum(not row.exact and row.has_logarithms for row in rows) or 1
    for row in rows:
        tested = not row.exact and row.has_logarithms
        enough = tested and len(row.pairs) >= FEWEST_PAIRS
        yield CalibrationRecord(
            schema=CALIBRATION_SCHEMA,
            benchmark=row.benchmark,
            release=evidence.contender,
            measured_at=row.measured_at,
            identity=row.identity,
            margins=Margins.of(policy),
            pairs=len(row.pairs),
            exact=row.exact,
            noise=_noise(row) if tested and len(row.pairs) > 1 else None,
            budget_seconds=budget_seconds,
            pair_seconds=seconds[row.benchmark.rpartition(".")[0]],
            budget_pairs=budget_pairs,
            family=family,
            false_alarms=_false_alarms(row, rule(1), budget_pairs) if enough else None,
            detectable=_detectable(row, rule(family), budget_pairs) if enough else None,
            largest_effect=LARGEST_EFFECT,
        )


def of_groups(evidence: Evidence, groups: Container[str]) -> Evidence:
    """The evidence of some benchmarks (`mlp.bench.JaxJit`) alone."""
    sessions = tuple(one for one in evidence.sessions if one.record.benchmark in groups)
    return dataclasses.replace(evidence, sessions=sessions, failures=())


def store(results: Path, machine: str, record: CalibrationRecord) -> None:
    """Append one calibration; on disk when this returns.

    Raises:
        DataError: a reader would refuse it (a number that is not finite).
        StorageFailed: no space or no permission.
    """
    line = msgspec.json.encode(record)
    try:
        fault = fault_of(msgspec.json.decode(line, type=CalibrationRecord))
    except msgspec.ValidationError as error:
        fault = str(error)
    if fault:
        raise DataError(f"{record.benchmark}: its calibration was not stored, it would say {fault}")
    append_line(calibration_path(results, machine), line)


def _rows(evidence: Evidence, policy: Policy, machine: str) -> Iterator[_Row]:
    """Every judged metric that both sides of a pair measured, of sessions with one identity."""
    for group in by_benchmark(evidence):
        sessions = (*group.baseline.sessions, *group.contender.sessions)
        if not sessions:
            continue
        ((identity, _),) = Counter(Identity.of(machine, one.record) for one in sessions).most_common(1)
        alike = [one for one in sessions if Identity.of(machine, one.record) == identity]
        by_side = {
            side: {one.key: one for one in alike if one.place.side is side}
            for side in (Side.BASELINE, Side.CONTENDER)
        }
        for metric in judged_metrics(policy, evidence.accelerator):
            row = _row(group, metric, evidence, by_side, identity)
            if row is not None:
                yield row


def _row(
    group: BenchmarkEvidence,
    metric: str,
    evidence: Evidence,
    by_side: Mapping[Side, Mapping[PairKey, CampaignSession]],
    identity: Identity,
) -> _Row | None:
    traits = evidence.traits_of(group.benchmark, metric)
    old, new = (side.values(metric, traits) for side in (group.baseline, group.contender))
    measured = old.keys() & new.keys() & by_side[Side.BASELINE].keys() & by_side[Side.CONTENDER].keys()
    keys = sorted(measured)
    if not keys:
        return None
    pairs = tuple((by_side[Side.BASELINE][key], by_side[Side.CONTENDER][key]) for key in keys)
    return _Row(
        benchmark=f"{group.benchmark}.track_{metric}",
        traits=traits,
        identity=identity,
        measured_at=max(one.record.started_at for pair in pairs for one in pair),
        pairs=pairs,
        values=tuple((old[key], new[key]) for key in keys),
        samples=tuple(one.record.metrics[metric].samples for pair in pairs for one in pair),
    )


def _pair_seconds(sessions: Sequence[CampaignSession]) -> float:
    """What a pair takes here: two mean sessions, with the start of their processes."""
    return 2 * (fmean(one.record.wall_seconds for one in sessions) + OVERHEAD_SECONDS)


def _noise(row: _Row) -> Noise:
    def summarise(samples: ArrayLike) -> float:
        return session_value(samples, higher_is_better=row.traits.better is Direction.HIGHER)

    return noise_of(row.samples, row.differences, summarise=summarise)


def _false_alarms(row: _Row, rule: Rule, pairs: int) -> FalseAlarms:
    return false_alarms(row.places, rule, pairs=pairs, seed=_seed(row))


def _detectable(row: _Row, rule: Rule, pairs: int) -> Detectable:
    return detectable(row.places, rule, pairs=pairs, seed=_seed(row))


def _seed(row: _Row) -> int:
    """Of the benchmark's name: the same pairs always give the same figures."""
    return int.from_bytes(hashlib.sha256(row.benchmark.encode()).digest()[:4], "big")
