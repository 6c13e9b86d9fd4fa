"""A scalar while loop: the running maximum over 2^16 integers, one per turn.

Watches the cost of one turn of a loop that XLA cannot fuse away (jax-ml/jax#25190).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suites._harness.benchmarks import AbstractJaxProbe, Record
from suites._harness.data import Arrays, Generator, Workload
from suites._harness.jax_runtime import JaxProgram

if TYPE_CHECKING:
    import jax

    from suites._harness.data import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """The figures of one size."""

    turns: int
    rotation: int


def _batch(spec: Spec, generator: Generator) -> Arrays:
    return {"values": generator.integers(0, 2**30, spec.turns).astype(np.int32)}


_WORKLOAD = Workload(
    name="while_scalar",
    sizes={"cpu-smoke": Spec(turns=2**16, rotation=4), "gpu": Spec(turns=2**14, rotation=4)},
    weights=lambda _spec, _generator: {},
    batch=_batch,
    flops=lambda spec: float(spec.turns),
)


def largest(best: jax.Array, batch: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
    """The largest of `best` (int32 scalar) and all values, found one by one; returned twice."""
    import jax
    import jax.numpy as jnp

    values = batch["values"]

    def turn(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        index, highest = carry
        return index + 1, jnp.maximum(highest, values[index])

    _, best = jax.lax.while_loop(lambda carry: carry[0] < values.size, turn, (jnp.int32(0), best))
    return best, best.astype(jnp.float32)


class JaxJit(AbstractJaxProbe):
    """The loop, compiled."""

    version = "1"
    workload = _WORKLOAD

    def build(self, problem: Problem[Spec]) -> JaxProgram:
        """See the base class."""
        del problem
        return JaxProgram(step=largest, state=np.zeros((), np.int32))

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()
