"""pytest-benchmark and Google Benchmark: files they wrote, and what they could write."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stepwatch.errors import HistoryNotFound, MalformedFile, UsageError
from stepwatch.history.sources import Format, read_sources
from stepwatch.units import Direction

if TYPE_CHECKING:
    from stepwatch.verdict.series import Series

DATA = Path(__file__).resolve().parents[2] / "data" / "histories"
PYTEST = json.loads((DATA / "pytest_benchmark.json").read_text())
GOOGLE = json.loads((DATA / "google_benchmark.json").read_text())


def read(*paths: Path, kind: Format | None = None) -> list[Series]:
    return read_sources([str(path) for path in paths], kind, better=Direction.LOWER).series


def pytest_run(folder: Path, day: int, median: float | None, **changes: Any) -> Path:
    path = folder / f"{day:04}_run.json"
    data = {
        "datetime": f"2026-01-{day:02}T00:00:00+00:00",
        "commit_info": {"id": f"c{day}"},
        "machine_info": {"machine": "x86_64", "python_version": "3.12.1", "cpu": {"count": 2}},
        "benchmarks": [{"fullname": "t.py::test_a", "stats": {"median": median}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data | changes))
    return path


def google_run(folder: Path, day: int, entries: list[dict[str, Any]], **context: Any) -> Path:
    path = folder / f"{day:04}.json"
    found = {"date": f"2026-01-{day:02}T00:00:00+00:00", "num_cpus": 2, **context}
    path.write_text(json.dumps({"context": found, "benchmarks": entries}))
    return path


def test_a_file_that_pytest_benchmark_wrote() -> None:
    series = read(DATA / "pytest_benchmark.json")
    assert [one.name for one in series] == sorted(b["fullname"] for b in PYTEST["benchmarks"])
    first = next(b for b in PYTEST["benchmarks"] if b["fullname"] == series[0].name)
    assert series[0].values.tolist() == [statistics.median(first["stats"]["data"])]
    assert series[0].samples is None
    assert list(series[0].revisions) == [PYTEST["commit_info"]["id"]]


def test_a_file_that_google_benchmark_wrote() -> None:
    failed, summed = read(DATA / "google_benchmark.json")
    times = [b["real_time"] for b in GOOGLE["benchmarks"] if b["run_type"] == "iteration"][:3]
    assert summed.name == "sum_million/iterations:100/repeats:3"
    assert summed.values[0] == pytest.approx(statistics.median(times) * 1e-9)
    assert list(summed.revisions) == ["abc"]
    assert failed.name == "skipped"
    assert math.isnan(failed.values[0])


def test_runs_are_ordered_by_their_time_and_not_by_their_names(tmp_path: Path) -> None:
    late, early = pytest_run(tmp_path / "a", 9, 9.0), pytest_run(tmp_path / "b", 2, 2.0)
    (series,) = read(late, early)
    assert series.values.tolist() == [2.0, 9.0]
    assert list(series.revisions) == ["c2", "c9"]
    assert series.dates is not None
    assert np.diff(series.dates).tolist() == [7 * 86_400]
    assert read(tmp_path)[0].values.tolist() == [2.0, 9.0]


def test_another_machine_or_python_is_another_series_and_the_newest_keeps_the_name(tmp_path: Path) -> None:
    pytest_run(tmp_path, 1, 1.0)
    pytest_run(tmp_path, 2, 1.0, machine_info={"node": "a", "python_version": "3.13.0"})
    pytest_run(tmp_path, 3, 1.0, machine_info={"node": "b", "python_version": "3.13.7"})
    newest, older = read(tmp_path)
    assert (newest.name, list(newest.revisions)) == ("t.py::test_a", ["c2", "c3"])
    assert older.name.startswith("t.py::test_a#")
    assert list(older.revisions) == ["c1"]


def test_failed_and_impossible_times_are_missing_points(tmp_path: Path) -> None:
    for day, median in enumerate([1.0, None, 0.0, math.inf], start=1):
        pytest_run(tmp_path, day, median)
    (series,) = read(tmp_path)
    np.testing.assert_array_equal(series.values, [1.0, math.nan, math.nan, math.nan])
    assert series.notes == ("2 of 4 values are no times and count as missing",)


def test_without_a_commit_the_file_names_the_revision(tmp_path: Path) -> None:
    path = pytest_run(tmp_path, 1, 1.0, commit_info={})
    assert list(read(path)[0].revisions) == [path.stem]


def test_only_aggregates_leave_the_median_and_units_are_scaled(tmp_path: Path) -> None:
    entries = [
        {
            "name": f"a_{kind}",
            "run_name": "a",
            "run_type": "aggregate",
            "aggregate_name": kind,
            "real_time": 3.0,
        }
        for kind in ("mean", "median", "cv")
    ]
    google_run(tmp_path, 1, [{**entry, "time_unit": "ms"} for entry in entries])
    google_run(tmp_path, 2, [{"name": "a", "real_time": 5.0, "time_unit": "us"}, {"name": "a_BigO"}])
    found = {one.name: one.values.tolist() for one in read(tmp_path)}
    assert found["a"] == pytest.approx([3e-3, 5e-6])
    assert list(read(tmp_path)[0].revisions) == ["0001", "0002"]


HOURS = json.dumps(
    {
        "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}],
        "context": {"date": "2026-01-01"},
    }
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "x.json:1:2: not JSON, perhaps truncated"),
        ("{}", "x.json: JSON of no known tool; say what it is with --format csv|jsonl|"),
        ('{"benchmarks": 3}', "x.json: JSON of no known tool"),
        ('{"benchmarks": [], "datetime": "today"}', "x.json:datetime: 'today' is no ISO 8601 time"),
        ('{"benchmarks": [{}], "datetime": "2026-01-01"}', "x.json: not pytest-benchmark's: Object missing"),
        ('{"benchmarks": [{}], "context": {}}', "x.json: not Google Benchmark's: Object missing"),
        ('{"benchmarks": [], "context": {}}', "x.json:context.date: '' is no ISO 8601 time"),
        (HOURS, "x.json:a: unknown time_unit 'h'"),
        ("[" * 100_000, "x.json: not a JSON file"),
    ],
)
def test_faults_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text(text)
    with pytest.raises(MalformedFile) as caught:
        read(Path("x.json"))
    assert str(caught.value).startswith(message)


def test_what_is_not_there_and_what_is_too_much(tmp_path: Path) -> None:
    with pytest.raises(HistoryNotFound, match="give a file or a directory that exists"):
        read(tmp_path / "none")
    with pytest.raises(HistoryNotFound, match="a file that exists"):
        read(tmp_path / "none", kind=Format.PYTEST_BENCHMARK)
    with pytest.raises(HistoryNotFound, match="give a results folder of asv, or one with"):
        read(tmp_path)
    with pytest.raises(MalformedFile, match="is a directory"):
        read(tmp_path, kind=Format.CSV)
    (tmp_path / "x.json").mkdir()
    with pytest.raises(MalformedFile, match="is a directory"):
        read(tmp_path / "x.json" / "..", kind=Format.GOOGLE_BENCHMARK)
    with pytest.raises(UsageError, match="csv is one file or directory; 2 were given"):
        read(DATA / "pytest_benchmark.json", tmp_path, kind=Format.CSV)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("series,revision,value\na,1,1\n", Format.CSV),
        ('{"series": "a", "revision": 1, "value": 1}\n', Format.JSONL),
        ('\n{"series": "a", "revision": 1, "value": 1}', Format.JSONL),
    ],
)
def test_the_format_is_found_by_the_content(tmp_path: Path, text: str, kind: Format) -> None:
    path = tmp_path / "history"
    path.write_text(text)
    assert read(path)[0].values.tolist() == read(path, kind=kind)[0].values.tolist() == [1.0]


def test_a_torn_file_in_a_folder_is_left_out_with_a_note(tmp_path: Path) -> None:
    torn = tmp_path / "0000_torn.json"
    torn.write_text('{"benchmarks": [')
    good = pytest_run(tmp_path, 1, 1.0)
    found = read_sources([str(tmp_path)], None, better=Direction.LOWER)
    assert found.series[0].values.tolist() == [1.0]
    (note,) = found.notes
    assert note.startswith(f"1 file left out; {torn}:1:17: not JSON, perhaps truncated")
    with pytest.raises(MalformedFile, match="0000_torn"):
        read(good, torn)
    good.unlink()
    with pytest.raises(MalformedFile, match="0000_torn"):
        read(tmp_path)
    with pytest.raises(MalformedFile, match="0000_torn"):
        read(tmp_path, kind=Format.GOOGLE_BENCHMARK)


def test_runs_without_any_benchmark_are_no_history(tmp_path: Path) -> None:
    pytest_run(tmp_path, 1, 1.0, benchmarks=[])
    with pytest.raises(HistoryNotFound, match="no run has a benchmark in it"):
        read(tmp_path)
