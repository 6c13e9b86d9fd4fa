"""JAX in a session: ahead-of-time compiled, donated state, fenced by `block_until_ready`."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from suites._harness import machine
from suites._harness.errors import SessionError, import_framework
from suites._harness.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from suites._harness.data import Problem
    from suites._harness.request import Request

Tree: TypeAlias = Any
"""A JAX pytree of arrays."""

MATMUL_PRECISION = "highest"
_COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
_CPU_FLAGS = "--xla_cpu_multi_thread_eigen=false"


@dataclass(frozen=True, kw_only=True, slots=True)
class JaxProgram:
    """A training step as a pure function, and the state it starts from."""

    step: Callable[[Tree, Tree], tuple[Tree, Any]]
    """(state, batch) -> (next state, loss); not jitted: the session traces and compiles it itself."""
    state: Tree
    """Initial state, a pytree of NumPy arrays. Its buffers are donated to the first step."""


class JaxRuntime(Runtime):
    """One session of a `JaxProgram`."""

    framework: ClassVar[str] = "jax"
    modules: ClassVar[tuple[str, ...]] = ("jax", "jaxlib", "numpy")

    def __init__(self, build: Callable[[Problem[Any]], JaxProgram], *, x64: bool = False) -> None:
        self._build_program = build
        self._x64 = x64
        self._compiles = 0
        self._compiles_before_steady = 0
        self._losses: list[Any] = []

    def load(self) -> None:
        """Import jax. XLA reads its flags when the first device is asked for, so they are set here."""
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_CPU_FLAGS}".strip()
        self._jax = import_framework("jax")

    def configure(self, request: Request, cache: Path) -> dict[str, Any]:
        """See `Runtime.configure`; JAX's persistent compile cache is off, so `cache` stays unused."""
        del cache
        from jax import monitoring

        settings = {
            "jax_platforms": "cuda" if request.on_gpu else "cpu",
            "jax_enable_x64": self._x64,
            "jax_default_matmul_precision": MATMUL_PRECISION,
            "jax_enable_compilation_cache": False,
        }
        for name, value in settings.items():
            self._jax.config.update(name, value)
        monitoring.register_event_duration_secs_listener(self._count_compile)
        self._device = self._first_device(request)
        return {"matmul_precision": MATMUL_PRECISION, "XLA_FLAGS": os.environ["XLA_FLAGS"], **settings}

    def build(self, problem: Problem[Any]) -> None:
        """See `Runtime.build`."""
        jnp = self._jax.numpy
        program = self._build_program(problem)
        self._step = program.step
        with self._jax.default_device(self._device):
            # copy=True: donating a buffer that NumPy still owns is either refused or a silent copy.
            self._state = self._jax.tree_util.tree_map(lambda a: jnp.array(a, copy=True), program.state)
            self._batches = [self._jax.tree_util.tree_map(jnp.asarray, batch) for batch in problem.batches]
        self._jax.block_until_ready((self._state, self._batches))

    def stages(self, *, warm_cache: bool) -> list[tuple[str, Callable[[], None]]]:
        """Trace and lower; compile, always cold; run the first step."""
        del warm_cache
        return [
            ("trace_lower", self._trace_lower),
            ("compile_cold", self._compile),
            ("first_step", self._first_step),
        ]

    def step(self) -> None:
        """See `Runtime.step`."""
        batch = self._batches[len(self._losses) % len(self._batches)]
        self._state, loss = self._compiled(self._state, batch)
        self._losses.append(loss)

    def fence(self) -> None:
        """Wait for state **and** loss: the loss exists long before the optimizer has finished."""
        self._jax.block_until_ready((self._state, self._losses[-1]))

    def begin_steady(self) -> None:
        """See `Runtime.begin_steady`."""
        self._compiles_before_steady = self._compiles

    def measured(self) -> dict[str, float]:
        """Recompiles during the timed steps, temporary bytes, and on a GPU the peak of device memory."""
        found: dict[str, float] = {}
        if self._compiles_before_steady:  # else this jax does not report compiles under the known name
            found["recompiles"] = self._compiles - self._compiles_before_steady
        analysis = self._compiled.memory_analysis()
        if analysis is not None:
            found["temp_bytes"] = analysis.temp_size_in_bytes
        statistics = self._device.memory_stats()
        if statistics and "peak_bytes_in_use" in statistics:
            found["peak_device_bytes"] = statistics["peak_bytes_in_use"]
        return found

    def losses(self) -> list[float]:
        """See `Runtime.losses`."""
        return [float(loss) for loss in self._losses]

    def device(self) -> dict[str, Any]:
        """See `Runtime.device`."""
        platform = str(self._device.platform)
        kind = machine.processor_name() if platform == "cpu" else str(self._device.device_kind)
        return {"platform": platform, "kind": kind, "count": len(self._jax.devices())}

    def fingerprint(self) -> dict[str, Any]:
        """Digests of the program handed to XLA and of what XLA made of it."""
        optimized = self._compiled.as_text() or ""
        return {
            "stablehlo": _digest(self._lowered.as_text()),
            "optimized_hlo": _digest(optimized),
            "optimized_hlo_lines": optimized.count("\n"),
        }

    def _first_device(self, request: Request) -> Any:  # noqa: ANN401  a jax.Device, and jax is not importable here
        wanted = "gpu" if request.on_gpu else "cpu"
        try:
            device = self._jax.devices()[0]
        except (RuntimeError, AssertionError) as error:  # some releases assert that there is a backend
            reason = str(error).partition("\n")[0]
            raise SessionError(
                f"{request.accelerator} was asked for, jax finds no {wanted}: {reason}"
            ) from error
        if device.platform != wanted:
            raise SessionError(f"{request.accelerator} was asked for, jax would run on {device.platform}")
        return device

    def _trace_lower(self) -> None:
        step = self._jax.jit(self._step, donate_argnums=0)
        self._lowered = step.lower(self._state, self._batches[0])

    def _compile(self) -> None:
        self._compiled = self._lowered.compile()

    def _first_step(self) -> None:
        self.step()
        self.fence()

    def _count_compile(self, event: str, _seconds: float, **_: object) -> None:
        self._compiles += event == _COMPILE_EVENT


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
