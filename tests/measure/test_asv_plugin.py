"""Plain asv on a tracker: run, find, continuous, publish, by release name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from typing import TYPE_CHECKING

import asv.results
import asv.util
import pytest

from stepwatch.measure.asv_results import read_revisions
from stepwatch.measure.asv_sessions import _current_machine, session_result
from stepwatch.measure.session import Failed
from stepwatch.releases.tried import read_trials

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tracker

STEP = "spin.bench.Mini.track_step_cpu"


@pytest.fixture
def asv_tracker(ready_tracker: Tracker) -> Tracker:
    ready_tracker.run("asv", "machine", "--yes", "--machine", "m")
    return ready_tracker


def hash_of(tracker: Tracker, release: str) -> str:
    return read_revisions(tracker.config.history_repo, [release])[release].commit


def test_asv_run_measures_releases_by_name_and_keeps_its_sessions(asv_tracker: Tracker) -> None:
    for _ in range(2):
        asv_tracker.run(
            "asv",
            "run",
            "mini/2.0^!",
            "--machine",
            "m",
            "--bench",
            "spin",
            "--append-samples",
            "--show-stderr",
        )
    sidecar = asv_tracker.sidecar("asv-run")
    places = [
        (s.place.release, s.place.side.value, s.place.pair, s.place.lock != "") for s in sidecar.sessions
    ]
    assert places == [("mini/2.0", "single", 0, True), ("mini/2.0", "single", 1, True)]
    (path,) = asv_tracker.results()
    rows = asv.results.Results.load(str(path), machine_name="m")
    kept = [x for s in sidecar.sessions for x in s.record.metrics["step_cpu"].samples]
    assert rows.get_result_samples(STEP, []) == [kept]
    assert rows.params["python"] == "locked"


def test_a_failed_install_never_lets_the_next_release_run_in_a_broken_environment(
    asv_tracker: Tracker,
) -> None:
    # asv takes the newest first, so 1.0 follows on the release that cannot be installed.
    done = asv_tracker.run("asv", "run", "ALL", "--machine", "m", "--bench", STEP, code=2)
    assert "mini==1.5" in done.stdout
    values = {}
    for path in asv_tracker.results():
        rows = asv.results.Results.load(str(path), machine_name="m")
        values[rows.commit_hash] = rows.get_result_value(STEP, [])[0]
    assert values[hash_of(asv_tracker, "mini/1.5")] is None
    assert values[hash_of(asv_tracker, "mini/2.0")] == pytest.approx(0.0024, rel=0.02)
    sidecar = asv_tracker.sidecar("asv-run")
    assert [s.place.release for s in sidecar.sessions] == ["mini/2.0", "mini/1.0"]
    assert values[hash_of(asv_tracker, "mini/1.0")] == pytest.approx(0.0020, rel=0.02)
    assert [(f.stage, f.release) for f in sidecar.failures] == [("environment", "mini/1.5")]
    trials = read_trials([asv_tracker.config.environments / "tried.jsonl"])
    assert trials["mini/1.5", "cpu"].ok is False


def test_a_failed_session_under_asv_is_recorded(asv_tracker: Tracker) -> None:
    asv_tracker.control({"spin.bench.Mini": {"mode": "crash"}})
    asv_tracker.run("asv", "run", "mini/1.0^!", "--machine", "m", "--bench", STEP, code=2)
    (failure,) = asv_tracker.sidecar("asv-run").failures
    assert (failure.benchmark, failure.stage) == ("spin.bench.Mini", "session")
    assert failure.reason == "RuntimeError: the step exploded"


def test_the_sessions_of_asv_are_checked_as_strictly_as_our_own(tmp_path: Path) -> None:
    def result(output: str = "", code: int = 0) -> object:
        return session_result(
            tmp_path / "session.json", "spin.bench.Mini.track_loss-0", accelerator="cpu", size="cpu-smoke",
            lasted_seconds=1.0, code=code, output=output,
        )  # fmt: skip

    assert result() is None
    assert result("a\nE: \t b\n\n", code=1) == Failed(reason="E: b", detail="a\nE: \t b\n\n")
    assert result(code=3) == Failed(reason="exit status 3", detail="")
    (tmp_path / "session.json").write_text("[" * 100_000)
    refused = result()
    assert isinstance(refused, Failed)
    assert "malformed" in refused.reason


def test_asvs_machine_is_the_one_described_last_whatever_is_in_its_file(tmp_path: Path) -> None:
    for age, name in ((0, "newer"), (100, "older")):
        path = tmp_path / name / "machine.json"
        path.parent.mkdir()
        path.write_bytes(b"\xff")
        os.utime(path, (time.time() - age,) * 2)
    assert _current_machine(tmp_path) == "newer"
    with pytest.raises(asv.util.UserError, match="no machine is described here"):
        _current_machine(tmp_path / "newer")


def test_continuous_compares_two_releases_by_name(asv_tracker: Tracker) -> None:
    arguments = ("continuous", "mini/1.0", "mini/2.0", "--machine", "m", "--bench", STEP)
    done = asv_tracker.run("asv", *arguments, code=1)
    assert "PERFORMANCE DECREASED" in done.stdout


def test_find_names_the_release_that_is_slower(asv_tracker: Tracker) -> None:
    # 1.5 cannot be installed: asv's bisection must be able to get around it or say so in one line.
    done = asv_tracker.run("asv", "find", "mini/1.0^!", STEP, "--machine", "m")
    assert hash_of(asv_tracker, "mini/1.0")[:8] in done.stdout


def test_an_unknown_accelerator_is_one_line(asv_tracker: Tracker) -> None:
    conf = asv_tracker.root / "asv.conf.json"
    conf.write_text(json.dumps({**json.loads(conf.read_text()), "release_accelerator": "abacus"}))
    done = asv_tracker.run("asv", "run", "mini/1.0^!", "--machine", "m", code=1)
    assert "unknown accelerator 'abacus'" in done.stdout


def test_stepwatch_goes_on_from_what_plain_asv_measured(asv_tracker: Tracker) -> None:
    asv_tracker.run("asv", "run", "mini/1.0^!", "--machine", "m", "--bench", "spin", "--record-samples")
    asv_tracker.campaign(sessions=1)
    counts = [
        len(asv.results.Results.load(str(path), machine_name="m").get_result_samples(STEP, [])[0])
        for path in asv_tracker.results()
    ]
    assert sorted(counts) == [30, 60]


def test_the_site_is_published_by_both_and_has_every_release(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=2)
    done = ready_tracker.run("stepwatch", "site")
    assert "index.html" in done.stdout
    site = ready_tracker.root / "html"
    graphs = [json.loads(path.read_text()) for path in (site / "graphs").rglob(f"{STEP}.json")]
    assert [len(graph) for graph in graphs if graph] == [2] * len([graph for graph in graphs if graph])
    assert (site / "graphdisplay.js").read_text().count("state.branch = [track]") == 1
    ready_tracker.run("stepwatch", "site")
    ready_tracker.run("asv", "publish")


def test_site_names_a_truncated_file_and_leaves_the_old_site(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1)
    ready_tracker.run("stepwatch", "site")
    path = ready_tracker.results()[0]
    path.write_bytes(path.read_bytes()[:50])
    done = ready_tracker.run("stepwatch", "site", code=3)
    assert done.stderr.count("\n") == 1
    assert path.name in done.stderr
    assert (ready_tracker.root / "html" / "index.html").is_file()


def test_site_refuses_a_folder_that_is_no_site_and_results_that_are_not_there(ready_tracker: Tracker) -> None:
    done = ready_tracker.run("stepwatch", "site", code=3)
    assert re.search(r"results: no results here", done.stderr)
    ready_tracker.campaign(sessions=1)
    precious = ready_tracker.root / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("x")
    done = ready_tracker.run("stepwatch", "site", "--output", "precious", code=2)
    assert "not an asv site" in done.stderr
    assert (precious / "thesis.txt").exists()


def test_asv_sees_no_stray_json_beside_its_own(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1)
    command = ready_tracker.command("asv", "show", "--machine", "m")
    done = subprocess.run(
        command,
        cwd=ready_tracker.root,
        env=ready_tracker.environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Skipping" not in done.stdout + done.stderr
