"""asv's rows: what `asv run --append-samples --record-samples` would hold, after any order of sessions."""

from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import asv.results
import pytest
from asv.runner import BenchmarkResult
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.errors import HistoryNotFound, MalformedFile, UnknownRelease, UsageError
from stepwatch.measure.asv_results import (
    ResultFiles,
    Revision,
    freeze_machine,
    read_machine,
    read_revisions,
)
from stepwatch.measure.suite import Benchmark, Suite
from stepwatch.model import MetricSamples, Place, RecordedSession, SessionRecord, Side

if TYPE_CHECKING:
    import random

    from conftest import Tracker

GROUP = "mlp.bench.JaxJit"
METRICS = ("step_cpu", "temp_bytes", "peak_device_bytes")
REVISION = Revision(
    release="jax/0.4.31", commit="0123456789abcdef0123456789abcdef01234567", date_ms=1722297600000
)


def description(metric: str) -> dict[str, object]:
    return {
        "name": f"{GROUP}.track_{metric}",
        "version": "1",
        "params": [],
        "param_names": [],
        "type": "track",
        "unit": "seconds",
        "code": "",
        "timeout": 900,
        "setup_cache_key": "mlp.bench:12",
    }


SUITE = Suite(
    folder=Path("suites"),
    benchmarks=tuple(Benchmark(name=str(d["name"]), description=d) for d in map(description, METRICS)),
)


def session(number: int, metrics: dict[str, list[float]]) -> RecordedSession:
    place = Place(session=f"{number:012x}", release="jax/0.4.31", side=Side.SINGLE, pair=number, position=0)
    record = SessionRecord(
        schema=1, benchmark=GROUP, workload="mlp", variant="jax-jit", size="cpu-smoke", accelerator="cpu",
        metrics={name: MetricSamples(samples=samples, unit="seconds") for name, samples in metrics.items()},
        started_at=1.7e9 + number, wall_seconds=1.0, versions={}, packages={}, device={}, machine_before={},
        machine_after={}, settings={}, parameters=1,
    )  # fmt: skip
    return RecordedSession(place=place, record=record)


def files(folder: Path) -> ResultFiles:
    freeze_machine(folder, "m", {"accelerator": "cpu", "size": "cpu-smoke", "device": "cpu"})
    return ResultFiles(results=folder, machine="m", python="locked")


def as_asv_appends(folder: Path, sessions: list[RecordedSession]) -> Path:
    """The same sessions through asv's own append, one save each: the oracle."""
    files(folder)
    machine = read_machine(folder, "m")
    for one in sessions:
        rows = asv.results.Results(
            dict(machine, python="locked"),
            {},
            REVISION.commit,
            REVISION.date_ms,
            "locked",
            "release-pylocked",
            {},
        )
        rows.load_data(str(folder))
        for metric in METRICS:
            found = one.record.metrics.get(metric)
            outcome = BenchmarkResult(
                result=[True if found else math.nan], samples=[found.samples if found else None],
                number=[1 if found else None], errcode=0, stderr="", profile=None,
            )  # fmt: skip
            rows.add_result(
                description(metric), outcome,
                started_at=dt.datetime.fromtimestamp(one.record.started_at, dt.UTC),
                record_samples=True, append_samples=True,
            )  # fmt: skip
        rows.set_setup_cache_duration("mlp.bench:12", one.record.wall_seconds)
        rows.save(str(folder))
    return folder / asv.results.get_filename("m", REVISION.commit, "release-pylocked")


samples = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(samples, samples), min_size=1, max_size=5), st.randoms())
def test_a_file_equals_what_asv_itself_would_have_appended(
    tmp_path_factory: pytest.TempPathFactory,
    measured: list[tuple[list[float], list[float]]],
    shuffler: random.Random,
) -> None:
    sessions = [session(n, {"step_cpu": cpu, "temp_bytes": temp}) for n, (cpu, temp) in enumerate(measured)]
    expected = as_asv_appends(tmp_path_factory.mktemp("asv"), sessions)
    ours = files(tmp_path_factory.mktemp("ours"))
    shuffler.shuffle(sessions)
    ours.write(REVISION, SUITE.groups(), sessions)
    written = ours.path_of(REVISION)
    assert written.name == expected.name
    ours_and_asvs = [json.dumps(json.loads(p.read_text()), sort_keys=True) for p in (written, expected)]
    assert ours_and_asvs[0] == ours_and_asvs[1]


def test_a_metric_that_only_some_sessions_have_keeps_its_samples(tmp_path: Path) -> None:
    ours = files(tmp_path)
    some = [session(0, {"step_cpu": [1.0], "temp_bytes": [8.0]}), session(1, {"step_cpu": [2.0]})]
    ours.write(REVISION, SUITE.groups(), some)
    rows = asv.results.Results.load(str(ours.path_of(REVISION)), machine_name="m")
    assert rows.get_result_samples(f"{GROUP}.track_temp_bytes", []) == [[8.0]]
    assert math.isnan(rows.get_result_value(f"{GROUP}.track_peak_device_bytes", [])[0])


def test_writing_the_same_sessions_again_changes_nothing(tmp_path: Path) -> None:
    ours = files(tmp_path)
    ours.write(REVISION, SUITE.groups(), [session(0, {"step_cpu": [1.0]})])
    before = ours.path_of(REVISION).stat()
    ours.write(REVISION, SUITE.groups(), [session(0, {"step_cpu": [1.0]})])
    assert ours.path_of(REVISION).stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"version": 1}', '{"version": 2, "results": 3}', '{"version": "x"}', "null"],
)
def test_a_file_that_is_no_asv_result_is_named_and_left_alone(tmp_path: Path, content: str) -> None:
    ours = files(tmp_path)
    ours.path_of(REVISION).write_text(content)
    with pytest.raises(MalformedFile, match="0123456"):
        ours.write(REVISION, SUITE.groups(), [session(0, {"step_cpu": [1.0]})])
    assert ours.path_of(REVISION).read_text() == content


def test_a_machine_is_described_once_and_then_only_checked(tmp_path: Path) -> None:
    first = freeze_machine(tmp_path, "m", {"accelerator": "cpu", "size": "cpu-smoke", "device": "cpu"})
    path = tmp_path / "m" / "machine.json"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({**stored, "os": "another kernel"}))
    again = freeze_machine(tmp_path, "m", {"accelerator": "cpu", "size": "cpu-smoke", "device": "cpu"})
    assert again == {**first, "os": "another kernel"}
    with pytest.raises(UsageError, match="accelerator 'cpu', not 'cuda12'"):
        freeze_machine(tmp_path, "m", {"accelerator": "cuda12"})


def test_a_machine_file_that_asv_rewrote_gets_our_fields_again(tmp_path: Path) -> None:
    freeze_machine(tmp_path, "m", {"accelerator": "cpu"})
    path = tmp_path / "m" / "machine.json"
    stored = json.loads(path.read_text())
    del stored["accelerator"]
    path.write_text(json.dumps(stored))
    assert freeze_machine(tmp_path, "m", {"accelerator": "cpu"})["accelerator"] == "cpu"


@pytest.mark.parametrize("content", ["{}", '{"version": 2}', '{"version": 1, "machine": "other"}'])
def test_a_machine_file_of_something_else_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "machine.json").write_text(content)
    with pytest.raises(MalformedFile, match=r"machine\.json"):
        freeze_machine(tmp_path, "m", {})


def test_releases_are_found_by_name_in_the_history_repository(tracker: Tracker, tmp_path: Path) -> None:
    repository = tracker.config.history_repo
    revision = read_revisions(repository, ["mini/2.0"])["mini/2.0"]
    assert revision.date_ms == 1709294400000  # noon of the release day
    with pytest.raises(UnknownRelease, match=r"mini/3\.0"):
        read_revisions(repository, ["mini/3.0"])
    with pytest.raises(HistoryNotFound, match=r"releases sync"):
        read_revisions(tmp_path / "nowhere", ["mini/2.0"])
