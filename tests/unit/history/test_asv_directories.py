"""asv results directories in columns: the same values as asv's own reader, and a cache that never lies."""

from __future__ import annotations

import itertools
import json
import math
import os
import threading
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from asv.results import Results
from asv_directory import save_commit

from stepwatch.errors import HistoryNotFound, MalformedFile, UnsupportedSchema
from stepwatch.history import asv_files
from stepwatch.history.asv_files import CACHE_KIND, AsvFiles
from stepwatch.history.asv_history import read_history
from stepwatch.history.cache import Cache
from stepwatch.units import Direction

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.verdict.series import Series

NOWHERE = Cache(None, CACHE_KIND, AsvFiles)


def read(folder: Path, cache: Path | None = None) -> dict[str, Series]:
    return {one.name: one for one in read_history(folder, Cache(cache, CACHE_KIND, AsvFiles))[0]}


def values(series: dict[str, Series]) -> dict[str, list[float]]:
    return {name: one.values.tolist() for name, one in series.items()}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four commits, saved out of order: plain, failed, skipped, parametrized, with and without NaN."""
    folder = tmp_path / "results"
    params = {"b.time_grid": [["'x'", "'y'"], ["1", "2"]]}
    for number in (3, 1, 4, 2):
        found: dict[str, Any] = {
            "b.time_plain": float(number),
            "b.track_odd": [None, math.nan, 5.0, 7][number - 1],
        }
        if number != 2:
            found["b.time_grid"] = [number + 0.1, None, number + 0.3, math.nan if number == 4 else 2.0]
        save_commit(folder, number, found, params=params)
    return folder


def test_series_in_time_order_with_missing_points(results: Path) -> None:
    found = read(results)
    assert list(found) == sorted(found)
    assert values(found)["b.time_plain"] == [1, 2, 3, 4]
    np.testing.assert_array_equal(found["b.track_odd"].values, [math.nan, math.nan, 5, 7])
    np.testing.assert_array_equal(found["b.time_grid('y', 2)"].values, [2, 2, math.nan])
    assert found["b.time_grid('x', 2)"].measured == 0
    plain = found["b.time_plain"]
    assert [revision[:8] for revision in plain.revisions] == ["00000001", "00000002", "00000003", "00000004"]
    assert plain.revisions[-1] == plain.revisions[3] == "00000004" * 5
    assert plain.revisions[1:3] == ["00000002" * 5, "00000003" * 5]
    assert plain.dates is not None
    assert plain.dates.tolist() == [86_400.0 * day for day in (1, 2, 3, 4)]


def test_asvs_own_reader_sees_the_same(results: Path) -> None:
    """The oracle: every value of every file, parameter by parameter, by `asv.results.Results.load`."""
    found = read(results)
    seen = 0
    for path in results.glob("lab/0*.json"):
        theirs = Results.load(str(path))
        for name in theirs.get_all_result_keys():
            choices = theirs.get_result_params(name)
            for chosen, value in zip(
                itertools.product(*choices), theirs.get_result_value(name, choices), strict=True
            ):
                series = found[f"{name}({', '.join(chosen)})" if chosen else name]
                ours = series.values[list(series.revisions).index(theirs.commit_hash)]
                np.testing.assert_equal(ours, math.nan if value is None else value)
                seen += 1
    assert seen == sum(len(series.values) for series in found.values())


def test_the_fast_path_and_the_general_one_agree(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = values(read(results))
    monkeypatch.setattr("stepwatch.history.asv_format._FIRST_COLUMNS", [])
    general = values(read(results))
    np.testing.assert_equal(general, fast)


def test_what_a_track_function_may_return_is_no_measurement(tmp_path: Path) -> None:
    path = save_commit(tmp_path, 1, {"b.track_a": 1.0})
    data = json.loads(path.read_text())
    data["results"] = {
        f"b.track_{i}": [[value], [], "1"] for i, value in enumerate([math.inf, "x", {}, 10**400, 3])
    }
    path.write_text(json.dumps(data))
    found = values(read(tmp_path))
    np.testing.assert_equal(found, {f"b.track_{i}": [math.nan] for i in range(4)} | {"b.track_4": [3.0]})


def test_machines_and_environments_are_series_of_their_own(tmp_path: Path) -> None:
    save_commit(tmp_path, 1, {"b.time_a": 1.0})
    save_commit(tmp_path, 2, {"b.time_a": 2.0}, python="3.13")
    save_commit(tmp_path, 3, {"b.time_a": 3.0}, machine="other")
    assert values(read(tmp_path)) == {
        "lab/virtualenv-py3.12/b.time_a": [1.0],
        "lab/virtualenv-py3.13/b.time_a": [2.0],
        "other/virtualenv-py3.12/b.time_a": [3.0],
    }
    assert values(read(tmp_path / "other")) == {"b.time_a": [3.0]}


def test_a_new_version_or_description_begins_a_new_series(tmp_path: Path) -> None:
    save_commit(tmp_path, 1, {"b.time_a": 1.0})
    save_commit(tmp_path, 2, {"b.time_a": 2.0}, version="2")
    save_commit(tmp_path, 3, {"b.time_a": 3.0}, version="2", cpu="faster")
    found = values(read(tmp_path))
    newest = found.pop("b.time_a")
    assert newest == [3.0]
    assert sorted(found.values()) == [[1.0], [2.0]]
    assert all(name.startswith("b.time_a#") for name in found)


def test_units_and_directions_come_from_the_suite(tmp_path: Path) -> None:
    for day in range(4):
        save_commit(tmp_path, day, {"b.time_a": -1.0 if day == 2 else 1.0, "b.mem_b": 64, "b.track_c": -5.0})
    known = {
        "b.time_a": {"name": "b.time_a", "unit": "seconds", "better": "higher"},
        "b.mem_b": {"name": "b.mem_b", "unit": "bytes"},
        "b.track_c": {"name": "b.track_c", "unit": "unit", "exact": True},
    }
    (tmp_path / "benchmarks.json").write_text(json.dumps({"version": 2, **known}))
    found = read(tmp_path)
    time, memory, other = found["b.time_a"], found["b.mem_b"], found["b.track_c"]
    assert (time.unit, time.better, time.exact, time.measured) == ("seconds", Direction.HIGHER, False, 3)
    assert time.notes == ("1 of 4 values are impossible (a time is more than 0): missing",)
    assert (memory.unit, memory.exact, other.exact, other.measured) == ("bytes", True, True, 4)


def test_files_that_cannot_be_read_are_left_out_with_a_note(tmp_path: Path) -> None:
    save_commit(tmp_path, 1, {"b.time_a": 1.0})
    (tmp_path / "lab" / "a-broken.json").write_text('{"version": 2, "commit_hash"')
    (tmp_path / "lab" / "b-old.json").write_text('{"version": 1}')
    series, notes = read_history(tmp_path, NOWHERE)
    assert len(series) == 1
    assert len(notes) == 1
    assert notes[0].startswith("2 files left out; the first: ")
    assert "a-broken.json:1:29: not JSON, perhaps truncated" in notes[0]


def test_without_one_readable_file_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HistoryNotFound, match="give a results folder of asv"):
        read(tmp_path / "none")
    with pytest.raises(HistoryNotFound, match="give a results folder of asv"):
        read(tmp_path)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "old.json").write_text('{"version": 1}')
    with pytest.raises(MalformedFile, match="format 1 of asv; bring its results up to date"):
        read(tmp_path)
    (tmp_path / "lab" / "old.json").write_text('{"version": 3}')
    with pytest.raises(UnsupportedSchema, match="schema 3 is not known"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([[1.0, 2.0], []], "expected 1 values"),
        ([None, [["1"] * 1000] * 3], "1000000000 combinations"),
        ([[1.0], "p"], "params is no list of lists"),
        ([[math.nan], [], "1", *([None] * 20)], "more values than columns"),
    ],
)
def test_rows_that_asv_never_writes_are_refused(tmp_path: Path, row: list[Any], reason: str) -> None:
    path = save_commit(tmp_path, 1, {"b.time_a": 1.0})
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"results": {"b.time_a": row}}))
    with pytest.raises(MalformedFile, match=reason):
        read(tmp_path)


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are decoded from now on."""
    seen: list[str] = []
    decode = asv_files.decode_rows

    def spy(path: Path, data: bytes) -> Any:
        seen.append(path.name)
        return decode(path, data)

    monkeypatch.setattr(asv_files, "decode_rows", spy)
    return seen


def test_the_next_run_reads_only_what_changed(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache" / "points"
    told: list[tuple[int, int]] = []
    read_history(results, Cache(cache, CACHE_KIND, AsvFiles), lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    seen = reads(monkeypatch)
    np.testing.assert_equal(values(read(results, cache)), values(read(results)))
    assert len(seen) == 4
    seen.clear()
    new = save_commit(results, 5, {"b.time_plain": 5.0, "b.time_new": 1.0})
    changed = save_commit(results, 1, {"b.time_plain": 1.25})
    next(results.glob("lab/00000003-*.json")).unlink()
    found = read(results, cache)
    assert sorted(seen) == sorted([new.name, changed.name])
    assert found["b.time_plain"].values.tolist() == [1.25, 2, 4, 5]
    seen.clear()
    np.testing.assert_equal(values(read(results, cache)), values(found))
    assert seen == []


def test_a_file_of_equal_size_and_another_time_is_read_again(results: Path, tmp_path: Path) -> None:
    cache = tmp_path / "points"
    path = save_commit(results, 9, {"b.time_plain": 7.0})
    read(results, cache)
    data = path.read_text()
    path.write_text(data.replace("[7.0]", "[8.0]"))
    os.utime(path, ns=(0, 12345))
    assert read(results, cache)["b.time_plain"].values[-1] == 8.0


@pytest.mark.parametrize(
    "damage", ["cut", "flipped", "foreign", "empty", "another kind", "wild index", "odd length"]
)
def test_a_cache_that_cannot_be_trusted_is_made_again(results: Path, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "points"
    expected = values(read(results, path))
    good = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(good[:-1])
        case "flipped":
            path.write_bytes(good[:-9] + bytes([good[-9] ^ 1]) + good[-8:])
        case "foreign":
            path.write_bytes(b"something else\n" * 50)
        case "empty":
            path.write_bytes(b"")
        case "another kind":
            Cache(path, CACHE_KIND, int).save(7)
        case _:
            held = Cache(path, CACHE_KIND, AsvFiles).load()
            assert held is not None
            keys = held.keys[:1] if damage == "wild index" else held.keys
            files = [msgspec.structs.replace(file, values=file.values[:-8]) for file in held.files]
            files = held.files if damage == "wild index" else files
            Cache(path, CACHE_KIND, AsvFiles).save(AsvFiles(keys, held.descriptions, files))
    np.testing.assert_equal(values(read(results, path)), expected)
    assert path.read_bytes() == good or damage == "wild index"


def test_where_nothing_can_be_kept_nothing_fails(results: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert len(read(results, tmp_path / "file" / "points")) == len(read(results))


def test_two_runs_at_once_leave_a_good_cache(results: Path, tmp_path: Path) -> None:
    cache = tmp_path / "points"
    threads = [threading.Thread(target=read, args=(results, cache)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = Cache(cache, CACHE_KIND, AsvFiles).load()
    assert held is not None
    assert len(held.files) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["points", "results"]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("date", [math.nan, math.inf, -1e18, 1e20])
def test_a_date_that_no_calendar_has_gives_no_place_in_time(
    tmp_path: Path, date: float, *, fast: bool
) -> None:
    for number in (1, 2, 3):
        path = save_commit(tmp_path, number, {"b.time_x": 1.0 if fast else math.nan})
    shape = json.loads(path.read_text())
    path.write_text(json.dumps(shape | {"date": date}))
    series, (note,) = read_history(tmp_path, NOWHERE)
    assert [len(one.values) for one in series] == [2]
    assert note.startswith(f"1 file left out; {path}:date: {date:g} is no date")


def test_files_without_any_benchmark_are_no_history(tmp_path: Path) -> None:
    save_commit(tmp_path, 1, {})
    with pytest.raises(HistoryNotFound, match="hold no benchmark"):
        read_history(tmp_path, NOWHERE)
