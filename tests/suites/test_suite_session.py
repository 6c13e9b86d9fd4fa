"""The order of a session, and what makes it fail, on a framework made of plain Python."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from suites._harness import machine
from suites._harness.data import Workload
from suites._harness.errors import FrameworkAbsent, SessionError
from suites._harness.runtime import Runtime
from suites._harness.session import LOSS_STEP, Subject, run_session

from stepwatch.model import SessionRecord

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Spec:
    rotation: int = 2


WORKLOAD = Workload(
    name="toy",
    sizes={"cpu-smoke": Spec()},
    weights=lambda _spec, generator: {"w": generator.standard_normal((3, 4))},
    batch=lambda _spec, generator: {"x": generator.standard_normal(5)},
    flops=lambda _spec: 12.0,
)
SUBJECT = Subject(benchmark="toy.bench.Plain", version="1", variant="plain", workload=WORKLOAD, has_loss=True)


class PlainRuntime(Runtime):
    """Notes every call; its loss is the number of the step."""

    framework = "plain"
    modules = ("numpy",)

    def __init__(self, *, diverges_at: int = 0, absent: bool = False) -> None:
        self.calls: list[str] = []
        self.steps = 0
        self.diverges_at = diverges_at
        self.absent = absent

    def load(self) -> None:
        self.calls.append("load")
        if self.absent:
            raise FrameworkAbsent(self.framework)

    def configure(self, request: Any, cache: Any) -> dict[str, Any]:
        del request, cache
        self.calls.append("configure")
        return {"matmul_precision": "highest"}

    def build(self, problem: Any) -> None:
        assert problem.parameters == 12
        self.calls.append("build")

    def stages(self, *, warm_cache: bool) -> list[tuple[str, Callable[[], None]]]:
        del warm_cache
        return [("compile_cold", lambda: self.calls.append("compile")), ("first_step", self.step)]

    def step(self) -> None:
        self.steps += 1
        self.calls.append("step")

    def fence(self) -> None:
        self.calls.append("fence")

    def begin_steady(self) -> None:
        self.calls.append("begin steady")

    def measured(self) -> dict[str, float]:
        return {"recompiles": 0}

    def losses(self) -> list[float]:
        return [math.nan if n == self.diverges_at else float(n) for n in range(1, self.steps + 1)]

    def device(self) -> dict[str, Any]:
        return {"platform": "cpu"}

    def fingerprint(self) -> dict[str, Any]:
        return {"program": "none"}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A session file to write, and no pinning of the test process."""
    monkeypatch.setattr(machine, "pin", lambda core: {"affinity": [core or 0], "threads": 1})
    for name in ("ACCELERATOR", "SIZE", "CACHE_DIR", "PLANT", "STEPS", "CORE"):
        monkeypatch.delenv(f"STEPWATCH_{name}", raising=False)
    monkeypatch.setenv("STEPWATCH_SESSION_FILE", str(tmp_path / "session.json"))


def test_the_protocol_in_order() -> None:
    runtime = PlainRuntime()
    run_session(SUBJECT, runtime)
    start, steady = runtime.calls[:5], runtime.calls[runtime.calls.index("begin steady") :]
    assert start == ["load", "configure", "build", "compile", "step"]
    assert runtime.calls[5:16] == ["step", "fence"] * 5 + ["begin steady"]
    assert steady[-1] == "fence"
    assert steady.count("fence") >= 30


def test_the_record_is_what_stepwatch_reads(tmp_path: Path) -> None:
    returned = run_session(SUBJECT, PlainRuntime())
    text = (tmp_path / "session.json").read_bytes()
    record = msgspec.json.decode(text, type=SessionRecord)
    assert set(json.loads(text)) == set(SessionRecord.__struct_fields__)
    assert msgspec.to_builtins(record) == json.loads(text) == returned
    assert (record.schema, record.benchmark, record.parameters) == (1, "toy.bench.Plain", 12)
    assert record.versions["numpy"] == np.__version__
    assert len(record.metrics["step_cpu"].samples) == len(record.metrics["step_wall"].samples) >= 30
    assert record.settings["compile_cache"] == "cold"
    assert record.settings["planted_slowdown"] == 1.0


def test_the_loss_is_that_of_a_fixed_step() -> None:
    """The number of timed steps depends on speed; a loss that did too would differ between releases."""
    record = run_session(SUBJECT, PlainRuntime())
    assert record["metrics"]["loss"]["samples"] == [float(LOSS_STEP)]
    assert record["losses"] == [float(n) for n in range(1, LOSS_STEP + 1)]


def test_a_probe_has_no_loss() -> None:
    probe = Subject(benchmark="p", version="1", variant="v", workload=WORKLOAD, has_loss=False)
    assert "loss" not in run_session(probe, PlainRuntime())["metrics"]


def test_fewer_samples_for_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWATCH_STEPS", "3")
    record = run_session(SUBJECT, PlainRuntime())
    assert len(record["metrics"]["step_cpu"]["samples"]) == 3


def test_a_planted_slowdown_is_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWATCH_PLANT", "toy=1.10")
    assert run_session(SUBJECT, PlainRuntime())["settings"]["planted_slowdown"] == 1.10


@pytest.mark.parametrize("step", [1, 20, 41])
def test_a_loss_that_is_not_finite_fails_the_session(tmp_path: Path, step: int) -> None:
    with pytest.raises(SessionError, match=f"the loss of step {step} is nan"):
        run_session(SUBJECT, PlainRuntime(diverges_at=step))
    assert list(tmp_path.iterdir()) == []


def test_an_absent_framework_is_a_skip(tmp_path: Path) -> None:
    expected = {"schema": 1, "benchmark": "toy.bench.Plain", "skipped": "plain is not installed"}
    assert run_session(SUBJECT, PlainRuntime(absent=True)) == expected
    assert json.loads((tmp_path / "session.json").read_text()) == expected


def test_a_size_the_workload_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWATCH_SIZE", "gpu")
    with pytest.raises(SessionError, match="toy has no size 'gpu': it has cpu-smoke"):
        run_session(SUBJECT, PlainRuntime())


def test_problems_repeat_exactly_and_batches_differ() -> None:
    one, two = WORKLOAD.problem("cpu-smoke"), WORKLOAD.problem("cpu-smoke")
    np.testing.assert_array_equal(one.weights["w"], two.weights["w"])
    np.testing.assert_array_equal(one.batches[1]["x"], two.batches[1]["x"])
    assert not np.array_equal(one.batches[0]["x"], one.batches[1]["x"])
