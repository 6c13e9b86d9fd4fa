"""The driver: what is kept, what is retried, what goes on, what heals."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import asv.results
import pytest

from stepwatch.commands import campaigns
from stepwatch.errors import Busy, MalformedFile, UsageError
from stepwatch.measure import environments
from stepwatch.measure.asv_results import read_revisions
from stepwatch.measure.events import EnvironmentBroken, GroupClosed, SessionFailed, SessionStarted
from stepwatch.measure.storage import machine_lock
from stepwatch.model import Side

if TYPE_CHECKING:
    from conftest import Tracker

SPIN = "spin.bench.Mini"
STEP = f"{SPIN}.track_step_cpu"


def load(path: object) -> asv.results.Results:
    return asv.results.Results.load(str(path), machine_name="m")


def sample_counts(tracker: Tracker) -> list[int]:
    return sorted(len(load(path).get_result_samples(STEP, [])[0]) for path in tracker.results())


def test_every_finished_session_is_in_the_sidecar_and_in_asvs_rows(ready_tracker: Tracker) -> None:
    summary, events = ready_tracker.campaign(sessions=3)
    assert (summary.planned, summary.finished, summary.failed, summary.skipped) == (6, 6, 0, 0)
    sessions = ready_tracker.sidecar().sessions
    for path in ready_tracker.results():
        rows = load(path)
        mine = [s for s in sessions if s.place.release == _release_of(ready_tracker, rows.commit_hash)]
        assert len(mine) == 3
        assert rows.get_result_samples(STEP, []) == [
            [x for s in mine for x in s.record.metrics["step_cpu"].samples]
        ]
    left = [event.seconds_left for event in events if isinstance(event, SessionStarted)]
    assert left == sorted(left, reverse=True)
    assert left[-1] > 0


def _release_of(tracker: Tracker, commit: str) -> str:
    revisions = read_revisions(tracker.config.history_repo, ["mini/1.0", "mini/2.0"])
    return next(release for release, revision in revisions.items() if revision.commit == commit)


def test_a_second_run_adds_nothing_and_more_sessions_add_only_what_is_new(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=2)
    before = ready_tracker.sidecar().path.read_bytes()
    again, _ = ready_tracker.campaign(sessions=2, seed=None)
    assert (again.finished, again.finished_before) == (0, 4)
    assert ready_tracker.sidecar().path.read_bytes() == before
    more, _ = ready_tracker.campaign(sessions=3, seed=None)
    assert (more.finished, more.finished_before) == (2, 4)
    assert ready_tracker.sidecar().path.read_bytes().startswith(before)
    assert sample_counts(ready_tracker) == [90, 90]


def test_a_failing_session_is_retried_recorded_and_erases_nothing(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=2)
    ready_tracker.control({f"{SPIN}@2.0": {"mode": "crash"}})
    summary, events = ready_tracker.campaign(sessions=5)
    assert sample_counts(ready_tracker)[0] == 60
    failures = ready_tracker.sidecar().failures
    assert {f.reason for f in failures} == {"RuntimeError: the step exploded"}
    assert {f.stage for f in failures} == {"session"}
    assert "Traceback" in failures[0].detail
    assert [e.retry for e in events if isinstance(e, SessionFailed)] == [True, False, True, False]
    (closed,) = [e for e in events if isinstance(e, GroupClosed)]
    assert (closed.benchmark, closed.release) == (SPIN, "mini/2.0")
    assert summary.failed == 2
    ready_tracker.control({})
    healed, _ = ready_tracker.campaign(sessions=5)
    assert healed.failed == 0
    assert sample_counts(ready_tracker) == [150, 150]


@pytest.mark.parametrize("mode", ["nan", "torn", "silent", "fallback"])
def test_what_is_no_sound_record_is_a_failure_and_never_data(
    ready_tracker: Tracker, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    for module in (campaigns, environments):
        monkeypatch.setattr(module, "accelerator_fault", lambda _: None)
    ready_tracker.control({SPIN: {"mode": mode}})
    if mode == "fallback":
        lock = ready_tracker.config.locks / "cpu"
        (lock.parent / "cuda12").symlink_to(lock)
        (ready_tracker.config.environments / "cuda12").symlink_to(ready_tracker.config.environments / "cpu")
    summary, _ = ready_tracker.campaign(sessions=1, accelerator="cuda12" if mode == "fallback" else "cpu")
    assert summary.finished == 0
    assert not ready_tracker.sidecar().sessions
    assert not ready_tracker.results()
    if mode == "fallback":
        (ready_tracker.config.environments / "cuda12").unlink()
        assert "asked for cuda12, but the session ran on cpu" in ready_tracker.sidecar().failures[0].reason


def test_a_session_on_another_device_is_refused(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1)
    ready_tracker.control({SPIN: {"device": "another processor"}})
    summary, _ = ready_tracker.campaign(sessions=2)
    assert summary.finished == 0
    assert "this machine has device 'mini processor'" in ready_tracker.sidecar().failures[0].reason
    assert sample_counts(ready_tracker) == [30, 30]


def test_a_pair_takes_turns_and_never_runs_at_once(ready_tracker: Tracker) -> None:
    ready_tracker.control({SPIN: {"seconds": 0.3}})
    ready_tracker.campaign(sessions=2)
    sessions = ready_tracker.sidecar().sessions
    spans = sorted((s.record.started_at - 0.3, s.record.started_at) for s in sessions)
    assert len(spans) == 4
    assert all(end <= start + 0.01 for (_, end), (start, _) in pairwise(spans))


def test_a_harness_that_takes_no_turns_is_no_data(ready_tracker: Tracker) -> None:
    ready_tracker.control({SPIN: {"mode": "alone"}})
    summary, _ = ready_tracker.campaign(sessions=1)
    reasons = [failure.reason for failure in ready_tracker.sidecar().failures]
    assert reasons == ["the suite's harness takes no turns (STEPWATCH_TURNS)"] * 2
    assert summary.finished == 2, "tried again one after the other, they are sound sessions"


def test_a_partner_that_hangs_is_killed_and_the_other_is_measured(ready_tracker: Tracker) -> None:
    ready_tracker.control({f"{SPIN}@1.0": {"seconds": 60.0}})
    bench = ready_tracker.config.suite / "spin" / "bench.py"
    bench.write_text(bench.read_text().replace("timeout = 20", "timeout = 2"))
    summary, _ = ready_tracker.campaign(sessions=1)
    sessions = ready_tracker.sidecar().sessions
    assert [session.place.release for session in sessions] == ["mini/2.0"]
    assert summary.failed == 1
    assert any("no end after 2 s (killed)" in f.reason for f in ready_tracker.sidecar().failures)


def test_a_release_that_cannot_be_installed_is_recorded_and_the_rest_goes_on(ready_tracker: Tracker) -> None:
    summary, events = ready_tracker.campaign("mini/1.0..mini/1.5", sessions=2, beside=("mini/2.0",))
    assert list(summary.broken_environments) == ["mini/1.5"]
    assert any(isinstance(event, EnvironmentBroken) for event in events)
    sidecar = ready_tracker.sidecar("mini-1.0..mini-1.5")
    assert [s.place.side for s in sidecar.sessions] == [Side.BESIDE, Side.BESIDE]
    (failure,) = sidecar.failures
    assert (failure.stage, failure.release) == ("environment", "mini/1.5")
    assert "mini==1.5" in failure.reason


def test_asv_rows_are_healed_from_the_sidecar_after_a_kill_between_the_two(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=2)
    expected = {path.name: path.read_bytes() for path in ready_tracker.results()}
    lost, stale = ready_tracker.results()
    lost.unlink()
    data = json.loads(stale.read_text())
    data["results"].pop(STEP)
    stale.write_text(json.dumps(data))
    ready_tracker.campaign(sessions=2)
    healed = {path.name: json.loads(path.read_bytes())["results"] for path in ready_tracker.results()}
    assert healed == {name: json.loads(data)["results"] for name, data in expected.items()}


def test_a_truncated_result_file_stops_the_run_before_it_starts_and_is_left_alone(
    ready_tracker: Tracker,
) -> None:
    ready_tracker.campaign(sessions=1)
    path = ready_tracker.results()[0]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(MalformedFile, match=path.name):
        ready_tracker.campaign(sessions=2)
    assert len(path.read_bytes()) == 100
    path.unlink()
    ready_tracker.campaign(sessions=2)
    assert sample_counts(ready_tracker) == [60, 60]


def test_a_torn_last_line_is_no_session_and_is_cut_off_on_resume(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=2)
    path = ready_tracker.sidecar().path
    data = path.read_bytes()
    path.write_bytes(data[: data.rstrip(b"\n").rfind(b"\n") + 40])
    torn = ready_tracker.sidecar()
    assert len(torn.sessions) == 3
    assert "torn" in torn.notes[0]
    summary, _ = ready_tracker.campaign(sessions=2)
    assert summary.finished == 1
    assert not ready_tracker.sidecar().notes
    assert sample_counts(ready_tracker) == [60, 60]


def test_a_malformed_sidecar_line_is_named(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1)
    path = ready_tracker.sidecar().path
    path.write_bytes(path.read_bytes() + b'{"type":"session"}\n')
    with pytest.raises(MalformedFile, match=r"jsonl:4: "):
        ready_tracker.campaign(sessions=2)


def test_another_seed_size_or_accelerator_is_another_campaign(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1, seed=1)
    with pytest.raises(UsageError, match="--seed 1"):
        ready_tracker.campaign(sessions=1, seed=2)
    with pytest.raises(UsageError, match="size 'cpu-smoke'"):
        ready_tracker.campaign(sessions=1, size="gpu")


def test_a_planted_slowdown_is_on_the_contender_alone_and_never_in_asvs_rows(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(None, a_a="mini/1.0", plant="spin=1.10", sessions=2)
    sidecar = ready_tracker.sidecar("mini-1.0..mini-1.0+plant-spin-1.10")
    planted = {(s.place.side.value, s.record.settings["planted_slowdown"]) for s in sidecar.sessions}
    assert planted == {("baseline", 1.0), ("contender", 1.1)}
    assert not ready_tracker.results()


def test_a_release_against_itself_has_two_sides_in_one_result_file(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(None, a_a="mini/1.0", sessions=2)
    sidecar = ready_tracker.sidecar("mini-1.0..mini-1.0")
    assert sorted(s.place.side.value for s in sidecar.sessions) == ["baseline"] * 2 + ["contender"] * 2
    assert sample_counts(ready_tracker) == [120]


def test_one_release_alone_and_rows_over_several_campaigns(ready_tracker: Tracker) -> None:
    ready_tracker.campaign("mini/1.0", sessions=2)
    assert {s.place.side for s in ready_tracker.sidecar("mini-1.0").sessions} == {Side.SINGLE}
    ready_tracker.campaign(sessions=1)
    assert sample_counts(ready_tracker) == [30, 90]


def test_each_environment_and_benchmark_has_a_compile_cache_of_its_own(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1, patterns=("spin", "turn"))
    caches = {s.record.settings["cache"] for s in ready_tracker.sidecar().sessions}
    assert len(caches) == 4
    assert all("envs" in cache for cache in caches)


def test_two_campaigns_on_one_machine_name_exclude_each_other(ready_tracker: Tracker) -> None:
    with machine_lock(ready_tracker.config.results, "m"), pytest.raises(Busy, match=r"in use by process \d+"):
        ready_tracker.campaign(sessions=1)
    summary, _ = ready_tracker.campaign(sessions=1)
    assert summary.finished == 2


def test_a_session_that_hangs_is_killed_with_all_its_children(ready_tracker: Tracker) -> None:
    bench = ready_tracker.root / "mini_suite" / "spin" / "bench.py"
    bench.write_text(bench.read_text().replace("timeout = 20", "timeout = 1"))
    ready_tracker.control({SPIN: {"seconds": 60}})
    summary, events = ready_tracker.campaign("mini/1.0", sessions=1)
    assert summary.failed == 1
    assert [e.reason for e in events if isinstance(e, SessionFailed)] == ["no end after 1 s (killed)"] * 2


def test_other_rows_of_a_result_file_are_kept(ready_tracker: Tracker) -> None:
    ready_tracker.campaign("mini/1.0", sessions=1)
    (path,) = ready_tracker.results()
    data = json.loads(path.read_text())
    data["results"]["elsewhere.time_it"] = [[1.5], [], "1", 0, 0.1]
    path.write_text(json.dumps(data))
    ready_tracker.campaign("mini/1.0", sessions=2)
    assert load(path).get_result_value("elsewhere.time_it", []) == [1.5]
