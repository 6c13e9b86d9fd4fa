"""What asv and stepwatch measure of the transformer."""

from suites._harness.benchmarks import AbstractJaxJit, AbstractTorchCompile, AbstractTorchEager, Record
from suites.gpt import jax_step, torch_step
from suites.gpt.workload import WORKLOAD


class JaxJit(AbstractJaxJit):
    """JAX, compiled whole."""

    version = "1"
    workload = WORKLOAD
    loss = staticmethod(jax_step.loss)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()


class TorchEager(AbstractTorchEager):
    """PyTorch as written."""

    version = "1"
    workload = WORKLOAD
    loss = staticmethod(torch_step.loss)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()


class TorchCompile(AbstractTorchCompile):
    """PyTorch, loss and gradient compiled."""

    version = "1"
    workload = WORKLOAD
    loss = staticmethod(torch_step.loss)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()
