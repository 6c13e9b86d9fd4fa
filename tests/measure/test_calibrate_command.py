"""`stepwatch calibrate` as a user runs it, on a tiny library."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Protocol

import pytest

from stepwatch.cli import main
from stepwatch.commands.reports import analyse_results
from stepwatch.errors import MalformedFile
from stepwatch.history.calibration import read_calibration
from stepwatch.history.campaigns import Comparison
from stepwatch.policy import Policy
from stepwatch.render import render_text

if TYPE_CHECKING:
    from conftest import Tracker
    from stepwatch.verdict.calibration import CalibrationRecord

STEP = "spin.bench.Mini.track_step_cpu"
ONE = ("--machine", "m", "--bench", "spin")
FIRST = "calibration-mini-2.0-1"


class Calibrate(Protocol):
    """Runs the command; returns what it wrote to stdout and stderr."""

    def __call__(self, *arguments: str, code: int = 0) -> tuple[str, str]: ...


@pytest.fixture
def calibrate(
    ready_tracker: Tracker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Calibrate:
    """The command in this process: (exit code, stdout, stderr). Starting another one takes a second."""
    monkeypatch.chdir(ready_tracker.root)
    monkeypatch.setattr("stepwatch.commands.interrupts.stop_as_ctrl_c_does", lambda: None)
    for name, few in (
        ("REPLAYS", 100),
        ("_SHIFTED_REPLAYS", 100),
        ("_WORLDS", 5),
        ("_REPLAYS_PER_WORLD", 20),
    ):
        monkeypatch.setattr(f"stepwatch.stats.calibration.{name}", few)

    def run(*arguments: str, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as left:
            main(["calibrate", *ONE, *arguments])
        out, err = capsys.readouterr()
        assert left.value.code == code, err
        return out, err

    return run


def stored(tracker: Tracker) -> tuple[CalibrationRecord, ...]:
    return read_calibration(tracker.root / "results", "m")


def test_a_machine_is_calibrated_and_its_reports_say_so(ready_tracker: Tracker, calibrate: Calibrate) -> None:
    out, err = calibrate("mini/2.0", "--pairs", "8", "--budget", "30s")
    assert f"{STEP}: 8 pairs" in out
    assert "detects" in out
    assert "calibrated: 1 rows are in " in err
    (record,) = stored(ready_tracker)
    assert (record.release, record.pairs, record.budget_seconds) == ("mini/2.0", 8, 30.0)
    assert record.identity.turns
    assert record.budget_pairs == int(30 / record.pair_seconds)
    sidecar = ready_tracker.sidecar(FIRST)
    assert len(sidecar.sessions) == 16
    assert sidecar.header.baseline == sidecar.header.contender == "mini/2.0"
    ready_tracker.campaign(sessions=6)
    report = analyse_results(
        ready_tracker.root / "results",
        machine="m",
        comparison=Comparison(baseline="mini/1.0", contender="mini/2.0"),
        policy=Policy(metrics=("step_cpu",)),
    )
    assert report.calibration is not None
    assert report.calibration.release == "mini/2.0"
    (row,) = report.verdicts
    assert (row.mde_source, row.mde_pairs) == ("calibration", record.budget_pairs)
    assert row.a_a_rate is not None
    text = " ".join(render_text(report).split())
    assert "on mini/2.0 against itself (8 pairs): what a budget of 30 s" in text
    assert "not calibrated" not in text


def test_again_measures_nothing_and_takes_the_new_policy(
    ready_tracker: Tracker, calibrate: Calibrate
) -> None:
    calibrate("mini/2.0", "--pairs", "6", "--budget", "30s")
    settings = ready_tracker.root / "stepwatch.toml"
    settings.write_text(settings.read_text() + "[policy]\nfloor = 0.02\nmin_effect = 0.05\n")
    out, err = calibrate("mini/2.0", "--pairs", "6", "--budget", "30s", "--json")
    assert "[1/" not in err
    (printed,) = json.loads(out)
    first, second = stored(ready_tracker)
    assert (first.noise, first.pairs) == (second.noise, second.pairs)
    assert printed["margins"]["floor"] == second.margins.floor == 0.02
    assert _effect(first) < _effect(second)


def _effect(record: CalibrationRecord) -> float:
    assert record.detectable is not None
    assert record.detectable.effect is not None
    return record.detectable.effect


def test_pairs_are_added_and_what_no_longer_speaks_for_the_machine_is_begun_anew(
    ready_tracker: Tracker, calibrate: Calibrate
) -> None:
    calibrate("mini/2.0", "--pairs", "1")
    calibrate("mini/2.0", "--pairs", "2")
    calibrate("mini/2.0", "--pairs", "1", "--fresh")
    calibrate("mini/2.0", "--pairs", "1", "--no-turns")
    _age(ready_tracker, "calibration-mini-2.0-3", days=40)
    calibrate("mini/2.0", "--pairs", "1", "--no-turns")
    assert [record.pairs for record in stored(ready_tracker)] == [1, 2, 1, 1, 1]
    campaigns = [len(ready_tracker.sidecar(f"calibration-mini-2.0-{n}").sessions) for n in (1, 2, 3, 4)]
    assert campaigns == [4, 2, 2, 2]


def _age(tracker: Tracker, campaign: str, *, days: float) -> None:
    path = tracker.root / "results" / "m" / "sessions" / f"{campaign}.jsonl"
    header, rest = path.read_bytes().split(b"\n", 1)
    older = {**json.loads(header), "created_at": time.time() - days * 86_400}
    path.write_bytes(json.dumps(older).encode() + b"\n" + rest)


def test_without_a_name_the_newest_release_compared_here_is_taken(
    ready_tracker: Tracker, calibrate: Calibrate
) -> None:
    ready_tracker.campaign("mini/1.0", sessions=1)
    assert "2 sessions, about" in calibrate("--pairs", "1", "--plan")[0]
    calibrate("--pairs", "1")
    ready_tracker.campaign(None, a_a="mini/1.0", sessions=1)
    calibrate("--pairs", "1")
    assert [record.release for record in stored(ready_tracker)] == ["mini/2.0", "mini/1.0"]


def _start(tracker: Tracker, lines: int) -> subprocess.Popen[str]:
    """The command in a process of its own, until so many lines are in its sidecar."""
    child = subprocess.Popen(
        tracker.command("stepwatch", "calibrate", *ONE, "mini/2.0", "--pairs", "8"),
        cwd=tracker.root,
        env=tracker.environ(),
        stderr=subprocess.PIPE,
        text=True,
    )
    path = tracker.root / "results" / "m" / "sessions" / f"{FIRST}.jsonl"
    while child.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") > lines):
        time.sleep(0.01)
    return child


def test_a_kill_loses_no_finished_session_and_the_same_command_ends_it(
    ready_tracker: Tracker, calibrate: Calibrate
) -> None:
    child = _start(ready_tracker, 3)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert stored(ready_tracker) == ()
    before = [one.place.session for one in ready_tracker.sidecar(FIRST).sessions]
    calibrate("mini/2.0", "--pairs", "8")
    after = [one.place.session for one in ready_tracker.sidecar(FIRST).sessions]
    assert after[: len(before)] == before
    assert len(after) == 16
    (record,) = stored(ready_tracker)
    assert record.pairs in (7, 8), "a pair that was torn apart ran its second half without taking turns"


def test_ctrl_c_says_how_to_go_on(ready_tracker: Tracker) -> None:
    ready_tracker.control({"spin.bench.Mini": {"seconds": 0.3}})
    child = _start(ready_tracker, 2)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    assert child.returncode == 130
    assert "interrupted: " in said
    assert said.strip().endswith("the same command goes on")


def test_what_fails_is_said_and_the_rest_is_stored(ready_tracker: Tracker, calibrate: Calibrate) -> None:
    ready_tracker.control({"turn.bench.Mini": {"mode": "crash"}})
    _, err = calibrate("mini/2.0", "--pairs", "2", "--bench", "turn", code=3)
    last = err.splitlines()[-1]
    assert "not everything could be measured: " in last
    assert "(1 rows are in " in last
    assert [record.benchmark for record in stored(ready_tracker)] == [STEP]


def test_where_nothing_was_measured_nothing_is_stored(ready_tracker: Tracker, calibrate: Calibrate) -> None:
    ready_tracker.control({"spin.bench.Mini": {"mode": "crash"}})
    _, err = calibrate("mini/2.0", "--pairs", "1", code=3)
    assert "not everything could be measured: 2 sessions failed (0 rows" in err.splitlines()[-1]
    assert stored(ready_tracker) == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mini/9",), "unknown release 'mini/9'"),
        (("mini/2.0", "--pairs", "0"), "0 is not in the range"),
        (("mini/2.0", "--budget", "soon"), "'soon' is no duration"),
        (("mini/2.0", "--machine", "../x"), "a name begins with a letter"),
        (("--accelerator", "cuda12"), "no release has a lock for cuda12"),
    ],
)
def test_bad_input_is_one_line(
    ready_tracker: Tracker, calibrate: Calibrate, arguments: tuple[str, ...], message: str
) -> None:
    _, err = calibrate(*arguments, "--plan", code=2)
    assert message in err
    assert err.strip().count("\n") == 0
    assert not (ready_tracker.root / "results").exists()


def test_a_damaged_calibration_stops_the_report_with_its_line(
    ready_tracker: Tracker, calibrate: Calibrate
) -> None:
    calibrate("mini/2.0", "--pairs", "1")
    path = ready_tracker.root / "results" / "m" / "calibration.jsonl"
    path.write_bytes(path.read_bytes() + b"rubbish\n")
    with pytest.raises(MalformedFile, match=r"calibration.jsonl:2: .*take out this line"):
        analyse_results(path.parents[1], machine="m", comparison=None, policy=Policy(metrics=("step_cpu",)))
