"""One session: its process, its environment, and what is accepted as its record."""

from __future__ import annotations

import json
import sys
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
    from conftest import Tracker

GROUP = "spin.bench.Mini"
RECORD: dict[str, Any] = {
    "schema": 1, "benchmark": GROUP, "workload": "spin", "variant": "mini", "size": "cpu-smoke",
    "accelerator": "cpu",
    "metrics": {"step_cpu": {"samples": [1.0], "unit": "seconds"}}, "started_at": 1.0, "wall_seconds": 1.0,
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


def accept(tmp_path: Path, content: object) -> object:
    path = tmp_path / "session.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_record(path, benchmark=GROUP, accelerator="cpu")


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
        ({"benchmark": "other.bench.Mini"}, "measured other.bench.Mini, not spin.bench.Mini"),
        ({"accelerator": "cuda12"}, "asked for cpu, but the session ran on cuda12"),
        ({"metrics": {}}, "measured nothing"),
        ({"metrics": {"loss": {"samples": [], "unit": "1"}}}, "metric loss has no sample"),
        ({"metrics": {"loss": {"samples": ["1"], "unit": "1"}}}, "malformed"),
        ({"metrics": {"loss": {"samples": [float("inf")], "unit": "1"}}}, "malformed"),
        ({"parameters": None}, "malformed"),
    ],
)
def test_what_is_not_sound_is_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    refused = accept(tmp_path, {**RECORD, **change})
    assert isinstance(refused, Failed)
    assert reason in refused.reason


@pytest.mark.parametrize("content", ["", "{", "3", "[]", '{"metrics": {"a": {"samples": [1e999]}}}'])
def test_what_is_no_record_at_all_is_refused(tmp_path: Path, content: str) -> None:
    assert isinstance(accept(tmp_path, content), Failed)
