"""One session: its process, its environment, and what is accepted as its record."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from stepwatch.measure.session import (
    Failed,
    Finished,
    SessionRequest,
    Skipped,
    child_environment,
    read_record,
    run_sessions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tracker

GROUP = "spin.bench.Mini"
RECORD: dict[str, Any] = {
    "schema": 1, "benchmark": GROUP, "workload": "spin", "variant": "mini", "size": "cpu-smoke",
    "accelerator": "cpu",
    "metrics": {"step_cpu": {"samples": [1.0], "unit": "seconds"}}, "started_at": time.time(),
    "wall_seconds": 1.0,
    "versions": {}, "packages": {}, "device": {}, "machine_before": {}, "machine_after": {}, "settings": {},
    "parameters": 1,
}  # fmt: skip


def request(suite: Path, **changes: Any) -> SessionRequest:
    values: dict[str, Any] = {
        "benchmark": GROUP, "benchmark_id": f"{GROUP}.track_loss", "suite": suite,
        "python": Path(sys.executable),
        "accelerator": "cpu", "size": "cpu-smoke", "timeout_seconds": 20.0, "asv_variables": {"ASV": "true"},
    }  # fmt: skip
    return SessionRequest(**{**values, **changes})


def test_a_child_sees_what_a_session_needs_and_no_flag_or_token() -> None:
    caller = {
        "PATH": "/usr/bin", "HOME": "/home/x", "LC_ALL": "C", "XLA_FLAGS": "--bad", "PYTHONPATH": "/p",
        "GITHUB_TOKEN": "secret", "OMP_NUM_THREADS": "64", "STEPWATCH_PLANT": "mlp=1.5",
        "STEPWATCH_STEPS": "30",
    }  # fmt: skip
    asked = request(Path("s"), python=Path("/env/bin/python"), cache_folder=Path("/cache"))
    child = child_environment(asked, Path("/somewhere/session.json"), caller)
    assert child == {
        "PATH": "/env/bin:/usr/bin", "HOME": "/home/x", "LC_ALL": "C", "ASV": "true", "STEPWATCH_STEPS": "30",
        "STEPWATCH_SESSION_FILE": "/somewhere/session.json", "STEPWATCH_ACCELERATOR": "cpu",
        "STEPWATCH_SIZE": "cpu-smoke", "STEPWATCH_CACHE_DIR": "/cache",
    }  # fmt: skip


def test_a_session_of_a_suite_whose_library_is_missing_fails_with_the_last_line(tracker: Tracker) -> None:
    (result,) = run_sessions([request(tracker.config.suite)])
    assert isinstance(result, Failed)
    assert result.reason == "ModuleNotFoundError: No module named 'mini'"
    assert "Traceback" in result.detail


def test_a_child_that_dies_of_a_signal_is_named_by_it(tracker: Tracker) -> None:
    bench = tracker.root / "mini_suite" / "spin" / "bench.py"
    bench.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    (result,) = run_sessions([request(tracker.config.suite)])
    assert isinstance(result, Failed)
    assert result.reason == "killed by SIGSEGV"


def test_a_silent_failure_still_has_a_reason(tracker: Tracker) -> None:
    (tracker.root / "mini_suite" / "spin" / "bench.py").write_text("import os\nos._exit(3)\n")
    (result,) = run_sessions([request(tracker.config.suite)])
    assert result == Failed(reason="exit status 3 without a word", detail="")


def test_a_real_time_signal_has_no_name_but_a_number(tracker: Tracker) -> None:
    bench = tracker.root / "mini_suite" / "spin" / "bench.py"
    bench.write_text("import os\nos.kill(os.getpid(), 40)\n")
    (result,) = run_sessions([request(tracker.config.suite)])
    assert result == Failed(reason="killed by signal 40", detail="")


@pytest.mark.parametrize("count", [1, 2])
def test_a_session_whose_python_is_gone_fails_and_its_partner_is_told(tracker: Tracker, count: int) -> None:
    gone = request(tracker.config.suite, python=tracker.root / "envs" / "bin" / "python")
    first, *others = run_sessions([gone, *[request(tracker.config.suite)] * (count - 1)])
    assert isinstance(first, Failed)
    assert re.fullmatch(r"it cannot be started: \S+/envs/bin/python: No such file or directory", first.reason)
    assert [other.reason for other in others if isinstance(other, Failed)] == [
        "ModuleNotFoundError: No module named 'mini'"
    ] * len(others)


@pytest.mark.parametrize(
    "deed",
    [
        "import shutil; shutil.rmtree(os.getcwd())",
        "os.unlink('output.txt')",
        "os.unlink('output.txt'); os.mkfifo('output.txt')",
    ],
)
def test_a_session_that_removes_its_own_files_is_one_that_failed(tracker: Tracker, deed: str) -> None:
    bench = tracker.root / "mini_suite" / "spin" / "bench.py"
    bench.write_text(f"import os\n{deed}\nos._exit(3)\n")
    (result,) = run_sessions([request(tracker.config.suite)])
    assert result == Failed(reason="exit status 3 without a word", detail="")


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({pid_file!r}, "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
os.wait()
while not os.path.exists({pid_file!r}) or not open({pid_file!r}).read():
    time.sleep(0.01)
os._exit(5)
"""


@pytest.mark.parametrize("place", [0, 1])
def test_a_daemon_that_holds_the_pipe_open_does_not_keep_the_partner_waiting(
    tracker: Tracker, tmp_path: Path, place: int
) -> None:
    pid_file = tmp_path / "pid"
    suite = tracker.root / "mini_suite"
    (suite / "spin" / "bench.py").write_text(DAEMON.format(pid_file=str(pid_file)))
    (suite / "sway" / "bench.py").write_text(
        "import os\nfrom mini_suite._session import Turns\n"
        "Turns(os.environ['STEPWATCH_TURNS']).take()\nos._exit(6)\n"
    )
    pair = [
        request(suite, timeout_seconds=300.0),
        request(suite, timeout_seconds=300.0, benchmark="sway.bench.Mini", benchmark_id="sway.bench.Mini.x"),
    ]
    started = time.monotonic()
    try:
        results = run_sessions(pair if place == 0 else pair[::-1])
    finally:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    reasons = {result.reason for result in results if isinstance(result, Failed)}
    assert reasons == {"exit status 5 without a word", "exit status 6 without a word"}
    assert time.monotonic() - started < 60.0  # the daemon lives as long; a timeout would be 600 s


def test_a_session_that_hangs_is_killed_and_its_partner_gets_a_time_of_its_own(tracker: Tracker) -> None:
    suite = tracker.root / "mini_suite"
    (suite / "spin" / "bench.py").write_text("import time\ntime.sleep(60)\n")
    (suite / "sway" / "bench.py").write_text(
        "import os\nfrom mini_suite._session import Turns\n"
        "Turns(os.environ['STEPWATCH_TURNS']).take()\nos._exit(6)\n"
    )
    sway = {"benchmark": "sway.bench.Mini", "benchmark_id": "sway.bench.Mini.x"}
    results = run_sessions([request(suite, timeout_seconds=0.5), request(suite, timeout_seconds=2.0, **sway)])
    assert [result.reason for result in results if isinstance(result, Failed)] == [
        "no end after 0.5 s (killed)", "exit status 6 without a word",
    ]  # fmt: skip


def accept(tmp_path: Path, content: object) -> object:
    path = tmp_path / "session.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_record(path, benchmark=GROUP, accelerator="cpu", size="cpu-smoke", lasted_seconds=2.0)


def test_a_sound_record_is_data_and_a_skipped_one_is_skipped(tmp_path: Path) -> None:
    finished = accept(tmp_path, RECORD)
    assert isinstance(finished, Finished)
    assert msgspec.to_builtins(finished.record)["metrics"] == RECORD["metrics"]
    skipped = accept(tmp_path, {"schema": 1, "skipped": "jax is not installed", "benchmark": GROUP})
    assert skipped == Skipped(reason="jax is not installed")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": 2}, "schema 2, not 1"),
        (
            {"benchmark": "other.bench.Mini"},
            "asked for spin.bench.Mini, but the session measured other.bench.Mini",
        ),
        ({"accelerator": "cuda12"}, "asked for cpu, but the session ran on cuda12"),
        ({"size": "gpu"}, "asked for cpu-smoke, but the session ran at size gpu"),
        ({"started_at": time.time() * 1000}, "which is not today"),
        ({"started_at": 1e300}, "started at 1e+300 (Unix seconds), which is not today"),
        ({"started_at": 0.0}, "which is not today"),
        ({"wall_seconds": -1.0}, "it took -1 s, its process took 2.0 s"),
        ({"wall_seconds": 1e300}, "it took 1e+300 s, its process took 2.0 s"),
        ({"metrics": {"../x": {"samples": [1.0], "unit": "1"}}}, "metric '../x' is no name"),
        ({"metrics": {"": {"samples": [1.0], "unit": "1"}}}, "metric '' is no name"),
        ({"metrics": {"m" * 65: {"samples": [1.0], "unit": "1"}}}, "is no name"),
        ({"metrics": {"loss": {"samples": [1.0] * 100_001, "unit": "1"}}}, "has 100001 samples, not 1 to"),
        ({"settings": {"a": json.loads("[" * 30 + "]" * 30)}}, "nested more than 20 levels deep"),
        ({"metrics": {}}, "measured nothing"),
        ({"metrics": {"loss": {"samples": [], "unit": "1"}}}, "metric loss has 0 samples, not 1 to 100000"),
        ({"metrics": {"loss": {"samples": ["1"], "unit": "1"}}}, "malformed"),
        ({"metrics": {"loss": {"samples": [float("inf")], "unit": "1"}}}, "malformed"),
        ({"parameters": None}, "malformed"),
    ],
)
def test_what_is_not_sound_is_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    refused = accept(tmp_path, {**RECORD, **change})
    assert isinstance(refused, Failed)
    assert reason in refused.reason
    assert len(refused.reason.splitlines()) == 1


def test_nesting_that_a_record_may_have_is_data(tmp_path: Path) -> None:
    assert isinstance(accept(tmp_path, {**RECORD, "device": {"a": [{"b": [1, {"c": "x"}]}]}}), Finished)


def test_a_reason_to_skip_is_one_short_line(tmp_path: Path) -> None:
    told = "jax is not\n\tinstalled " + "line\n" * 1000
    skipped = accept(tmp_path, {"schema": 1, "skipped": told, "benchmark": GROUP})
    assert isinstance(skipped, Skipped)
    assert skipped.reason.startswith("jax is not installed line line")
    assert len(skipped.reason) == 300


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_no_record(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "session.json"
    make(path)
    refused = read_record(path, benchmark=GROUP, accelerator="cpu", size="cpu-smoke", lasted_seconds=2.0)
    assert refused == Failed(reason="the session ended well but wrote no record", detail="")


@pytest.mark.parametrize(
    "content",
    ["", "{", "3", "[]", '{"device": {"a": ' + "[" * 100_000, '{"metrics": {"a": {"samples": [1e999]}}}'],
)
def test_what_is_no_record_at_all_is_refused(tmp_path: Path, content: str) -> None:
    assert isinstance(accept(tmp_path, content), Failed)
