"""Base classes of the suite's benchmarks: what asv sees.

A concrete class gives `version`, `workload`, `build` and its own one-line `setup_cache`: asv names a session
after the file and line of that method, so an inherited one would make all classes share one session.
All classes here are abstract, and so invisible to asv.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from suites._harness import jax_training, torch_training
from suites._harness.jax_runtime import JaxProgram, JaxRuntime
from suites._harness.record import UNITS
from suites._harness.session import Subject, run_session
from suites._harness.torch_runtime import TorchRuntime, TorchStep

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from suites._harness.data import Problem, Workload
    from suites._harness.runtime import Runtime

Record: TypeAlias = dict[str, Any]
"""What `setup_cache` returns: the session record, or one with `skipped`."""

EXACT = frozenset({"temp_bytes", "recompiles"})
"""Metrics that repeat exactly: one session is enough, and any difference is real."""


class AbstractSession(ABC):
    """One workload x variant: a session in `setup_cache`, and light readers of its record."""

    variant: ClassVar[str]
    version: ClassVar[str]
    """Raised by hand, only when the measured work changes: a new version starts a new history."""
    timeout: ClassVar[int] = 900
    workload: ClassVar[Workload[Any]]
    has_loss: ClassVar[bool] = True

    @abstractmethod
    def setup_cache(self) -> Record:
        """Run the session: `return self.session()` in every concrete class, see the module."""

    @abstractmethod
    def runtime(self) -> Runtime:
        """A fresh runtime that builds this workload in this variant."""

    def session(self) -> Record:
        """Run one session as the environment asks for and return its record."""
        kind = type(self)
        module = kind.__module__.partition(".")[2] or kind.__module__
        subject = Subject(
            benchmark=f"{module}.{kind.__name__}",
            version=self.version,
            variant=self.variant,
            workload=self.workload,
            has_loss=self.has_loss,
        )
        return run_session(subject, self.runtime())

    def setup(self, record: Record) -> None:
        """Skip every metric of a session that was skipped.

        Raises:
            NotImplementedError: asv's word for "skipped"; it stores NaN.
        """
        if "skipped" in record:
            raise NotImplementedError(record["skipped"])


def _reader(metric: str, track: str) -> Callable[[AbstractSession, Record], dict[str, Any] | float]:
    """The asv benchmark that reads `metric`; asv stores the attributes set here in benchmarks.json."""

    def read(self: AbstractSession, record: Record) -> dict[str, Any] | float:  # noqa: ARG001  a method
        found = record["metrics"].get(metric)
        return math.nan if found is None else {"samples": found["samples"], "number": 1}

    read.__name__ = read.__qualname__ = f"track_{metric}"
    vars(read).update(unit=UNITS[metric], metric=metric, track=track, better="lower", exact=metric in EXACT)
    return read


class AbstractJaxProbe(AbstractSession):
    """A small JAX program that isolates one construct; it has no loss."""

    variant = "jax-jit"
    has_loss = False
    x64: ClassVar[bool] = False
    """Whether 64-bit types are on."""

    @abstractmethod
    def build(self, problem: Problem[Any]) -> JaxProgram:
        """The program to compile and time."""

    def runtime(self) -> Runtime:
        """See `AbstractSession.runtime`."""
        return JaxRuntime(self.build, x64=self.x64)

    track_import = _reader("import", "jax")
    track_trace_lower = _reader("trace_lower", "jax")
    track_compile_cold = _reader("compile_cold", "jax")
    track_first_step = _reader("first_step", "jax")
    track_step_wall = _reader("step_wall", "jax")
    track_step_cpu = _reader("step_cpu", "jax")
    track_temp_bytes = _reader("temp_bytes", "jax")
    track_peak_device_bytes = _reader("peak_device_bytes", "jax")
    track_recompiles = _reader("recompiles", "jax")


class AbstractJaxJit(AbstractJaxProbe):
    """A training step in JAX, compiled whole, with donated state.

    A concrete class gives a `loss`, or its own `build` for a step of another kind.
    """

    has_loss = True
    loss: ClassVar[staticmethod[[Any, Any, Any], Any]]

    def build(self, problem: Problem[Any]) -> JaxProgram:
        """Gradient of the loss, then the workload's optimizer."""
        return jax_training.training_program(problem, self.loss)

    track_loss = _reader("loss", "jax")


class AbstractTorchProbe(AbstractSession):
    """A small PyTorch program, run as it is written; it has no loss."""

    variant = "torch-eager"
    has_loss = False
    compiled: ClassVar[bool] = False

    @abstractmethod
    def build(self, problem: Problem[Any], *, device: torch.device, compiled: bool) -> TorchStep:
        """The program to time; `compiled` says whether `torch.compile` is to get it."""

    def runtime(self) -> Runtime:
        """See `AbstractSession.runtime`."""
        return TorchRuntime(self.build, compiled=self.compiled)

    track_import = _reader("import", "torch")
    track_first_step = _reader("first_step", "torch")
    track_step_wall = _reader("step_wall", "torch")
    track_step_cpu = _reader("step_cpu", "torch")
    track_peak_device_bytes = _reader("peak_device_bytes", "torch")


class AbstractTorchCompiledProbe(AbstractTorchProbe):
    """The same with `torch.compile`: one graph, no break, proven in each session."""

    variant = "torch-compile"
    compiled = True

    track_compile_cold = _reader("compile_cold", "torch")
    track_compile_warm = _reader("compile_warm", "torch")
    track_recompiles = _reader("recompiles", "torch")


class AbstractTorchEager(AbstractTorchProbe):
    """A training step in PyTorch as it is written; a concrete class gives a `loss` or its own `build`."""

    has_loss = True
    loss: ClassVar[staticmethod[[Any, Any, Any], Any]]

    def build(self, problem: Problem[Any], *, device: torch.device, compiled: bool) -> TorchStep:
        """Backward through the loss, then the workload's optimizer."""
        return torch_training.training_step(problem, self.loss, device=device, compiled=compiled)

    track_loss = _reader("loss", "torch")


class AbstractTorchCompile(AbstractTorchEager, AbstractTorchCompiledProbe):
    """The same step with `torch.compile`: forward, loss and backward are one graph."""
