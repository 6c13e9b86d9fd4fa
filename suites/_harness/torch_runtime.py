"""PyTorch in a session: eager, or compiled by `torch.compile` with proof that it really was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from suites._harness import machine
from suites._harness.errors import SessionError, import_framework
from suites._harness.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch

    from suites._harness.data import Problem
    from suites._harness.request import Request

MATMUL_PRECISION = "highest"
Tensors: TypeAlias = "dict[str, torch.Tensor]"
TorchStep: TypeAlias = "Callable[[Tensors], torch.Tensor]"
"""Runs one training step on a batch in place; returns the detached loss."""


class BuildStep(Protocol):
    """Makes a training step of a problem's weights on a device, with its loss compiled or eager."""

    def __call__(self, problem: Problem[Any], *, device: torch.device, compiled: bool) -> TorchStep:
        """See the class."""


class TorchRuntime(Runtime):
    """One session of a torch step."""

    framework: ClassVar[str] = "torch"
    modules: ClassVar[tuple[str, ...]] = ("torch", "triton", "numpy")

    def __init__(self, build: BuildStep, *, compiled: bool) -> None:
        self._build_step = build
        self._compiled = compiled
        self._graphs_before_steady = 0
        self._losses: list[torch.Tensor] = []

    def load(self) -> None:
        """Import torch."""
        self._torch = import_framework("torch")

    def configure(self, request: Request, cache: Path) -> dict[str, Any]:
        """See `Runtime.configure`. Inductor and Triton keep their caches below `cache`."""
        settings = {
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "TRITON_CACHE_DIR": str(cache / "triton"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # compile workers would escape the CPU clock
        }
        os.environ.update(settings)
        self._torch.set_num_threads(1)
        self._torch.set_num_interop_threads(1)
        self._torch.set_float32_matmul_precision(MATMUL_PRECISION)
        self._torch.backends.cudnn.allow_tf32 = False  # the precision setting leaves convolutions alone
        self._torch.backends.cudnn.benchmark = False
        if request.on_gpu and not self._torch.cuda.is_available():
            raise SessionError(f"{request.accelerator} was asked for, torch finds no gpu")
        self._device = self._torch.device("cuda" if request.on_gpu else "cpu")
        if self._compiled:
            self._refuse_silent_eager()
        return {"matmul_precision": MATMUL_PRECISION, "cudnn_allow_tf32": False, "cudnn_benchmark": False}

    def build(self, problem: Problem[Any]) -> None:
        """See `Runtime.build`."""
        self._train = self._build_step(problem, device=self._device, compiled=self._compiled)
        self._batches = [
            {name: self._torch.tensor(array, device=self._device) for name, array in batch.items()}
            for batch in problem.batches
        ]
        self._wait()

    def stages(self, *, warm_cache: bool) -> list[tuple[str, Callable[[], None]]]:
        """Eager: the first step. Compiled: the first call, which compiles; then the first step proper."""
        first_step = ("first_step", self._fenced_step)
        if not self._compiled:
            return [first_step]
        return [("compile_warm" if warm_cache else "compile_cold", self._fenced_step), first_step]

    def step(self) -> None:
        """See `Runtime.step`."""
        self._losses.append(self._train(self._batches[len(self._losses) % len(self._batches)]))

    def fence(self) -> None:
        """On a CPU a step is done when it returns; a GPU is synchronised, for weights and loss alike."""
        self._wait()

    def begin_steady(self) -> None:
        """See `Runtime.begin_steady`."""
        self._graphs_before_steady = self._graphs()
        if self._device.type == "cuda":
            self._torch.cuda.reset_peak_memory_stats()

    def measured(self) -> dict[str, float]:
        """Recompiles (compiled variant), and on a GPU the peak of allocated memory.

        Raises:
            SessionError: the compiled variant did not run as one graph without breaks.
        """
        found: dict[str, float] = {}
        if self._compiled:
            self._demand_compiled()
            found["recompiles"] = self._graphs() - self._graphs_before_steady
        if self._device.type == "cuda":
            found["peak_device_bytes"] = self._torch.cuda.max_memory_allocated()
        return found

    def losses(self) -> list[float]:
        """See `Runtime.losses`."""
        return [float(loss) for loss in self._losses]

    def device(self) -> dict[str, Any]:
        """See `Runtime.device`."""
        if self._device.type == "cpu":
            return {"platform": "cpu", "kind": machine.processor_name(), "count": 1}
        kind = str(self._torch.cuda.get_device_name())
        return {"platform": "gpu", "kind": kind, "count": self._torch.cuda.device_count()}

    def fingerprint(self) -> dict[str, Any]:
        """Graphs captured and what the compile caches answered; nothing for eager."""
        return (
            {kind: dict(found) for kind, found in self._counters().items() if found} if self._compiled else {}
        )

    def _fenced_step(self) -> None:
        self.step()
        self.fence()

    def _wait(self) -> None:
        if self._device.type == "cuda":
            self._torch.cuda.synchronize()

    def _refuse_silent_eager(self) -> None:
        """Past its recompile limit dynamo runs eager without a word; make that an error."""
        import torch._dynamo  # not imported by `import torch`

        torch._dynamo.config.fail_on_recompile_limit_hit = True  # noqa: SLF001  the only switch there is

    def _counters(self) -> dict[str, dict[str, int]]:
        from torch._dynamo.utils import counters

        return {str(kind): dict(found) for kind, found in counters.items()}

    def _graphs(self) -> int:
        return self._counters().get("stats", {}).get("unique_graphs", 0) if self._compiled else 0

    def _demand_compiled(self) -> None:
        counters = self._counters()
        if self._graphs() < 1:
            raise SessionError("torch.compile captured no graph: the step ran eager")
        if breaks := counters.get("graph_break"):
            raise SessionError(
                f"torch.compile broke the graph {sum(breaks.values())} times: {next(iter(breaks))}"
            )
