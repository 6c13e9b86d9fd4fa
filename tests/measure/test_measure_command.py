"""`stepwatch measure` as a user runs it, on a tiny library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tracker

RANGE = "mini/1.0..mini/2.0"


def test_a_campaign_is_measured_in_adjacent_pairs_and_written_as_asv_results(ready_tracker: Tracker) -> None:
    done = ready_tracker.measure(RANGE, "--sessions", "2", "--seed", "7")
    sidecar = ready_tracker.sidecar()
    assert len(sidecar.sessions) == 3 * 2 * 2
    assert sidecar.header.seed == 7
    halves = [(s.place.pair, s.record.benchmark, s.place.position) for s in sidecar.sessions]
    assert [(p, b) for p, b, _ in halves[::2]] == [(p, b) for p, b, _ in halves[1::2]]
    assert [position for _, _, position in halves] == [0, 1] * 6
    assert [pair for pair, _, _ in halves] == sorted(pair for pair, _, _ in halves)
    assert "[12/12]" in done.stderr
    assert "done: 12 of 12 sessions are in" in done.stderr
    assert len(ready_tracker.results()) == 2
    again = ready_tracker.measure(RANGE, "--sessions", "2")
    assert "nothing to do" in again.stderr


def test_a_plan_is_shown_and_starts_and_writes_nothing(ready_tracker: Tracker) -> None:
    done = ready_tracker.measure(RANGE, "--sessions", "4", "--bench", "spin", "--plan")
    assert "8 sessions, about" in done.stdout
    assert "minutes" in done.stdout
    assert not (ready_tracker.root / "results").exists()
    ready_tracker.campaign(sessions=3)
    plan = json.loads(
        ready_tracker.measure(RANGE, "--sessions", "4", "--bench", "spin", "--plan", "--json").stdout
    )
    assert (plan["sessions"], plan["finished"], plan["environments_to_build"]) == (2, 6, [])
    assert plan["seconds"] == pytest.approx(2 * 0.51)


def test_a_plan_refuses_what_the_run_would_refuse(ready_tracker: Tracker) -> None:
    ready_tracker.campaign(sessions=1, seed=1)
    for plan in ((), ("--plan",)):
        done = ready_tracker.measure(RANGE, "--seed", "2", "--bench", "spin", *plan, code=2)
        assert "begun with --seed 1; leave --seed out" in done.stderr


def test_a_plan_names_the_environments_that_have_to_be_built(tracker: Tracker) -> None:
    done = tracker.measure("mini/2.0", "--plan")
    assert "mini/2.0: its environment has to be built first" in done.stdout
    assert not (tracker.root / "envs").exists()


def test_how_it_ended_as_json(ready_tracker: Tracker) -> None:
    done = ready_tracker.measure(RANGE, "--sessions", "1", "--bench", "turn", "--json")
    summary = json.loads(done.stdout)
    assert (summary["planned"], summary["finished"], summary["interrupted"]) == (2, 2, False)


def test_what_cannot_be_measured_ends_with_exit_3_after_the_rest(ready_tracker: Tracker) -> None:
    ready_tracker.control({"spin.bench.Mini@2.0": {"mode": "crash"}})
    done = ready_tracker.measure(RANGE, "--sessions", "1", "--bench", "spin", "--bench", "turn", code=3)
    assert "failed, trying again: RuntimeError: the step exploded" in done.stderr
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .startswith("stepwatch: not everything could be measured: 1 session")
    )
    assert {s.record.benchmark for s in ready_tracker.sidecar().sessions} >= {"turn.bench.Mini"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("mini/1.0..mini/9",), 2, "unknown release 'mini/9': did you mean mini/2.0?"),
        (("minni/1.0",), 2, "unknown release 'minni/1.0'"),
        (("mini/2.0..mini/1.0",), 2, "runs backward"),
        ((RANGE, "--bench", "spni"), 2, "no benchmark matches 'spni'; closest: spin.bench.Mini.track_"),
        ((RANGE, "--bench", "("), 2, "not a regular expression"),
        ((RANGE, "--sessions", "0"), 2, "0 is not in the range 1<=x<=10000"),
        ((RANGE, "--sessions", "99999999"), 2, "is not in the range 1<=x<=10000"),
        ((RANGE, "--seed", "9" * 30), 2, "is not in the range"),
        ((RANGE, "--size", "huge"), 2, "--size 'huge': known are cpu-smoke and gpu"),
        ((RANGE, "--machine", "../../evil"), 2, "--machine '../../evil': a name begins with a letter"),
        ((RANGE, "--machine", "a\nb c"), 2, "--machine 'a\\nb c': a name begins with a letter"),
        ((RANGE, "--machine", "a\n"), 2, "--machine 'a\\n': a name begins with a letter"),
        ((RANGE, "--plant", "bench=1.10"), 2, "no selected benchmark measures 'bench'; they measure "),
        ((RANGE, "--plant", "Mini=1.10"), 2, "no selected benchmark measures 'Mini'"),
        ((RANGE, "--accelerator", "tpu"), 2, "'tpu' is not one of"),
        ((RANGE, "--a-a", "mini/1.0"), 2, "say what to measure"),
        ((), 2, "say what to measure"),
        ((RANGE, "--beside", "mini/1.0"), 2, "mini/1.0 is measured already"),
        ((RANGE, "--plant", "spin=0.9"), 2, "WORKLOAD=FACTOR"),
        ((RANGE, "--plant", "mlp=1.1"), 2, "no selected benchmark measures 'mlp'"),
    ],
)
def test_bad_input_is_one_line_with_the_next_step(
    tracker: Tracker, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = tracker.run("stepwatch", "measure", "--machine", "m", *arguments, "--plan", code=code)
    assert message in done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert not (tracker.root / "results").exists()


def test_a_range_across_two_tracks_is_refused(tracker: Tracker) -> None:
    table = tracker.config.releases / "torch.jsonl"
    table.write_text('{"package":"torch","version":"2.13.0","date":"2026-07-08","requires":{}}\n')
    done = tracker.measure("mini/1.0..torch/2.13.0", code=2)
    assert "--beside torch/2.13.0" in done.stderr


def test_a_suite_that_cannot_be_imported_is_named_with_the_last_line(ready_tracker: Tracker) -> None:
    (ready_tracker.root / "mini_suite" / "spin" / "bench.py").write_text("import nothing_like_this\n")
    done = ready_tracker.measure(RANGE, code=3)
    assert "mini_suite: the suite cannot be imported: ModuleNotFoundError" in done.stderr


def test_a_suite_that_imports_the_library_is_discovered_in_a_release_environment(
    ready_tracker: Tracker,
) -> None:
    bench = ready_tracker.root / "mini_suite" / "spin" / "bench.py"
    bench.write_text("import mini\n" + bench.read_text())
    ready_tracker.measure("mini/2.0", "--sessions", "1", "--bench", "spin")
    assert len(ready_tracker.sidecar("mini-2.0").sessions) == 1


def test_results_elsewhere_and_the_default_machine_name(ready_tracker: Tracker, tmp_path: Path) -> None:
    ready_tracker.run(
        "stepwatch",
        "measure",
        "mini/2.0",
        "--sessions",
        "1",
        "--bench",
        "spin",
        "--results",
        str(tmp_path / "r"),
    )
    (machine,) = [path for path in (tmp_path / "r").iterdir() if path.is_dir()]
    assert machine.name.endswith("-cpu")
