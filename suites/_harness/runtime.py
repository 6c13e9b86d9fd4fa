"""What the session protocol needs from a framework.

`session.py` knows only this class; `jax_runtime.py` and `torch_runtime.py` are the two frameworks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from suites._harness.data import Problem
    from suites._harness.request import Request


class Runtime(ABC):
    """One framework, taken through the stages of one session. Methods are called in the order below."""

    framework: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    """Modules whose versions are recorded."""

    @abstractmethod
    def load(self) -> None:
        """Import the framework (timed).

        Raises:
            FrameworkAbsent: it is not installed.
        """

    @abstractmethod
    def configure(self, request: Request, cache: Path) -> dict[str, Any]:
        """Pin threads, precision, caches (below `cache`) and the device; returns the settings made.

        Raises:
            SessionError: the accelerator that was asked for is not there. There is no fallback.
        """

    @abstractmethod
    def build(self, problem: Problem[Any]) -> None:
        """Put the model's state and all batches on the device, and wait for them."""

    @abstractmethod
    def stages(self, *, warm_cache: bool) -> list[tuple[str, Callable[[], None]]]:
        """Metric name and work of each stage from tracing to the first step, in order; each is timed."""

    @abstractmethod
    def step(self) -> None:
        """Run the next step on the next batch, without waiting for it."""

    @abstractmethod
    def fence(self) -> None:
        """Wait until the state and the loss of the last step exist."""

    @abstractmethod
    def begin_steady(self) -> None:
        """Called after warm-up: from here on nothing may compile, and peak memory counts."""

    @abstractmethod
    def measured(self) -> dict[str, float]:
        """Further metrics after the timed steps: `recompiles`, `temp_bytes`, `peak_device_bytes`.

        Raises:
            SessionError: what ran was not what the variant claims.
        """

    @abstractmethod
    def losses(self) -> list[float]:
        """The loss of every step so far, in order."""

    @abstractmethod
    def device(self) -> dict[str, Any]:
        """The device the steps ran on."""

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What identifies the compiled program."""
