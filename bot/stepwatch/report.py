"""`report.json`: the only machine product of analysis, and the trust boundary.

What stands here is bounded (lengths, counts, bytes) and strict (unknown fields are refused), because
everything that reads a report may hold tokens while whoever wrote it need not be trusted. The JSON Schema
beside this file, `report.schema.json`, is generated from these types by `schema_bytes` and a test compares.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from stepwatch.errors import MalformedFile, UnsupportedSchema
from stepwatch.model import Side  # noqa: TC001  msgspec reads annotations at run time
from stepwatch.verdict import Twin, Verdict, compare_twins, judge
from stepwatch.verdict.differences import flatten, planted
from stepwatch.verdict.rows import NAME_LIMIT, Count, Name, Notes, Row, Text, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.policy import Policy
    from stepwatch.verdict import Evidence

REPORT_SCHEMA: Literal[1] = 1
MAX_BYTES = 16 * 1024**2
_FAILURES_LIMIT = 1000
_DEVICE_LIMIT = 100
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
    metrics: Annotated[list[Name], Meta(max_length=50)]
    """Empty: the default set of the accelerator."""


class CampaignInfo(Row, frozen=True, kw_only=True):
    """One series of rounds that the report draws on."""

    name: Name
    seed: int
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

    schema: Literal[1]
    stepwatch_version: Name
    created_at: Name
    """UTC, ISO 8601."""
    machine: MachineInfo
    baseline: Name | None
    """None: a release measured alone, only its twins are shown."""
    contender: Name
    campaigns: Annotated[list[CampaignInfo], Meta(max_length=1000)]
    policy: PolicyUsed
    verdicts: Annotated[list[Verdict], Meta(max_length=5000)]
    """Regressions first, the worst of them on top."""
    twins: Annotated[list[Twin], Meta(max_length=500)]
    failures: Annotated[list[Failure], Meta(max_length=_FAILURES_LIMIT)]
    notes: Notes


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


def build_report(evidence: Evidence, policy: Policy, provenance: Provenance) -> Report:
    """Judge the evidence and write the result down."""
    records = [session.record for session in evidence.sessions]
    newest = max(records, key=lambda record: record.started_at, default=None)
    device = flatten(newest.device) if newest else {}
    text = planted(records)
    warning = [f"SELF-TEST: a slowdown ({text}) was planted; this is no measurement of a release"]
    return Report(
        schema=REPORT_SCHEMA,
        stepwatch_version=provenance.stepwatch_version,
        created_at=provenance.created_at,
        machine=MachineInfo(
            name=shorten(provenance.machine, NAME_LIMIT),
            accelerator=evidence.accelerator,
            size=shorten(evidence.size, NAME_LIMIT),
            device={shorten(key, NAME_LIMIT): device[key] for key in sorted(device)[:_DEVICE_LIMIT]},
        ),
        baseline=evidence.baseline,
        contender=evidence.contender,
        campaigns=list(provenance.campaigns),
        policy=PolicyUsed(
            alpha=policy.alpha,
            floor=policy.floor,
            min_effect=policy.min_effect,
            metrics=list(policy.metrics),
        ),
        verdicts=judge(evidence, policy),
        twins=compare_twins(evidence, policy),
        failures=_failures(evidence),
        notes=[shorten(note) for note in [*(warning if text else []), *provenance.notes][:100]],
    )


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
            release=shorten(release, NAME_LIMIT),
            side=side,
            benchmark=None if benchmark is None else shorten(benchmark, NAME_LIMIT),
            stage=stage,
            reason=shorten(reason),
            count=count,
        )
        for (release, side, benchmark, stage, reason), count in counted.items()
    ][:_FAILURES_LIMIT]


def encode_report(report: Report) -> bytes:
    """The report as indented UTF-8 JSON; every number in it is finite (msgspec writes NaN as null)."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


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
