"""One session: a fresh process that builds, compiles, warms up and times one workload x variant.

Read `_measure` from top to bottom: its order is the protocol.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from suites._harness import machine
from suites._harness.cache import CompileCache, compile_cache
from suites._harness.clock import stage_seconds
from suites._harness.errors import FrameworkAbsent, SessionError
from suites._harness.record import SCHEMA, Metrics, write_json
from suites._harness.request import Request
from suites._harness.steady import Steady, run_steady, warm_up
from suites._harness.turns import Turns

if TYPE_CHECKING:
    from suites._harness.data import Problem, Workload
    from suites._harness.runtime import Runtime

WARM_UP_STEPS = {"cpu": 5, "gpu": 10}
LOSS_STEP = 36
"""The step whose loss is the metric: a fixed one, because the number of timed steps depends on speed.
Every session reaches it: one first step, five warm-ups, thirty samples of one step or more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What a session measures."""

    benchmark: str
    """Module and class: `mlp.bench.JaxJit`."""
    version: str
    variant: str
    workload: Workload[Any]
    has_loss: bool
    """Whether the loss is a metric (a probe's last value means nothing)."""


def run_session(subject: Subject, runtime: Runtime) -> dict[str, Any]:
    """Run the session that the `STEPWATCH_*` variables ask for; returns its record.

    Where the framework is not installed, the record is `{"schema", "benchmark", "skipped": reason}`.

    Raises:
        SessionError: no honest measurement can be made. Errors of the framework pass through.
    """
    request = Request.from_environ(os.environ)
    turns = Turns(request.turns)
    turns.take()
    try:
        record = _measure(subject, runtime, request, turns)
    except FrameworkAbsent as absent:
        record = {"schema": SCHEMA, "benchmark": subject.benchmark, "skipped": str(absent)}
    if request.session_file is not None:
        write_json(request.session_file, record)
    return record


def _measure(subject: Subject, runtime: Runtime, request: Request, turns: Turns) -> dict[str, Any]:
    started_at, clock, waited = time.time(), time.perf_counter(), turns.waited
    pinned = machine.pin(request.core)
    before = machine.read_state(gpu=request.on_gpu)
    metrics = Metrics()
    metrics.add("import", [stage_seconds(runtime.load)])
    problem = subject.workload.problem(request.size)
    versions = machine.imported_versions(*runtime.modules)
    identity = f"{subject.benchmark} {subject.version} {problem.spec} {sorted(versions.items())}"
    program = f"{subject.benchmark}-{request.size}"
    with compile_cache(request.cache_dir, program=program, identity=identity) as cache:
        settings = pinned | runtime.configure(request, cache.folder)
        runtime.build(problem)
        _start_up(runtime, cache, metrics)
        steady, settings["warm_up_steps"] = _steady_state(subject, runtime, request, turns)
        metrics.add("step_wall", [sample.wall for sample in steady.samples])
        metrics.add("step_cpu", [sample.cpu for sample in steady.samples])
        for metric, value in runtime.measured().items():
            metrics.add(metric, [value])
        losses = _checked_losses(runtime)
        if subject.has_loss:
            metrics.add("loss", [losses[-1]])
        settings |= _session_settings(subject, request, cache, steady)
        settings["turns"] = turns.taken
        fingerprint = runtime.fingerprint()
    return {
        "schema": SCHEMA,
        "benchmark": subject.benchmark,
        "workload": subject.workload.name,
        "variant": subject.variant,
        "size": request.size,
        "accelerator": request.accelerator,
        "metrics": metrics.as_json(),
        "started_at": started_at,
        "wall_seconds": time.perf_counter() - clock - (turns.waited - waited),
        "versions": versions,
        "packages": machine.installed_packages(),
        "device": runtime.device(),
        "machine_before": before,
        "machine_after": machine.read_state(gpu=request.on_gpu),
        "settings": settings,
        "parameters": problem.parameters,
        "losses": losses,
        "fingerprint": fingerprint,
    }


def _start_up(runtime: Runtime, cache: CompileCache, metrics: Metrics) -> None:
    """From tracing to the first step; each stage is a metric of its own, never summed."""
    for metric, stage in runtime.stages(warm_cache=cache.warm):
        metrics.add(metric, [stage_seconds(stage)])
    cache.complete()


def _steady_state(subject: Subject, runtime: Runtime, request: Request, turns: Turns) -> tuple[Steady, int]:
    """Warm up, then time; returns the samples and the number of warm-up steps."""
    steps = WARM_UP_STEPS["gpu" if request.on_gpu else "cpu"]
    step_seconds = warm_up(runtime.step, runtime.fence, steps=steps)
    turns.switch()
    runtime.begin_steady()
    steady = run_steady(
        runtime.step,
        runtime.fence,
        step_seconds=step_seconds,
        samples=request.samples,
        slowdown=request.plant_factor(subject.workload.name),
        turns=turns,
    )
    turns.leave()
    return steady, steps


def _checked_losses(runtime: Runtime) -> list[float]:
    """The losses up to `LOSS_STEP`.

    Raises:
        SessionError: some loss of the session, up to the last step, is NaN or infinite.
    """
    losses = runtime.losses()
    for number, loss in enumerate(losses, start=1):
        if not abs(loss) < float("inf"):
            raise SessionError(f"the loss of step {number} is {loss}: the workload diverged")
    return losses[:LOSS_STEP]


def _session_settings(
    subject: Subject, request: Request, cache: CompileCache, steady: Steady
) -> dict[str, Any]:
    problem_spec = subject.workload.sizes[request.size]
    return {
        "compile_cache": "warm" if cache.warm else "cold",
        "benchmark_version": subject.version,
        "block_steps": steady.block,
        "timed_samples": len(steady.samples),
        "batches": problem_spec.rotation,
        "planted_slowdown": request.plant_factor(subject.workload.name),
        "garbage_collector": "off while timing",
        "bytecode_written": not sys.dont_write_bytecode,
        "flops_per_step": subject.workload.flops(problem_spec),
        "spec": str(problem_spec),
    }


def first_losses(runtime: Runtime, problem: Problem[Any], request: Request, *, steps: int) -> list[float]:
    """The first `steps` losses, untimed: on any core, with whatever the compile cache holds."""
    machine.limit_threads()
    runtime.load()
    with TemporaryDirectory(prefix="stepwatch-cache-", ignore_cleanup_errors=True) as temporary:
        runtime.configure(request, request.cache_dir or Path(temporary))
        runtime.build(problem)
        for _, stage in runtime.stages(warm_cache=False):
            stage()
        while len(runtime.losses()) < steps:
            runtime.step()
        runtime.fence()
        runtime.measured()
        return runtime.losses()[:steps]
