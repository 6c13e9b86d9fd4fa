"""What asv and stepwatch measure of the perceptron."""

from suites._harness.benchmarks import AbstractJaxJit, AbstractTorchCompile, AbstractTorchEager, Record
from suites.mlp import jax_step, torch_step
from suites.mlp.workload import WORKLOAD


class JaxJit(AbstractJaxJit):
    """JAX, compiled whole."""

    version = "2"
    workload = WORKLOAD
    loss = staticmethod(jax_step.loss)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()


class TorchEager(AbstractTorchEager):
    """PyTorch as written."""

    version = "2"
    workload = WORKLOAD
    loss = staticmethod(torch_step.loss)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()


class TorchCompile(AbstractTorchCompile):
    """PyTorch, loss and gradient compiled."""

    version = "2"
    workload = WORKLOAD
    loss = staticmethod(torch_step.loss)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()
