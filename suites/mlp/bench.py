"""What asv and stepwatch measure of the perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suites._harness.benchmarks import AbstractJaxJit, AbstractTorchCompile, AbstractTorchEager, Record
from suites.mlp import jax_step, torch_step
from suites.mlp.workload import WORKLOAD

if TYPE_CHECKING:
    import torch

    from suites._harness.data import Problem
    from suites._harness.jax_runtime import JaxProgram
    from suites._harness.torch_runtime import TorchStep
    from suites.mlp.workload import Spec


class JaxJit(AbstractJaxJit):
    """JAX, compiled whole."""

    version = "1"
    workload = WORKLOAD

    def build(self, problem: Problem[Spec]) -> JaxProgram:
        """See the base class."""
        return jax_step.build(problem)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()


class TorchEager(AbstractTorchEager):
    """PyTorch as written."""

    version = "1"
    workload = WORKLOAD

    def build(self, problem: Problem[Spec], *, device: torch.device, compiled: bool) -> TorchStep:
        """See the base class."""
        return torch_step.build(problem, device=device, compiled=compiled)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()


class TorchCompile(AbstractTorchCompile):
    """PyTorch, loss and gradient compiled."""

    version = "1"
    workload = WORKLOAD

    def build(self, problem: Problem[Spec], *, device: torch.device, compiled: bool) -> TorchStep:
        """See the base class."""
        return torch_step.build(problem, device=device, compiled=compiled)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()
