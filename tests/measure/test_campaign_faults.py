"""What is damaged, copied or removed under a campaign: refused or healed, never silently taken for data."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import asv.results
import pytest

from stepwatch.commands import campaigns
from stepwatch.errors import DataError, MalformedFile, UsageError
from stepwatch.measure.driver import run_campaign
from stepwatch.measure.events import Event, Noted, SessionFinished
from stepwatch.measure.forecast import forecast
from stepwatch.measure.site import check_results

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tracker

SPIN = "spin.bench.Mini"
STEP = f"{SPIN}.track_step_cpu"
CLASS = {"accelerator": "cpu", "size": "cpu-smoke", "device": "mini processor"}
DEEP = b'{"version":2,"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def machine_file(tracker: Tracker) -> Path:
    return tracker.root / "results" / "m" / "machine.json"


def sample_counts(tracker: Tracker) -> list[int]:
    rows = [asv.results.Results.load(str(path), machine_name="m") for path in tracker.results()]
    return sorted(len(one.get_result_samples(STEP, [])[0]) for one in rows)


def test_a_release_without_its_own_library_is_a_failure_until_it_is_built_anew(
    ready_tracker: Tracker,
) -> None:
    ready_tracker.control({SPIN: {"mode": "skip"}})
    done = ready_tracker.measure("mini/1.0..mini/2.0", "--sessions", "1", "--bench", "spin", code=3)
    assert "ended: 0 of 2 sessions" in done.stderr
    assert "done:" not in done.stderr
    failures = ready_tracker.sidecar().failures
    assert {failure.stage for failure in failures} == {"session"}
    assert "mini is not installed, though its lock has it; delete " in failures[0].reason
    ready_tracker.control({})
    summary, _ = ready_tracker.campaign(sessions=1, seed=None)
    assert (summary.finished, summary.failed) == (2, 0)


def test_another_device_is_refused_after_plain_asv_rewrote_the_machine_file(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1)
    stored = json.loads(machine_file(ready_tracker).read_text())
    machine_file(ready_tracker).write_text(json.dumps({k: v for k, v in stored.items() if k not in CLASS}))
    ready_tracker.control({SPIN: {"device": "another processor"}})
    summary, _ = ready_tracker.campaign(sessions=2)
    assert summary.finished == 0
    assert "this machine has device 'mini processor'" in ready_tracker.sidecar().failures[0].reason
    assert json.loads(machine_file(ready_tracker).read_text()) == stored


@pytest.mark.parametrize("content", [None, b"", b"[1]", b"null", b"\xff\xfe", DEEP])
def test_a_machine_file_that_is_damaged_or_missing_is_made_again(
    ready_tracker: Tracker, content: bytes | None
) -> None:
    ready_tracker.campaign("mini/1.0", sessions=1)
    before = machine_file(ready_tracker).read_bytes()
    machine_file(ready_tracker).unlink()
    if content is not None:
        machine_file(ready_tracker).write_bytes(content)
    summary, _ = ready_tracker.campaign("mini/1.0", sessions=1)
    assert summary.failed == 0
    assert machine_file(ready_tracker).read_bytes() == before


def test_a_machine_file_of_another_machine_is_refused_with_a_step_that_helps(ready_tracker: Tracker) -> None:
    ready_tracker.campaign("mini/1.0", sessions=1)
    foreign = {**json.loads(machine_file(ready_tracker).read_text()), "machine": "other"}
    machine_file(ready_tracker).write_text(json.dumps(foreign))
    with pytest.raises(MalformedFile, match="does not describe machine 'm'; move it away"):
        ready_tracker.campaign("mini/1.0", sessions=2)
    machine_file(ready_tracker).unlink()
    assert ready_tracker.campaign("mini/1.0", sessions=2)[0].finished == 1


def test_a_machine_that_measures_something_else_is_told_before_anything_is_built(
    ready_tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready_tracker.campaign("mini/1.0", sessions=1)
    monkeypatch.setattr(campaigns, "accelerator_fault", lambda _: None)
    job = ready_tracker.job("mini/2.0", accelerator="cuda12", size="gpu")
    with pytest.raises(UsageError, match="this machine has accelerator 'cpu', not 'cuda12'"):
        run_campaign(job, store=ready_tracker.store())
    with pytest.raises(UsageError, match="this machine has accelerator 'cpu'"):
        forecast(job, ready_tracker.store())
    assert not (ready_tracker.root / "results" / "m" / "sessions" / "mini-2.0.jsonl").exists()


def test_a_gpu_that_is_not_there_is_told_before_anything_is_built(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "accelerator_fault", lambda name: f"{name}: no driver")
    with pytest.raises(DataError, match="cuda12: no driver"):
        tracker.job(accelerator="cuda12")
    assert not (tracker.root / "envs").exists()
    request = campaigns.Request(spec="mini/2.0", machine="m", accelerator="cuda12")
    job = campaigns.prepare(tracker.config, request, tracker.store(), build=False)
    assert job.size == "gpu", "a plan can be made anywhere"


def test_a_release_beside_is_measured_once_however_often_it_is_named(ready_tracker: Tracker) -> None:
    job = ready_tracker.job("mini/1.0", beside=("mini/2.0", "mini/2.0"))
    assert job.comparison.beside == ("mini/2.0",)
    assert forecast(job, ready_tracker.store()).sessions == 2 * job.sessions


def test_a_copied_sidecar_is_refused(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1)
    path = ready_tracker.sidecar().path
    copy = path.with_name("mine (copy).jsonl")
    shutil.copy(path, copy)
    with pytest.raises(MalformedFile, match=r"holds the campaign .*: a copy, or renamed"):
        ready_tracker.campaign(sessions=2)
    copy.unlink()
    assert ready_tracker.campaign(sessions=2)[0].finished == 2


def test_a_line_that_is_there_twice_counts_once_and_is_told(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1)
    path = ready_tracker.sidecar().path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[1]]))
    _, events = ready_tracker.campaign(sessions=1)
    assert sample_counts(ready_tracker) == [30, 30]
    (note,) = [event.text for event in events if isinstance(event, Noted)]
    assert note == f"{path}: 1 lines repeat a session; each session counts once"


def test_a_sidecar_removed_while_measuring_ends_the_run_at_once(ready_tracker: Tracker) -> None:
    path = ready_tracker.root / "results" / "m" / "sessions" / "mini-1.0..mini-2.0.jsonl"

    def remove(event: Event) -> None:
        if isinstance(event, SessionFinished):
            path.unlink(missing_ok=True)

    with pytest.raises(MalformedFile, match="was removed while it was written; put it back"):
        run_campaign(ready_tracker.job(sessions=3), store=ready_tracker.store(), progress=remove)
    assert not path.exists()
    assert ready_tracker.campaign(sessions=1)[0].finished == 2


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_pairs_of_both_kinds_in_one_campaign_are_told(
    ready_tracker: Tracker, *, before: bool, after: bool
) -> None:
    _, events = ready_tracker.campaign(sessions=1, turns=before)
    assert not [event for event in events if isinstance(event, Noted)]
    _, events = ready_tracker.campaign(sessions=2, turns=after)
    (note,) = [event.text for event in events if isinstance(event, Noted)]
    assert f"took {'turns' if before else 'no turns'}, unlike those of this run" in note


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", DEEP, b'{"version": 1, "machine": "x"}'])
def test_site_leaves_no_machine_out_without_a_word(ready_tracker: Tracker, content: bytes | None) -> None:
    ready_tracker.campaign("mini/1.0", sessions=1)
    machine_file(ready_tracker).unlink()
    if content is not None:
        machine_file(ready_tracker).write_bytes(content)
    done = ready_tracker.run("stepwatch", "site", code=3)
    assert str(machine_file(ready_tracker)) in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (ready_tracker.root / "html").exists()


def test_a_result_file_nested_deeper_than_python_reads_is_named(ready_tracker: Tracker) -> None:
    ready_tracker.campaign("mini/1.0", sessions=1)
    (path,) = ready_tracker.results()
    path.write_bytes(DEEP)
    for reader in (lambda: check_results(ready_tracker.config.results), ready_tracker.campaign):
        with pytest.raises(MalformedFile, match=path.name):
            reader()


@pytest.mark.parametrize(
    ("field", "value"),
    [("started_at", 1.7e12), ("started_at", 1e300), ("wall_seconds", -1e9), ("wall_seconds", 1e9)],
)
def test_a_recorded_session_that_cannot_be_dated_is_named_with_its_line(
    ready_tracker: Tracker, field: str, value: float
) -> None:
    ready_tracker.campaign("mini/1.0", sessions=2)
    path = ready_tracker.sidecar("mini-1.0").path
    lines = path.read_bytes().splitlines()
    poisoned = json.loads(lines[2])
    poisoned["record"][field] = value
    path.write_bytes(b"\n".join([*lines[:2], json.dumps(poisoned).encode(), b""]))
    with pytest.raises(MalformedFile, match=r"mini-1\.0\.jsonl:3: session .* which cannot be; take out this"):
        ready_tracker.campaign("mini/1.0", sessions=2)
    path.write_bytes(b"\n".join([*lines[:2], b""]))
    assert ready_tracker.campaign("mini/1.0", sessions=2)[0].finished == 1
