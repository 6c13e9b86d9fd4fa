"""The report: schema, round trip, and what a hostile one meets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest
from evidence_factory import NEW, evidence, failure, noisy, pairs, report_of, session
from hypothesis import given
from hypothesis import strategies as st

import stepwatch
from stepwatch.errors import DataError, MalformedFile, UnsupportedSchema
from stepwatch.model import Side
from stepwatch.policy import Policy
from stepwatch.report import MAX_BYTES, Report, decode_report, encode_report, schema_bytes

if TYPE_CHECKING:
    from stepwatch.verdict import Verdict

VALIDATOR = jsonschema.Draft202012Validator(json.loads(schema_bytes()))
SCHEMA_FILE = Path(stepwatch.__file__).parent / "report.schema.json"


@pytest.fixture(scope="module")
def report() -> Report:
    sessions = [
        *pairs(noisy(1.4, 8)),
        *pairs([40.0] * 2, benchmark="gpt.bench.JaxJit"),
        session(Side.BESIDE, 0, benchmark="mlp.bench.TorchEager", variant="torch-eager"),
    ]
    return report_of(evidence(sessions, [failure(Side.CONTENDER)] * 3))


def fields(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode_report(report))
    return found


def test_the_committed_schema_is_the_generated_one() -> None:
    regenerate = "from stepwatch.report import schema_bytes, write it to bot/stepwatch/report.schema.json"
    assert SCHEMA_FILE.read_bytes() == schema_bytes(), regenerate


def test_the_schema_is_a_schema_and_the_report_keeps_it(report: Report) -> None:
    schema = json.loads(schema_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(fields(report), schema)


def test_what_is_written_reads_back_the_same(report: Report) -> None:
    assert decode_report(encode_report(report), "report.json") == report


def test_the_promised_keys_are_there(report: Report) -> None:
    found = fields(report)
    assert {"schema", "verdicts", "twins", "failures", "notes", "policy", "machine"} <= found.keys()
    evidence_keys = {"benchmark", "outcome", "ratio", "ratio_low", "ratio_high", "e_value", "method"}
    more = {"sessions", "blame_range", "differences", "proven_beyond_min_effect", "reason"}
    assert evidence_keys | more <= found["verdicts"][0].keys()
    assert found["verdicts"][0]["differences"].keys() == {"python", "packages", "settings"}


def test_equal_failures_are_counted(report: Report) -> None:
    assert [(f.count, f.side, f.release) for f in report.failures] == [(3, "contender", NEW)]


def test_environment_failures_have_no_side() -> None:
    broken = failure(None, benchmark=None, stage="environment")
    assert report_of(evidence([], [broken])).failures[0].side is None


def test_a_planted_slowdown_is_the_first_note() -> None:
    planted = [session(Side.CONTENDER, 0, settings={"planted_slowdown": 1.1})]
    notes = report_of(evidence(planted), notes=("torn",)).notes
    assert notes[0].startswith("SELF-TEST: a slowdown (mlp 1.1x) was planted")
    assert notes[1] == "torn"


def test_without_a_session_there_is_no_device() -> None:
    assert report_of(evidence([])).machine.device == {}


def refuse(data: bytes, match: str) -> None:
    with pytest.raises(MalformedFile, match=match) as caught:
        decode_report(data, "evil.json")
    message = str(caught.value)
    assert message.startswith("evil.json: ")
    assert message.isprintable(), "one line, nothing that a terminal acts on"
    assert len(message) < 500


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("verdicts", 0, "ratio"), "big", r"verdicts\[0\].ratio"),
        (("verdicts", 0, "ratio"), -1.0, "ratio"),
        (("verdicts", 0, "outcome"), "fine", "outcome"),
        (("verdicts", 0, "benchmark"), "x" * 201, "benchmark"),
        (("verdicts", 0, "sessions"), -1, "sessions"),
        (("verdicts", 0, "notes"), ["n"] * 101, "notes"),
        (("policy", "alpha"), 0, "alpha"),
        (("notes",), ["x" * 601], "notes"),
        (("machine", "device"), {str(n): "" for n in range(101)}, "device"),
        (("failures", 0, "side"), "left", "side"),
        (("surprise\u001b[2J",), 1, "unknown field"),
    ],
)
def test_what_breaks_the_schema_is_refused(
    report: Report, path: tuple[Any, ...], value: object, match: str
) -> None:
    found = fields(report)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    refuse(json.dumps(found).encode(), match)


def test_what_is_no_json_is_refused(report: Report) -> None:
    good = encode_report(report)
    for data in (
        b"",
        b"{",
        good[: len(good) // 2],
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"schema": "1"}',
        b'{"a":1}',
    ):
        refuse(data, "make it again with `stepwatch analyse`")


def test_numbers_that_json_does_not_have_are_refused(report: Report) -> None:
    good = encode_report(report)
    for number in (b"NaN", b"Infinity", b"1e999"):
        refuse(good.replace(b'"alpha": 0.05', b'"alpha": ' + number), "make it again")


def test_too_large_and_too_deep_are_refused() -> None:
    refuse(b" " * (MAX_BYTES + 1), "larger than 16 MiB")
    refuse(b'{"x":' + b"[" * 100_000, "nested too deeply")


def test_another_schema_is_named() -> None:
    with pytest.raises(UnsupportedSchema, match="schema 3 is not known"):
        decode_report(b'{"schema": 3, "new": []}', "report.json")


@given(st.binary(max_size=300))
def test_no_bytes_escape_the_border(data: bytes) -> None:
    with pytest.raises((MalformedFile, UnsupportedSchema)):
        decode_report(data, "evil.json")


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.text(max_size=700), st.text(max_size=700))
def test_every_report_keeps_the_schema_and_reads_back(ratios: list[float], name: str, note: str) -> None:
    sessions = pairs(ratios, benchmark=f"{name}.bench.JaxJit", packages={name: note}, settings={name: note})
    made = report_of(evidence(sessions, [failure(Side.CONTENDER, reason=note)]), notes=(note,))
    data = encode_report(made)
    assert decode_report(data, "r") == made
    VALIDATOR.validate(json.loads(data))


LONG = "x" * 300


def test_names_and_lists_beyond_the_bounds_are_cut_with_a_note() -> None:
    """Sixty releases beside one workload, and names longer than a field."""
    beside = [
        session(Side.BESIDE, n, release=f"torch/3.{n}.0", benchmark="mlp.bench.TorchEager", variant="torch")
        for n in range(60)
    ]
    found = evidence(
        [*pairs(noisy(1.4, 8)), *beside], baseline=LONG, contender=NEW, accelerator="cpu", size="cpu-smoke"
    )
    made = report_of(found, Policy(metrics=("step_cpu", LONG, *(f"m{n}" for n in range(60)))))
    assert decode_report(encode_report(made), "r") == made
    assert len(made.twins[0].variants) == 50
    assert "cut: 50 of 61 variants of mlp fit into a report" in made.notes
    assert "cut: 50 of 62 metrics fit into a report" in made.notes
    assert made.baseline is not None
    assert made.baseline == made.verdicts[0].baseline.release
    assert made.verdicts[0].blame_range is not None


def test_more_rows_than_a_report_holds_are_cut_with_a_note() -> None:
    sessions = [
        session(side, 0, benchmark=f"b{n}.bench.X")
        for n in range(5001)
        for side in (Side.BASELINE, Side.CONTENDER)
    ]
    made = report_of(evidence(sessions), Policy(metrics=("step_cpu",)))
    assert decode_report(encode_report(made), "r") == made
    assert made.notes == ["cut: 5000 of 5001 verdicts fit into a report"]


@pytest.mark.parametrize("field", ["accelerator", "contender", "size"])
def test_a_long_header_still_makes_a_readable_report(field: str) -> None:
    made = report_of(evidence([session(Side.BASELINE, 0)], **{field: LONG}))
    assert decode_report(encode_report(made), "r") == made


def test_what_no_reader_takes_is_not_written(report: Report) -> None:
    campaign = msgspec.structs.replace(report.campaigns[0], seed=2**70)
    for wrong in (
        msgspec.structs.replace(report, campaigns=[campaign]),
        msgspec.structs.replace(report, contender=LONG),
        msgspec.structs.replace(report, verdicts=[many_notes(report)] * 5000),
    ):
        with pytest.raises(DataError, match="no report was written"):
            encode_report(wrong)


def many_notes(report: Report) -> Verdict:
    return msgspec.structs.replace(report.verdicts[0], notes=["n" * 600] * 10)


def test_a_report_is_immutable(report: Report) -> None:
    with pytest.raises(AttributeError):
        report.contender = "x"  # type: ignore[misc]
    assert msgspec.structs.replace(report, notes=["n"]).notes == ["n"]


def test_every_field_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "report.md").read_text("utf-8")
    definitions = json.loads(schema_bytes())["$defs"]
    missing = [
        f"{name}.{field}"
        for name, definition in definitions.items()
        for field in definition.get("properties", {})
        if f"`{field}`" not in page
    ]
    assert not missing
