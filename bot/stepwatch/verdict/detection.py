"""Verdicts with what this machine can detect beside them, from its A/A calibration.

A calibration counts only for what it was made on: the same machine, device, size, way of taking turns and
benchmark version, judged by the same margins. Where there is none, the spread of a row's own pairs still says
what they could have found, and the row says that this is where its figure comes from.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from stepwatch.policy import judged_metrics
from stepwatch.stats import PairedTest, intervals
from stepwatch.stats.calibration import detectable_by_interval
from stepwatch.verdict.calibration import Identity, Margins
from stepwatch.verdict.evidence import by_benchmark
from stepwatch.verdict.rows import NAME_LIMIT, Count, Name, Positive, Row, Verdict, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stepwatch.policy import Policy
    from stepwatch.verdict.calibration import Calibration, CalibrationRecord
    from stepwatch.verdict.evidence import BenchmarkEvidence, Evidence

STALE_DAYS = 30
"""A machine changes with its kernel, its neighbours and its dust."""
_DAY = 86_400.0
_IDENTITY_WORDS = {
    "machine": "under the machine name",
    "accelerator": "on the accelerator",
    "size": "at the size",
    "device": "on the device",
    "benchmark_version": "at the benchmark version",
}
_UNTESTED = ("exact", "none")
"""Methods whose rows have no noise to detect anything against."""


class CalibrationInfo(Row, frozen=True, kw_only=True):
    """The A/A calibration that `mde` and `a_a_rate` of the rows come from."""

    machine: Name
    release: Name
    """Measured against itself."""
    measured_at: Name
    """When the oldest of the calibrations used was made; UTC, ISO 8601."""
    pairs: Count
    """The fewest pairs that a row used was calibrated on."""
    budget_seconds: Positive
    """The budget of a comparison that `mde` supposes."""
    stale: bool
    """Older than a calibration should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedVerdicts:
    """Verdicts, and where their MDE and A/A rates come from."""

    verdicts: list[Verdict]
    info: CalibrationInfo | None
    """None: no row has a calibration."""
    notes: list[str]
    """Calibrations that are there and do not fit."""


def calibrated(
    verdicts: Sequence[Verdict],
    evidence: Evidence,
    policy: Policy,
    *,
    machine: str,
    calibration: Calibration | None,
) -> CalibratedVerdicts:
    """Put MDE and A/A rate beside each tested verdict.

    Args:
        verdicts: as `judge` gave them.
        evidence: what they were judged from.
        policy: by which.
        machine: whose sessions they are.
        calibration: None: nothing was ever calibrated there.
    """
    sources = _sources(evidence, policy)
    tested = [
        place
        for place, verdict in enumerate(verdicts)
        if verdict.method not in _UNTESTED and verdict.benchmark in sources
    ]
    known = _by_benchmark(calibration.records if calibration else ())
    rows = list(verdicts)
    used: list[CalibrationRecord] = []
    misfits: Counter[str] = Counter()
    alone = []
    for place in tested:
        name = verdicts[place].benchmark
        record, misfit = _choose(known.get(name, ()), _identity(machine, sources[name].group), policy)
        misfits += Counter([misfit] if misfit else [])
        if record is None:
            alone.append(place)
        else:
            rows[place] = _with_record(verdicts[place], record)
            used.append(record)
    tests = [_test(sources[verdicts[place].benchmark], evidence) for place in alone]
    effects = _own_effects(tests, policy, family=len(tested))
    for place, test, effect in zip(alone, tests, effects, strict=True):
        if effect is not None:
            rows[place] = msgspec.structs.replace(
                verdicts[place], mde=effect, mde_pairs=test.n, mde_source="pairs"
            )
    return CalibratedVerdicts(
        verdicts=rows,
        info=_info(used, calibration.now) if calibration and used else None,
        notes=[
            f"{count} of {len(tested)} rows: calibrated {misfit}; run `stepwatch calibrate` again"
            for misfit, count in misfits.items()
        ],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a row was judged from."""

    group: BenchmarkEvidence
    metric: str


def _sources(evidence: Evidence, policy: Policy) -> Mapping[str, _Source]:
    """By the public id, as rows write it; names that are alike once they are cut to fit stand for none."""
    named = [
        (shorten(f"{group.benchmark}.track_{metric}", NAME_LIMIT), _Source(group=group, metric=metric))
        for group in by_benchmark(evidence)
        for metric in judged_metrics(policy, evidence.accelerator)
    ]
    times = Counter(name for name, _ in named)
    return {name: source for name, source in named if times[name] == 1}


def _by_benchmark(records: Iterable[CalibrationRecord]) -> Mapping[str, list[CalibrationRecord]]:
    """Newest first."""
    found: dict[str, list[CalibrationRecord]] = defaultdict(list)
    for record in records:
        found[record.benchmark].insert(0, record)
    return found


def _identity(machine: str, group: BenchmarkEvidence) -> Identity:
    """That of most sessions: a single one that was tried again alone took no turns."""
    sessions = (*group.baseline.sessions, *group.contender.sessions)
    ((most, _),) = Counter(Identity.of(machine, session.record) for session in sessions).most_common(1)
    return most


def _choose(
    records: Sequence[CalibrationRecord], identity: Identity, policy: Policy
) -> tuple[CalibrationRecord | None, str]:
    """The newest calibration that fits, or why the newest one of all does not ("": there is none)."""
    misfit = ""
    for record in records:
        if record.exact or record.detectable is None:
            continue
        reason = _misfit(record, identity, policy)
        if not reason:
            return record, ""
        misfit = misfit or reason
    return None, misfit


def _misfit(record: CalibrationRecord, identity: Identity, policy: Policy) -> str:
    """What of a calibration is not as in the comparison, as the end of "calibrated ..."; "": nothing."""
    for name, label in _IDENTITY_WORDS.items():
        theirs = getattr(record.identity, name)
        if getattr(identity, name) != theirs:
            return shorten(f"{label} {theirs}", 100)
    if identity.turns != record.identity.turns:
        return "with pairs that took turns" if record.identity.turns else "with pairs that took no turns"
    margins = record.margins
    if margins != Margins.of(policy):
        return (
            f"at other margins (floor {margins.floor:.4g}, minimal effect {margins.min_effect:.4g}, "
            f"alpha {margins.alpha:.4g})"
        )
    return ""


def _with_record(verdict: Verdict, record: CalibrationRecord) -> Verdict:
    found, alarms = record.detectable, record.false_alarms
    return msgspec.structs.replace(
        verdict,
        mde=found and found.effect,
        mde_low=found and found.low,
        mde_high=found and found.high,
        mde_beyond=record.largest_effect if found and found.effect is None else None,
        mde_pairs=record.budget_pairs,
        mde_source="calibration",
        a_a_rate=alarms and alarms.rate,
        a_a_low=alarms and alarms.low,
        a_a_high=alarms and alarms.high,
    )


def _test(source: _Source, evidence: Evidence) -> PairedTest:
    """The pairs of a row, as it was judged by them."""
    group, metric = source.group, source.metric
    traits = evidence.traits_of(group.benchmark, metric)
    old, new = (side.values(metric, traits) for side in (group.baseline, group.contender))
    return PairedTest.of([math.log(new[key]) - math.log(old[key]) for key in sorted(old.keys() & new.keys())])


def _own_effects(tests: Sequence[PairedTest], policy: Policy, *, family: int) -> list[float | None]:
    """The effect that each row's own pairs could have found as a lone change of its family; None: none."""
    floor = math.log1p(policy.floor)
    ends = intervals(tests, policy.alpha / family) if tests else []
    return [
        detectable_by_interval((end.high - end.low) / 2, test.scale, pairs=test.n, floor=floor)
        for test, end in zip(tests, ends, strict=True)
    ]


def _info(used: Sequence[CalibrationRecord], now: float) -> CalibrationInfo:
    oldest = min(used, key=lambda record: record.measured_at)
    return CalibrationInfo(
        machine=shorten(oldest.identity.machine, NAME_LIMIT),
        release=shorten(oldest.release, NAME_LIMIT),
        measured_at=datetime.fromtimestamp(oldest.measured_at, UTC).isoformat(timespec="seconds"),
        pairs=min(record.pairs for record in used),
        budget_seconds=oldest.budget_seconds,
        stale=now - oldest.measured_at > STALE_DAYS * _DAY,
    )
