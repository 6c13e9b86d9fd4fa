"""`stepwatch compare` as a user runs it, on a tiny library and on commits of a real repository."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from stepwatch.cli import main
from stepwatch.commands import interrupts
from stepwatch.commands.compare import write_report
from stepwatch.commands.comparisons import PreparedComparison
from stepwatch.history.sidecar import find_sidecars, read_sidecar
from stepwatch.measure.comparison import ComparisonSummary

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tracker

RANGE = ("mini/1.0", "mini/2.0")
SPIN = "spin.bench.Mini.track_step_cpu"
FAST = ("--bench", "spin", "--metric", "step_cpu", "--budget", "5m")


def compare(tracker: Tracker, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return tracker.run("stepwatch", "compare", *arguments, "--machine", "m", code=code)


def calibrate(tracker: Tracker, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return tracker.run("stepwatch", "calibrate", *arguments, "--machine", "m", code=code)


def report(tracker: Tracker, name: str = "report.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tracker.root / name).read_text())
    return found


def rows(tracker: Tracker) -> dict[str, dict[str, Any]]:
    return {row["benchmark"]: row for row in report(tracker)["verdicts"]}


def git(tracker: Tracker, *arguments: str) -> str:
    identity = {
        f"GIT_{who}_{what}": "tester@localhost"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    variables = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *arguments], cwd=tracker.root, env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(ready_tracker: Tracker) -> Tracker:
    """The tracker as a git repository with one commit, tagged `base`."""
    (ready_tracker.root / ".gitignore").write_text(
        "/envs\n/results\n/.stepwatch\n__pycache__/\nreport.json\n"
    )
    git(ready_tracker, "init", "-q", "-b", "main")
    commit(ready_tracker, "base")
    return ready_tracker


def commit(tracker: Tracker, tag: str) -> str:
    git(tracker, "add", "-A")
    git(tracker, "commit", "-q", "-m", tag)
    git(tracker, "tag", tag)
    return git(tracker, "rev-parse", "HEAD")[:12]


def slow_down(tracker: Tracker, factor: float) -> None:
    """Make the suite's step slower, in the working tree."""
    session = tracker.root / "mini_suite" / "_session.py"
    session.write_text(session.read_text().replace('wanted.get("base", 0.002)', f"{0.002 * factor}"))


def test_a_regression_is_found_confirmed_and_fails_the_build(ready_tracker: Tracker) -> None:
    """And sessions of `measure` count for `compare`, those of `compare` for both, none is measured twice."""
    ready_tracker.measure("mini/1.0..mini/2.0", "--sessions", "2", "--bench", "spin")
    done = compare(ready_tracker, *RANGE, *FAST, "--fail-on", "regressed", code=1)
    row = rows(ready_tracker)[SPIN]
    assert row["outcome"] == "regressed"
    assert row["confirmation"]["outcome"] == "confirmed"
    assert report(ready_tracker)["policy"]["budget_seconds"] == 300
    assert "(fresh, to confirm)" in done.stderr
    assert "all that can be is decided" in done.stderr
    stages = [session.place.stage for session in ready_tracker.sidecar().sessions]
    assert stages.count("search") == 2 * row["sessions"]
    assert stages.count("confirm") == 2 * row["confirmation"]["sessions"]
    assert stages == sorted(stages, reverse=True), "the search comes first"
    before = ready_tracker.sidecar().path.read_bytes()
    again = compare(ready_tracker, *RANGE, *FAST, "--json")
    assert json.loads(again.stdout)["verdicts"][0]["outcome"] == "regressed"
    assert "earlier)" in again.stderr
    done = ready_tracker.measure("mini/1.0..mini/2.0", "--sessions", str(row["sessions"]), "--bench", "spin")
    assert "nothing to do" in done.stderr
    assert ready_tracker.sidecar().path.read_bytes() == before


def test_what_is_undecided_at_the_budget_is_inconclusive_and_says_how_much_more(
    ready_tracker: Tracker,
) -> None:
    ready_tracker.control({"spin.bench.Mini": {"seconds": 0.4}})
    done = compare(ready_tracker, *RANGE, *FAST[:-1], "3s")
    assert rows(ready_tracker)[SPIN]["outcome"] == "inconclusive"
    assert "the budget is spent" in done.stderr
    assert "undecided: spin.bench.Mini (about" in done.stderr


def test_a_budget_below_one_pair_is_refused_in_one_line(ready_tracker: Tracker) -> None:
    ready_tracker.measure("mini/1.0", "--sessions", "1", "--bench", "spin")
    done = compare(ready_tracker, *RANGE, *FAST[:-1], "1s", code=3)
    assert "nothing was measured: the budget is spent: 0 pairs" in done.stderr
    assert "give it a larger --budget" in done.stderr


def test_what_fails_is_broken_and_the_rest_is_measured(ready_tracker: Tracker) -> None:
    ready_tracker.control({"turn.bench.Mini@2.0": {"mode": "crash"}})
    compare(ready_tracker, *RANGE, "--bench", "spin|turn", "--metric", "step_cpu", "--budget", "10s")
    found = rows(ready_tracker)
    assert found["turn.bench.Mini.track_step_cpu"]["outcome"] == "broken"
    assert found[SPIN]["sessions"] > 0


def test_what_failed_in_an_earlier_run_is_tried_again(ready_tracker: Tracker) -> None:
    for mode in ("crash", "crash", "ok"):
        ready_tracker.control({"spin.bench.Mini@2.0": {"mode": mode}})
        compare(ready_tracker, *RANGE, *FAST[:-1], "20s")
        assert (rows(ready_tracker)[SPIN]["outcome"] == "broken") == (mode == "crash")
    assert rows(ready_tracker)[SPIN]["outcome"] == "regressed"


def test_a_side_that_cannot_be_installed_is_broken(ready_tracker: Tracker) -> None:
    done = compare(ready_tracker, "mini/1.0", "mini/1.5", *FAST)
    assert "no environment: mini/1.5" in done.stderr
    assert rows(ready_tracker)[SPIN]["outcome"] == "broken"


def test_two_commits_each_with_its_own_suite(repository: Tracker) -> None:
    slow_down(repository, 1.3)
    slower = commit(repository, "slower")
    base = git(repository, "rev-parse", "base")[:12]
    done = compare(repository, "base", "main", *FAST, "--fail-on", "regressed", code=1)
    found = report(repository)
    assert (found["baseline"], found["contender"]) == (f"commit/{base}", f"commit/{slower}")
    row = rows(repository)[SPIN]
    assert row["outcome"] == "regressed"
    assert row["ratio"] == pytest.approx(1.3, rel=0.03)
    assert f"the contender commit/{slower} is main" in " ".join(done.stdout.split())
    assert not repository.results(), "asv's rows belong to releases"
    (path,) = find_sidecars(repository.root / "results", "m")
    assert path.stem == f"commit-{base}..commit-{slower}"
    assert {session.place.release for session in read_sidecar(path).sessions} == {
        f"commit/{base}",
        f"commit/{slower}",
    }
    assert git(repository, "status", "--porcelain") == ""


def test_a_lock_that_is_not_the_releases_own_has_an_environment_of_its_own(ready_tracker: Tracker) -> None:
    lock = ready_tracker.root / "mini_suite" / "locks" / "cpu" / "mini-2.0.txt"
    copy = ready_tracker.root / "my lock.txt"
    copy.write_text(lock.read_text().replace("2024-03-01", "2024-03-02"))
    compare(ready_tracker, str(copy), "mini/2.0", *FAST[:-1], "2s")
    found = report(ready_tracker)
    assert found["baseline"].startswith("lock/my-lock-")
    assert rows(ready_tracker)[SPIN]["sessions"] > 0
    digest = found["baseline"].rpartition("-")[2]
    assert len(list((ready_tracker.root / "envs" / "cpu").glob(f"mini-2.0+{digest}*"))) == 1
    assert len(ready_tracker.results()) == 1, "asv's rows belong to releases, not to locks"


def test_what_would_spoil_the_report_is_told_before_the_budget_is_spent(ready_tracker: Tracker) -> None:
    (ready_tracker.root / "folder").mkdir()
    (ready_tracker.root / "file").write_text("")
    for place, reason in (("folder", "Is a directory"), ("file/report.json", "Not a directory")):
        done = compare(ready_tracker, *RANGE, *FAST, "--output", place, code=3)
        assert done.stderr.startswith(f"stepwatch: {place}: {reason}; nothing was lost")
    machine = ready_tracker.root / "results" / "m"
    machine.mkdir(parents=True)
    for name, command, sides in (
        ("calibration.jsonl", compare, RANGE),
        ("calibration.jsonl", calibrate, RANGE[:1]),
        ("0123abcd-release-py-locked.json", compare, RANGE),
    ):
        (machine / name).write_text("junk\n")
        done = command(ready_tracker, *sides, "--bench", "spin", code=3)
        assert name in done.stderr
        assert done.stderr.count("\n") == 1
        (machine / name).unlink()
    assert not (machine / "sessions").exists()


def test_the_report_may_go_where_no_folder_is_yet_or_into_a_device(ready_tracker: Tracker) -> None:
    ready_tracker.measure("mini/1.0..mini/2.0", "--sessions", "1", "--bench", "spin")
    for place in ("new/folder/report.json", os.devnull):
        done = compare(ready_tracker, *RANGE, *FAST[:-1], "1s", "--output", place)
        assert f"wrote {place}" in done.stderr
    assert report(ready_tracker, "new/folder/report.json")["verdicts"]


def test_results_of_commits_are_analysed_by_the_names_they_have(repository: Tracker) -> None:
    compare(repository, "base", "base", *FAST[:-1], "2s")
    name = report(repository)["contender"]
    compare(repository, "mini/2.0", "base", *FAST[:-1], "2s")
    for spec in ((f"mini/2.0..{name}",), (f"{name}..{name}",), ("--a-a", name)):
        repository.run("stepwatch", "analyse", *spec, "--metric", "step_cpu")
        found = report(repository)
        assert found["baseline"] == (name if spec[0] != f"mini/2.0..{name}" else "mini/2.0")
        assert found["contender"] == name
    done = repository.run("stepwatch", "analyse", f"mini/1.0..{name}", code=3)
    assert "no session of it here; run `stepwatch compare` on its two sides" in done.stderr


def start(tracker: Tracker, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        tracker.command("stepwatch", "compare", *RANGE, "--machine", "m", *FAST, *arguments),
        cwd=tracker.root, env=tracker.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(tracker: Tracker, sessions: int, child: subprocess.Popen[str]) -> None:
    path = tracker.root / "results" / "m" / "sessions" / "mini-1.0..mini-2.0.jsonl"
    while child.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") > sessions):
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_reports_what_there_is(ready_tracker: Tracker, number: signal.Signals) -> None:
    ready_tracker.control({"spin.bench.Mini": {"seconds": 0.3}})
    child = start(ready_tracker)
    wait_for(ready_tracker, 2, child)
    child.send_signal(number)
    stdout, stderr = child.communicate(timeout=30)
    assert child.returncode == 130, stderr
    assert "interrupted (the same command goes on)" in stderr
    assert "INCONCLUSIVE (1)" in stdout
    assert rows(ready_tracker)[SPIN]["outcome"] == "inconclusive"
    assert "Traceback" not in stderr


def test_an_interrupt_before_the_first_pair_is_no_fault_of_the_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tracker: Tracker
) -> None:
    job = tracker.job()
    prepared = PreparedComparison(job=job, notes=())
    summary = ComparisonSummary(sidecar=tmp_path / "x.jsonl", budget_seconds=60.0, stop="interrupted")
    found = write_report(prepared, tracker.config.policy, summary, tmp_path / "report.json", as_json=False)
    assert found is None
    assert "nothing was measured: interrupted (the same command goes on): 0 pairs" in capsys.readouterr().err
    assert not (tmp_path / "report.json").exists()


def test_kill_9_loses_no_finished_session_and_the_command_goes_on(ready_tracker: Tracker) -> None:
    seen: list[str] = []
    for finished in (3, 13):
        child = start(ready_tracker)
        wait_for(ready_tracker, finished, child)
        child.kill()
        child.communicate()
        now = [session.place.session for session in ready_tracker.sidecar().sessions]
        assert now[: len(seen)] == seen
        seen = now
    compare(ready_tracker, *RANGE, *FAST)
    sessions = ready_tracker.sidecar().sessions
    assert [session.place.session for session in sessions][: len(seen)] == seen
    places = [(s.place.side, s.place.pair, s.place.stage) for s in sessions]
    assert len(places) == len(set(places))
    assert rows(ready_tracker)[SPIN]["confirmation"]["outcome"] == "confirmed"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("mini/1.0", "mini/9"), 2, "unknown release 'mini/9': did you mean mini/2.0?"),
        (
            ("mini/1.0", "nothing"),
            2,
            "'nothing' is no release (like jax/0.4.31), no file, and git finds no repository",
        ),
        (("mini/1.0",), 2, "Missing argument 'HEAD'"),
        ((*RANGE, "--budget", "20"), 2, "'20' is no duration; write it like 90s, 20m, 1h or 1h30m"),
        ((*RANGE, "--floor", "3"), 2, "write 3% for 3 percent"),
        ((*RANGE, "--floor", "3%"), 2, "--floor must be less than the minimal effect (found 0.03 and 0.02)"),
        ((*RANGE, "--bench", "spni"), 2, "no benchmark matches 'spni'; closest: spin.bench.Mini.track_"),
        ((*RANGE, "--metric", "speed"), 2, "nothing in common to judge (without a judged metric (speed)"),
        ((*RANGE, "--plant", "mlp=1.1"), 2, "no selected benchmark measures 'mlp'"),
        ((*RANGE, "--machine", "../x"), 2, "a name begins with a letter or digit"),
        (
            ("mini_suite/spin/bench.py", "mini/2.0"),
            3,
            "is not name==version; a lock begins with the lines",
        ),
    ],
)
def test_bad_input_is_one_line_with_the_next_step(  # noqa: PLR0913, PLR0917  fixtures and one case
    ready_tracker: Tracker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(ready_tracker.root)
    monkeypatch.setattr(interrupts, "stop_as_ctrl_c_does", lambda: None)
    with pytest.raises(SystemExit) as left:
        main(["compare", *arguments])
    said = capsys.readouterr().err
    assert left.value.code == code
    assert message in said
    assert said.strip().count("\n") == 0
    assert not (ready_tracker.root / "results").exists()
