"""Reading asv's files and choosing campaigns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from asv import results as asv_results
from asv import util as asv_util
from evidence_factory import NEW, OLD, TORCH, failure, header, line_of, pairs, session

from stepwatch.errors import DataError, HistoryNotFound, MalformedFile, UnsupportedSchema, UsageError
from stepwatch.history.asv_results import (
    PointStatus,
    read_benchmarks,
    read_machine,
    read_machine_results,
    read_result_file,
)
from stepwatch.history.campaigns import (
    Comparison,
    find_machine,
    newest_comparison,
    read_campaigns,
    select,
)
from stepwatch.model import Side

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.model import CampaignHeader, SidecarLine

COLUMNS = [
    "result",
    "params",
    "version",
    "started_at",
    "duration",
    "stats_ci_99_a",
    "stats_ci_99_b",
    "stats_q_25",
    "stats_q_75",
    "stats_number",
    "stats_repeat",
    "samples",
    "profile",
]


def asv_file(folder: Path, *, name: str = "abcd1234-release.json", **changes: Any) -> Path:
    """A result file with a session benchmark, a failed, a skipped and a parametrized one."""
    nan, inf = float("nan"), float("inf")
    data = {
        "version": 2,
        "commit_hash": "abcd1234" * 5,
        "env_name": "release-py3.12",
        "date": 1_722_297_600_000,
        "params": {"machine": "lab"},
        "python": "3.12",
        "requirements": {},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": {
            "mlp.bench.JaxJit.track_step_cpu": [
                [0.002],
                [],
                "1",
                1_700_000_000_000,
                1.5,
                [-inf],
                [inf],
                [0.0019],
                [0.0021],
                [1],
                [2],
                [[0.0019, 0.0021]],
            ],
            "gpt.bench.JaxJit.track_step_cpu": [None, [], "1"],
            "gpt.bench.TorchEager.track_step_cpu": [[nan], [], "1"],
            "odd.track_inf": [[inf], [], "1"],
            "odd.time_parametrized": [[1.0, None, nan, 4.0], [["'a'", "'b'"], ["1", "2"]], "2"],
        },
        "durations": {},
    } | changes
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def test_points_of_a_file(tmp_path: Path) -> None:
    found = read_result_file(asv_file(tmp_path))
    assert (found.python, found.environment, found.date) == ("3.12", "release-py3.12", 1_722_297_600.0)
    points = {(point.benchmark, point.parameters): point for point in found.points}
    step = points["mlp.bench.JaxJit.track_step_cpu", ()]
    assert (step.status, step.value, step.samples) == (PointStatus.MEASURED, 0.002, (0.0019, 0.0021))
    statuses = [p.status for p in found.points if p.benchmark == "odd.time_parametrized"]
    assert statuses == [
        PointStatus.MEASURED,
        PointStatus.FAILED,
        PointStatus.SKIPPED,
        PointStatus.MEASURED,
    ]
    assert points["odd.time_parametrized", ("'b'", "2")].value == 4.0
    assert points["gpt.bench.JaxJit.track_step_cpu", ()].status is PointStatus.FAILED
    assert points["gpt.bench.TorchEager.track_step_cpu", ()].status is PointStatus.SKIPPED
    assert points["odd.track_inf", ()].status is PointStatus.FAILED


def test_asvs_own_reader_sees_the_same(tmp_path: Path) -> None:
    """The oracle: values and samples, parameter by parameter, as `asv.results.Results.load` has them."""
    path = asv_file(tmp_path / "lab")
    theirs = asv_results.Results.load(str(path))
    ours = read_result_file(path)
    assert ours.commit == theirs.commit_hash
    assert {point.benchmark for point in ours.points} == set(theirs.get_all_result_keys())
    for name in theirs.get_all_result_keys():
        params = theirs.get_result_params(name)
        values = theirs.get_result_value(name, params)
        samples = theirs.get_result_samples(name, params)
        points = [point for point in ours.points if point.benchmark == name]
        for place, point in enumerate(points):
            value = values[place] if values else None
            if point.status is PointStatus.MEASURED:
                assert point.value == value
            else:
                assert value is None or value != value or value == float("inf")  # noqa: PLR0124  NaN
            if point.samples:
                assert list(point.samples) == samples[place]


def test_a_file_that_asv_wrote_itself(tmp_path: Path) -> None:
    path = tmp_path / "abcd1234-release.json"
    data = json.loads(asv_file(tmp_path).read_text())
    asv_util.write_json(str(path), {k: v for k, v in data.items() if k != "version"}, 2, compact=True)
    assert len(read_result_file(path).points) == 8


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"result_columns": ["result", "surprise"]}, "unknown column 'surprise'"),
        ({"results": {"x": [[1.0], [], "1", *([None] * 20)]}}, "more values than columns"),
        ({"results": {"x": [[1.0], "p"]}}, "params is no list of lists"),
        ({"results": {"x": [[1.0, 2.0], []]}}, "expected 1 values"),
        ({"results": {"x": [1.0, []]}}, "expected 1 values"),
        ({"results": {"x": [None, [["1"] * 1000] * 3]}}, "1000000000 combinations of parameters"),
        ({"results": []}, "results"),
        ({"date": 10**400}, "date"),
        ({"commit_hash": 3}, "commit_hash"),
    ],
)
def test_what_asv_never_writes_is_refused_by_name(
    tmp_path: Path, changes: dict[str, Any], match: str
) -> None:
    path = asv_file(tmp_path, **changes)
    with pytest.raises(MalformedFile, match=match) as caught:
        read_result_file(path)
    assert str(path) in str(caught.value)


def test_a_number_that_no_float_can_hold_is_no_measurement(tmp_path: Path) -> None:
    found = read_result_file(asv_file(tmp_path, results={"x": [[10**400], [], "1"]}))
    assert [point.status for point in found.points] == [PointStatus.FAILED]


def test_a_truncated_file_is_named_with_its_place(tmp_path: Path) -> None:
    path = asv_file(tmp_path)
    path.write_text(path.read_text()[:200])
    with pytest.raises(MalformedFile, match=r"abcd1234-release.json:1:\d+: not JSON, perhaps truncated"):
        read_result_file(path)


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00", b"[" * 200_000, b"[]", b"{}", b'{"version":' + b"9" * 5000 + b"}"]
)
def test_what_is_no_asv_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(MalformedFile):
        read_result_file(path)


def test_another_version_of_the_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSchema, match="schema 3 is not known"):
        read_result_file(asv_file(tmp_path, version=3))
    with pytest.raises(
        MalformedFile, match="format 1 of asv; bring its results up to date with `asv update`"
    ):
        read_result_file(asv_file(tmp_path, version=1))


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(HistoryNotFound):
        read_result_file(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(DataError, match=r"folder\.json: cannot be read: is a directory; mend it or move it"):
        read_result_file(tmp_path / "folder.json")


def test_all_files_of_a_machine_but_not_its_own_description(tmp_path: Path) -> None:
    asv_file(tmp_path / "lab")
    asv_file(tmp_path / "lab", name="eeee1234-release.json", date=1_000, commit_hash="e" * 40)
    (tmp_path / "lab" / "machine.json").write_text('{"version": 1, "machine": "lab"}')
    files = read_machine_results(tmp_path, "lab")
    assert len(files) == 2
    assert {file.date for file in files} == {1.0, 1_722_297_600.0}
    assert read_machine(tmp_path, "lab")["machine"] == "lab"


def test_benchmarks_with_their_attributes(tmp_path: Path) -> None:
    assert read_benchmarks(tmp_path) == {}
    entry = {"version": "1", "unit": "bytes", "type": "track", "exact": True, "better": "higher", "code": "x"}
    (tmp_path / "benchmarks.json").write_text(json.dumps({"version": 2, "a.track_x": {"name": "a", **entry}}))
    found = read_benchmarks(tmp_path)["a.track_x"]
    assert (found.exact, found.better, found.unit) == (True, "higher", "bytes")
    for wrong in ({"name": 3}, {"name": "a", "better": "sideways"}):
        (tmp_path / "benchmarks.json").write_text(json.dumps({"version": 2, "a": wrong}))
        with pytest.raises(MalformedFile, match=r"benchmarks.json:a"):
            read_benchmarks(tmp_path)


def write(results: Path, head: CampaignHeader, lines: list[SidecarLine], *, tail: bytes = b"") -> Path:
    path = results / head.machine / "sessions" / f"{head.campaign}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in [head, *lines]) + tail)
    return path


RANGE = Comparison(baseline=OLD, contender=NEW)


def test_the_only_machine_is_meant(tmp_path: Path) -> None:
    with pytest.raises(HistoryNotFound):
        find_machine(tmp_path, None)
    write(tmp_path, header(), [])
    assert find_machine(tmp_path, None) == "lab"
    assert find_machine(tmp_path, "lab") == "lab"
    for name in ("other", "lab/../lab", ".", "../lab"):
        with pytest.raises(HistoryNotFound, match="no results here"):
            find_machine(tmp_path, name)
    write(tmp_path, header(machine="other"), [])
    with pytest.raises(UsageError, match="--machine lab or --machine other"):
        find_machine(tmp_path, None)


def test_no_campaign_at_all(tmp_path: Path) -> None:
    with pytest.raises(HistoryNotFound):
        read_campaigns(tmp_path, "lab")


def test_the_newest_pair_campaign_is_meant_and_a_self_test_last(tmp_path: Path) -> None:
    write(tmp_path, header(campaign="old", baseline="jax/0.4.30", created_at=1.0), [])
    write(tmp_path, header(campaign="new", created_at=2.0), [])
    write(tmp_path, header(campaign="plant", created_at=3.0, plant="mlp=1.1"), [])
    write(tmp_path, header(campaign="alone", baseline=None, created_at=4.0), [])
    write(tmp_path, header(campaign="calibration-jax-0.4.33-1", baseline=NEW, created_at=5.0), [])
    assert newest_comparison(read_campaigns(tmp_path, "lab")) == RANGE


def test_what_ended_before_its_first_session_is_not_meant(tmp_path: Path) -> None:
    """A budget below one pair leaves a header: it must not hide what was measured before it."""
    lines = list(map(line_of, pairs([1.4])))
    write(tmp_path, header(campaign="old", created_at=1.0), lines)
    empty = header(campaign="empty", baseline="commit/0123456789ab", created_at=9.0)
    write(tmp_path, empty, [])
    sidecars = read_campaigns(tmp_path, "lab")
    assert newest_comparison(sidecars) == RANGE
    wanted = Comparison(baseline="commit/0123456789ab", contender=NEW)
    with pytest.raises(DataError, match="run `stepwatch compare` on its two sides") as caught:
        select(sidecars, wanted, {})
    assert str(caught.value).endswith(f"(measured: {RANGE.spec})"), "what is empty was not measured"


def test_without_a_pair_nothing_can_be_meant(tmp_path: Path) -> None:
    write(tmp_path, header(baseline=None), [])
    with pytest.raises(UsageError, match="no pair was measured yet"):
        newest_comparison(read_campaigns(tmp_path, "lab"))


def test_sessions_failures_and_lent_twins_of_a_comparison(tmp_path: Path) -> None:
    write(
        tmp_path,
        header(),
        [*map(line_of, pairs([1.4] * 3)), failure(Side.CONTENDER).failure],
        tail=b'{"type":"sess',
    )
    single = session(Side.SINGLE, 0, benchmark="mlp.bench.TorchEager", variant="torch-eager")
    lone = header(campaign="torch-2.13.0", baseline=None, contender=TORCH)
    write(tmp_path, lone, [line_of(single)])
    write(tmp_path, header(campaign="planted", plant="mlp=1.1"), list(map(line_of, pairs([9.0] * 3))))
    found = select(read_campaigns(tmp_path, "lab"), RANGE, {})
    assert [sidecar.header.campaign for sidecar in found.campaigns] == [header().campaign]
    assert len(found.evidence.sessions) == 7
    assert len(found.evidence.failures) == 1
    assert any("torn" in note for note in found.notes)
    planted = select(
        read_campaigns(tmp_path, "lab"), Comparison(baseline=OLD, contender=NEW, plant="mlp=1.1"), {}
    )
    assert [sidecar.header.campaign for sidecar in planted.campaigns] == ["planted"]
    alone = select(read_campaigns(tmp_path, "lab"), Comparison(baseline=None, contender=TORCH), {})
    assert alone.evidence.baseline is None
    assert len(alone.evidence.sessions) == 1


def test_another_accelerator_is_left_out_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, header(), list(map(line_of, pairs([1.4] * 3))))
    gpu = header(campaign="gpu", accelerator="cuda12", size="gpu", created_at=2e9)
    write(
        tmp_path,
        gpu,
        list(map(line_of, pairs([1.4] * 2, accelerator="cuda12", size="gpu", device={"platform": "gpu"}))),
    )
    found = select(read_campaigns(tmp_path, "lab"), RANGE, {})
    assert (found.accelerator, len(found.evidence.sessions)) == ("cuda12", 4)
    assert found.notes == (f"{header().campaign}.jsonl: another accelerator or size, left out",)


@pytest.mark.parametrize(
    ("comparison", "spec"),
    [
        (Comparison(baseline=NEW, contender=NEW), "--a-a jax/0.4.33"),
        (Comparison(baseline="jax/0.4.30", contender=NEW), "jax/0.4.30..jax/0.4.33"),
        (Comparison(baseline=None, contender=NEW), "jax/0.4.33"),
        (RANGE, "jax/0.4.31..jax/0.4.33"),
    ],
)
def test_a_comparison_without_data_is_an_error(tmp_path: Path, comparison: Comparison, spec: str) -> None:
    write(tmp_path, header(), [])
    with pytest.raises(DataError, match="no session of it here") as caught:
        select(read_campaigns(tmp_path, "lab"), comparison, {})
    assert f"stepwatch measure {spec}" in str(caught.value)
