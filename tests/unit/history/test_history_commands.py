"""`stepwatch changepoints` and `stepwatch backtest` from the command line to their output."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from asv_directory import DAY_MS, save_commit, step_values
from click.exceptions import Abort
from click.testing import CliRunner, Result

from stepwatch import cli
from stepwatch.commands import counting
from stepwatch.errors import StepwatchError, UnknownBenchmark, UsageError
from stepwatch.history import work
from stepwatch.history.cache import Cache
from stepwatch.stats.changepoint import Detection, detect
from stepwatch.verdict.replay import Job

KEYS = ["index", "revision", "after", "through", "ratio", "ratio_low", "ratio_high", "p_value", "direction"]
STEP = step_values(60, 30)


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a stepwatch.toml, a cache of the test's own, a terminal of 80 columns."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    return folder


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    found = CliRunner().invoke(cli.stepwatch, arguments, input=stdin, standalone_mode=False)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def table(folder: Path, **series: list[float]) -> str:
    rows = [f"{name},r{i},{value!r}" for name, values in series.items() for i, value in enumerate(values)]
    path = folder / "history.csv"
    path.write_text("\n".join(["series,revision,value", *rows]))
    return str(path)


def fill(results: Path, count: int = 60) -> Path:
    for day in range(count):
        save_commit(results, day, {"b.time_step": STEP[day], "b.time_flat": step_values(60, 99)[day]})
    return results


def test_json_is_the_contract(apart: Path) -> None:
    data = json.loads(run("changepoints", table(apart, a=STEP, quiet=STEP[:30], one=[1.0]), "--json").stdout)
    assert list(data["series"]) == ["a", "quiet", "one"]
    (change,) = data["series"]["a"]
    assert list(change) == KEYS
    assert (change["index"], change["revision"], change["direction"]) == (30, "r30", "worse")
    assert change["after"] in {f"r{i}" for i in range(25, 30)}
    assert change["through"] in {f"r{i}" for i in range(30, 36)}
    assert change["ratio"] == pytest.approx(1.2, rel=0.01)
    assert change["ratio_low"] <= change["ratio"] <= change["ratio_high"]
    assert 0 <= change["p_value"] < 0.01
    assert data["series"]["quiet"] == data["series"]["one"] == []
    assert (data["too_short"], data["drift"], data["notes"]) == (["one"], {}, [])


def test_text_names_what_changed_what_did_not_and_what_cannot_be_judged(apart: Path) -> None:
    text = run("changepoints", table(apart, a=STEP, quiet=STEP[:30], one=[1.0])).stdout
    assert text.startswith("1 of 3 series changed: 1 change worse, 0 better · 1 too short to judge\n")
    assert "at r30 (index 30), in (" in text
    assert "TOO SHORT TO JUDGE (1)\n  one (1 point)" in text
    assert "NO CHANGE (1)\n  quiet" in text


def test_standard_input_and_direction(apart: Path) -> None:
    with open(table(apart, a=STEP), "rb") as file:  # noqa: PTH123  as bytes for the pipe
        data = file.read()
    found = json.loads(run("changepoints", "-", "--better", "higher", "--json", stdin=data).stdout)
    assert found["series"]["a"][0]["direction"] == "better"
    lines = b"\n".join(
        msgspec.json.encode({"series": "a", "revision": i, "value": value}) for i, value in enumerate(STEP)
    )
    again = json.loads(run("changepoints", "-", "--json", stdin=lines).stdout)
    assert again["series"]["a"][0]["revision"] == "30"


def test_json_lines_are_known_by_a_first_line_of_any_length_and_from_a_pipe(apart: Path) -> None:
    point = {"series": "a", "samples": [1.0] * 20_000, "revision": 1, "value": 1.0}
    (apart / "wide.dat").write_bytes(msgspec.json.encode(point) + b"\n" + msgspec.json.encode(point))
    assert run("changepoints", "wide.dat", "--json").return_value in (None, 0)
    os.mkfifo(apart / "pipe")

    def write_slowly() -> None:
        with (apart / "pipe").open("wb", buffering=0) as pipe:
            pipe.write(b'{"series": "a", ')
            time.sleep(0.2)
            pipe.write(b'"revision": 1, "value": 1}\n')

    writer = threading.Thread(target=write_slowly)
    writer.start()
    found = json.loads(run("changepoints", "pipe", "--json").stdout)
    writer.join()
    assert found["too_short"] == ["a"]


@pytest.mark.parametrize(("asked", "code"), [("worse", 1), ("better", 0), ("drift", 0), ("too-short", 1)])
def test_exit_code_only_when_asked(apart: Path, asked: str, code: int) -> None:
    path = table(apart, a=STEP, one=[1.0])
    assert run("changepoints", path).return_value in (None, 0)
    found = CliRunner().invoke(cli.stepwatch, ["changepoints", path, "--fail-on", asked])
    assert found.exit_code == code


def test_series_are_chosen_by_a_pattern(apart: Path) -> None:
    path = table(apart, fast=STEP, slow=STEP)
    assert list(json.loads(run("changepoints", path, "--bench", "^fa", "--json").stdout)["series"]) == [
        "fast"
    ]
    with pytest.raises(UnknownBenchmark, match=r"no benchmark matches 'fist'; closest: fast"):
        run("changepoints", path, "--bench", "fist")
    with pytest.raises(UsageError, match=r"--bench '\(' is no regular expression"):
        run("changepoints", path, "--bench", "(")


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["changepoints", "none.csv"], "none.csv: no results here; give a file or a directory", 3),
        (["changepoints", "bad.csv"], "bad.csv:2: 'x' is not a number; nothing was judged", 3),
        (["changepoints", "bad.csv", "--executor", "gpu"], "--executor 'gpu': give serial, processes", 2),
        (["changepoints", "bad.csv", "--policy", "bad.toml"], "bad.toml:2: history.min_points: ", 2),
        (["changepoints", ""], "an empty FILE; give a file or a directory", 2),
        (["backtest", "--results", ""], "an empty FILE; give a file or a directory", 2),
        (["changepoints", "-", "--format", "asv"], "standard input is csv or jsonl; give asv as files", 2),
        (["changepoints", "/dev/zero"], "/dev/zero: a binary file; give CSV, JSON Lines", 3),
        (["backtest", "--results", "none"], "none: no results here; give a results folder of asv", 3),
    ],
)
def test_faults_are_one_line(apart: Path, arguments: list[str], message: str, code: int) -> None:
    (apart / "bad.csv").write_text("series,revision,value\na,1,x\n")
    (apart / "bad.toml").write_text("[history]\nmin_points = 1\n")
    with pytest.raises(StepwatchError) as caught:
        run(*arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == code


def test_the_policy_of_a_file_or_of_this_folder_counts(apart: Path) -> None:
    path = table(apart, a=STEP)
    assert json.loads(run("changepoints", path, "--json").stdout)["series"]["a"]
    (apart / "stepwatch.toml").write_text("[history]\nmin_effect = 0.3\nmin_points = 4\n")
    assert json.loads(run("changepoints", path, "--json").stdout)["series"]["a"] == []
    (apart / "other.toml").write_text("[history]\nmin_effect = 0.05\n")
    assert json.loads(run("changepoints", path, "--policy", "other.toml", "--json").stdout)["series"]["a"]


def test_an_asv_directory_is_detected_once(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = fill(apart / "results")
    looked: list[int] = []

    def spy(self: Job, end: int, settings: Any) -> Detection:
        looked.append(end)
        return detect(self.values[:end], settings=settings)

    monkeypatch.setattr(Job, "look", spy)
    first = run("changepoints", str(results), "--json").stdout
    assert json.loads(first)["series"]["b.time_step"][0]["index"] == 30
    assert looked == [60, 60]
    assert run("changepoints", str(results), "--json").stdout == first
    assert looked == [60, 60]
    assert run("changepoints", str(results), "--json", "--no-cache").stdout == first
    assert looked == [60] * 4
    save_commit(results, 60, {"b.time_step": 1.2})
    run("changepoints", str(results))
    assert looked == [60] * 4 + [61]
    (apart / "stepwatch.toml").write_text("[history]\nmin_effect = 0.011\n")
    run("changepoints", str(results))
    assert len(looked) == 7


def test_without_a_home_nothing_is_kept(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    results = fill(apart / "results", 8)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert "0 of 2 series changed" in run("changepoints", str(results)).stdout
    assert not (apart.parent / "cache").exists()


def test_a_relative_cache_folder_does_not_count(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = fill(apart / "results", 8)
    monkeypatch.setenv("XDG_CACHE_HOME", "kept")
    monkeypatch.setenv("HOME", str(apart.parent / "home"))
    run("changepoints", str(results))
    assert not (apart / "kept").exists()
    assert (apart.parent / "home" / ".cache" / "stepwatch").is_dir()


def test_executors_give_the_same_bytes(apart: Path) -> None:
    command = ["backtest", "--results", str(fill(apart / "results", 20)), "--json", "--no-cache"]
    serial = run(*command, "--executor", "serial").stdout_bytes
    assert run(*command, "--executor", "processes:2").stdout_bytes == serial


def test_what_was_found_before_an_interruption_is_kept(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = str(fill(apart / "results"))
    monkeypatch.setattr(work, "_BATCH_POINTS", 1)
    looked: list[int] = []

    def spy(self: Job, end: int, settings: Any) -> Detection:
        looked.append(end)
        if len(looked) == 2:
            raise KeyboardInterrupt
        return detect(self.values[:end], settings=settings)

    monkeypatch.setattr(Job, "look", spy)
    with pytest.raises(Abort):
        run("changepoints", results)
    run("changepoints", results)
    assert len(looked) == 3


def test_what_was_found_is_saved_now_and_then(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_BATCH_POINTS", 1)
    monkeypatch.setattr(work, "_SAVE_EVERY", 1)
    saved: list[int] = []
    monkeypatch.setattr(
        Cache, "save", lambda _, value: saved.append(len(value)) if isinstance(value, dict) else None
    )
    run("changepoints", str(fill(apart / "results", 40)))
    assert saved == [1, 2]


def test_a_look_at_one_series_does_not_forget_the_others(
    apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = str(fill(apart / "results"))
    run("changepoints", results)
    run("changepoints", results, "--bench", "step")
    monkeypatch.setattr(Job, "look", None)
    run("changepoints", results)


def test_only_so_much_is_kept(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_KEPT", 2)
    monkeypatch.setattr(work, "_KEPT_PER_JOB", 1)
    results = fill(apart / "results", 40)
    run("changepoints", str(results))
    save_commit(results, 40, {"b.time_step": 1.2, "b.time_flat": 1.0})
    run("changepoints", str(results))
    (path,) = (apart.parent / "cache").glob("stepwatch/history/*/changes")
    held = Cache(path, "changes 1", dict[bytes, Detection]).load()
    assert held is not None
    assert len(held) == 2
    monkeypatch.setattr(Job, "look", None)
    run("changepoints", str(results))


def test_the_folder_of_one_machine_is_an_asv_history_too(apart: Path) -> None:
    results = fill(apart / "results", 8)
    found = json.loads(run("changepoints", str(results / "lab"), "--json").stdout)
    assert list(found["series"]) == ["b.time_flat", "b.time_step"]


def test_backtest_lists_the_alert_that_would_have_been_raised(apart: Path) -> None:
    results = fill(apart / "results")
    data = json.loads(run("backtest", "--results", str(results), "--json").stdout)
    (alert,) = data["alerts"]
    assert alert["series"] == "b.time_step"
    assert alert["change"]["index"] == 30
    assert alert["raised"]["index"] == 30 + alert["points_late"] - 1
    assert alert["raised"]["date"] == alert["raised"]["index"] * DAY_MS / 1000
    assert 2 <= alert["points_late"] <= 8
    assert (alert["supported"], alert["recovered"]) == (True, None)
    totals = data["totals"]
    assert (totals["alerts"], totals["worse"], totals["unsupported"]) == (1, 1, 0)
    assert totals["per_month"] == pytest.approx(1 / (59 / 30.4375))
    text = run("backtest", "--results", str(results)).stdout
    assert text.startswith("1 alert in 2 series, 120 points, 1.9 months\n")


def test_backtest_of_a_window(apart: Path) -> None:
    results = str(fill(apart / "results"))

    def alerts(*options: str) -> Any:
        return json.loads(run("backtest", "--results", results, "--json", *options).stdout)

    assert alerts("--since", "1970-02-20")["alerts"] == []
    before = alerts("--until", "1970-01-31")
    assert (before["alerts"], before["totals"]["points"]) == ([], 62)
    late = alerts("--step", "9")["alerts"][0]["points_late"]
    assert late >= alerts()["alerts"][0]["points_late"]
    with pytest.raises(UsageError, match="no point lies between --since and --until"):
        alerts("--since", "1999-01-01")
    with pytest.raises(UsageError, match="no point lies between"):
        alerts("--until", "1969-01-01")


def test_progress_elsewhere_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with counting.count_on_stderr() as show:
        show("points", 1000, None)
        now += 21
        show("files", 1500, 2000)
        show("files", 1501, 2000)
    assert capsys.readouterr().err == "1,500 of 2,000 files\n"


def test_progress_on_a_terminal_is_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with counting.count_on_stderr() as show:
        show("series", 3, 7)
    assert "3 of 7 series" in terminal.getvalue()


def test_the_csv_of_the_guide_is_read(apart: Path) -> None:
    guide = (Path(__file__).resolve().parents[3] / "docs/howto/history.md").read_text()
    (text,) = re.findall(r"```text\n(series,revision.*?)```", guide, re.DOTALL)
    (apart / "guide.csv").write_text(text)
    found = json.loads(run("changepoints", "guide.csv", "--json").stdout)
    assert list(found["series"]) == ["fft.forward", "throughput"]
