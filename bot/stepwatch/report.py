"""`report.json`: the only machine product of analysis, and the trust boundary.

What stands here is bounded (lengths, counts, bytes) and strict (unknown fields are refused), because
everything that reads a report may hold tokens while whoever wrote it need not be trusted. The JSON Schema
beside this file, `report.schema.json`, is generated from these types by `schema_bytes` and a test compares.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from stepwatch.errors import DataError, MalformedFile, UnsupportedSchema
from stepwatch.model import Side  # noqa: TC001  msgspec reads annotations at run time
from stepwatch.verdict import Twin, Verdict, compare_twins, judge_confirmed
from stepwatch.verdict.detection import CalibrationInfo, calibrated
from stepwatch.verdict.differences import flatten, planted
from stepwatch.verdict.rows import (
    NAME_LIMIT,
    VARIANTS_LIMIT,
    Count,
    Name,
    Notes,
    Positive,
    Row,
    Text,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.policy import Policy
    from stepwatch.verdict import Evidence
    from stepwatch.verdict.calibration import Calibration

REPORT_SCHEMA: Literal[2] = 2
MAX_BYTES = 16 * 1024**2
_FAILURES_LIMIT = 1000
_DEVICE_LIMIT = 100
_METRICS_LIMIT = 50
_CAMPAIGNS_LIMIT = 1000
_VERDICTS_LIMIT = 5000
_TWINS_LIMIT = 500
_NOTES_LIMIT = 100
_T = TypeVar("_T")
Fraction = Annotated[float, Meta(ge=0, le=10)]


class MachineInfo(Row, frozen=True, kw_only=True):
    """Where the sessions ran."""

    name: Name
    accelerator: Name
    size: Name
    device: Annotated[dict[Name, Text], Meta(max_length=_DEVICE_LIMIT)]


class PolicyUsed(Row, frozen=True, kw_only=True):
    """The policy the verdicts were judged by; effects are fractions (0.02 is 2 %)."""

    alpha: Annotated[float, Meta(gt=0, lt=1)]
    floor: Fraction
    min_effect: Fraction
    metrics: Annotated[list[Name], Meta(max_length=_METRICS_LIMIT)]
    """Empty: the default set of the accelerator."""
    budget_seconds: Positive | None = None
    """What the comparison was allowed to spend on measuring; null: a fixed number of sessions."""


class CampaignInfo(Row, frozen=True, kw_only=True):
    """One series of rounds that the report draws on."""

    name: Name
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    sessions: Count


class Failure(Row, frozen=True, kw_only=True):
    """Equal failures, counted once."""

    release: Name
    side: Side | None
    """None: a whole environment."""
    benchmark: Name | None
    stage: Literal["environment", "session", "skipped"]
    reason: Text
    count: Count


class Report(Row, frozen=True, kw_only=True):
    """Everything judged about one comparison."""

    schema: Literal[2]
    stepwatch_version: Name
    created_at: Name
    """UTC, ISO 8601."""
    machine: MachineInfo
    baseline: Name | None
    """None: a release measured alone, only its twins are shown."""
    contender: Name
    campaigns: Annotated[list[CampaignInfo], Meta(max_length=_CAMPAIGNS_LIMIT)]
    policy: PolicyUsed
    verdicts: Annotated[list[Verdict], Meta(max_length=_VERDICTS_LIMIT)]
    """Regressions first, the worst of them on top."""
    twins: Annotated[list[Twin], Meta(max_length=_TWINS_LIMIT)]
    failures: Annotated[list[Failure], Meta(max_length=_FAILURES_LIMIT)]
    notes: Notes
    calibration: CalibrationInfo | None = None
    """Null: not calibrated, or not for this machine, policy and benchmarks."""


class _SchemaField(msgspec.Struct):
    schema: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a report says of its own making."""

    machine: str
    campaigns: Sequence[CampaignInfo]
    notes: Sequence[str]
    """Doubts met while reading."""
    stepwatch_version: str
    created_at: str
    """Now, ISO 8601 in UTC."""
    budget_seconds: float | None = None
    """What the comparison was allowed to spend on measuring."""


def build_report(
    evidence: Evidence, policy: Policy, provenance: Provenance, calibration: Calibration | None = None
) -> Report:
    """Judge the evidence and write the result down, with what this machine can detect beside each verdict.

    What does not fit the bounds of a report is cut, and a note says so.
    """
    records = [session.record for session in evidence.sessions]
    newest = max(records, key=lambda record: record.started_at, default=None)
    device = flatten(newest.device) if newest else {}
    notes: list[str] = []
    if text := planted(records):
        notes.append(f"SELF-TEST: a slowdown ({text}) was planted; this is no measurement of a release")
    metrics = _cut("metrics", list(policy.metrics), _METRICS_LIMIT, notes)
    campaigns = _cut("campaigns", list(provenance.campaigns), _CAMPAIGNS_LIMIT, notes)
    judged = calibrated(
        judge_confirmed(evidence, policy),
        evidence,
        policy,
        machine=provenance.machine,
        calibration=calibration,
    )
    notes += judged.notes
    verdicts = _cut("verdicts", judged.verdicts, _VERDICTS_LIMIT, notes)
    twins = _cut("workloads with twins", compare_twins(evidence, policy), _TWINS_LIMIT, notes)
    failures = _cut("failures", _failures(evidence), _FAILURES_LIMIT, notes)
    for twin in twins:
        _cut(f"variants of {twin.workload}", twin.variants, VARIANTS_LIMIT, notes)
    return Report(
        schema=REPORT_SCHEMA,
        stepwatch_version=provenance.stepwatch_version,
        created_at=provenance.created_at,
        machine=MachineInfo(
            name=_name(provenance.machine),
            accelerator=_name(evidence.accelerator),
            size=_name(evidence.size),
            device={_name(key): device[key] for key in sorted(device)[:_DEVICE_LIMIT]},
        ),
        baseline=None if evidence.baseline is None else _name(evidence.baseline),
        contender=_name(evidence.contender),
        campaigns=[msgspec.structs.replace(one, name=_name(one.name)) for one in campaigns],
        policy=PolicyUsed(
            alpha=policy.alpha,
            floor=policy.floor,
            min_effect=policy.min_effect,
            metrics=[_name(metric) for metric in metrics],
            budget_seconds=provenance.budget_seconds,
        ),
        verdicts=verdicts,
        twins=[msgspec.structs.replace(one, variants=one.variants[:VARIANTS_LIMIT]) for one in twins],
        failures=failures,
        notes=[shorten(note) for note in _cut("notes", [*notes, *provenance.notes], _NOTES_LIMIT, [])],
        calibration=judged.info,
    )


def _cut(what: str, values: list[_T], limit: int, notes: list[str]) -> list[_T]:
    """The first `limit` values; a note for the reader where that is not all of them."""
    if len(values) > limit:
        notes.append(f"cut: {limit} of {len(values)} {what} fit into a report")
    return values[:limit]


def _name(text: str) -> str:
    return shorten(text, NAME_LIMIT)


def _failures(evidence: Evidence) -> list[Failure]:
    """Failures of the report, equal ones counted together, in the order they first happened."""
    counted = Counter(
        (
            item.failure.release,
            item.failure.place.side if item.failure.place else None,
            item.failure.benchmark,
            item.failure.stage,
            item.failure.reason,
        )
        for item in evidence.failures
    )
    return [
        Failure(
            release=_name(release),
            side=side,
            benchmark=None if benchmark is None else _name(benchmark),
            stage=stage,
            reason=shorten(reason),
            count=count,
        )
        for (release, side, benchmark, stage, reason), count in counted.items()
    ]


def encode_report(report: Report) -> bytes:
    """The report as indented UTF-8 JSON; every number in it is finite (msgspec writes NaN as null).

    Raises:
        DataError: a reader would refuse it (`decode_report` is asked).
    """
    try:
        data = msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
        decode_report(data, "the report")
    except MalformedFile as error:
        raise DataError(
            f"no report was written, its readers would refuse it: {error.reason}; move away what is wrong "
            "there, or judge less of it with --metric"
        ) from error
    return data


def decode_report(data: bytes, source: str) -> Report:
    """Read a report that may be hostile.

    Args:
        data: the file's content.
        source: what to call it in an error.

    Raises:
        UnsupportedSchema: written by a stepwatch of another schema.
        MalformedFile: not JSON, too large or too deep, or outside the schema; says where.
    """
    if len(data) > MAX_BYTES:
        raise MalformedFile(source, f"larger than {MAX_BYTES // 1024**2} MiB, not a report")
    try:
        schema = msgspec.json.decode(data, type=_SchemaField).schema
        if schema != REPORT_SCHEMA:
            raise UnsupportedSchema(source, schema, REPORT_SCHEMA)
        return msgspec.json.decode(data, type=Report)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise MalformedFile(
            source, _printable(str(error)), next_step="make it again with `stepwatch analyse`"
        ) from error
    except RecursionError as error:
        raise MalformedFile(source, "nested too deeply, not a report") from error


def schema_bytes() -> bytes:
    """The JSON Schema of `Report`, as committed in `report.schema.json`."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stepwatch report",
        **msgspec.json.schema(Report),
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def _printable(text: str) -> str:
    """Error text may quote the hostile file: one line, nothing a terminal would act on."""
    return shorten("".join(character if character.isprintable() else "�" for character in text), 300)
