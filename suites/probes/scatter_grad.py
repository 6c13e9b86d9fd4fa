"""The gradient of a graph aggregation: gather along edges, sum by node; its gradient scatters.

Watches scatter-add, which a training step with embeddings or a graph spends its time in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suites._harness.benchmarks import AbstractJaxProbe, Record
from suites._harness.data import Arrays, Generator, Workload, normal
from suites._harness.jax_runtime import JaxProgram

if TYPE_CHECKING:
    import jax

    from suites._harness.data import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """The figures of one size."""

    nodes: int
    edges: int
    width: int
    rotation: int


def _batch(spec: Spec, generator: Generator) -> Arrays:
    return {
        "sources": generator.integers(0, spec.nodes, spec.edges).astype(np.int32),
        "targets": generator.integers(0, spec.nodes, spec.edges).astype(np.int32),
    }


_WORKLOAD = Workload(
    name="scatter_grad",
    sizes={
        "cpu-smoke": Spec(nodes=4096, edges=32_768, width=32, rotation=4),
        "gpu": Spec(nodes=200_000, edges=4_000_000, width=128, rotation=2),
    },
    weights=lambda _spec, _generator: {},
    batch=_batch,
    flops=lambda spec: 4.0 * spec.edges * spec.width,
)


class JaxJit(AbstractJaxProbe):
    """The aggregation and its gradient, compiled."""

    version = "1"
    workload = _WORKLOAD

    def build(self, problem: Problem[Spec]) -> JaxProgram:
        """See the base class."""
        spec = problem.spec

        def energy(nodes: jax.Array, batch: dict[str, Any]) -> jax.Array:
            import jax
            import jax.numpy as jnp

            sums = jax.ops.segment_sum(nodes[batch["sources"]], batch["targets"], num_segments=spec.nodes)
            return jnp.mean(sums * sums)

        def descend(nodes: jax.Array, batch: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
            import jax

            value, gradient = jax.value_and_grad(energy)(nodes, batch)
            return nodes - gradient, value

        start = normal(np.random.default_rng(0), spec.nodes, spec.width, scale=1.0)
        return JaxProgram(step=descend, state=start)

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()
