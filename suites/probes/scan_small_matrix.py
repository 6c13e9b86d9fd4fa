"""A scan with a small carry: 2000 products of 3x3 float64 matrices.

Watches the fixed cost of one turn with a carry that fits into registers, and whether the carry is copied
(jax-ml/jax#36799, #31284).
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


def _batch(_spec: Spec, generator: Generator) -> Arrays:
    """A random rotation: products of rotations neither grow nor vanish."""
    orthogonal, _ = np.linalg.qr(generator.standard_normal((3, 3)))
    return {"rotation": orthogonal}


_SPEC = Spec(turns=2000, rotation=4)
_WORKLOAD = Workload(
    name="scan_small_matrix",
    sizes={"cpu-smoke": _SPEC, "gpu": _SPEC},
    weights=lambda _spec, _generator: {},
    batch=_batch,
    flops=lambda spec: 2.0 * 27 * spec.turns,
)


class JaxJit(AbstractJaxProbe):
    """The scan, compiled."""

    version = "1"
    workload = _WORKLOAD
    x64 = True

    def build(self, problem: Problem[Spec]) -> JaxProgram:
        """See the base class."""
        turns = problem.spec.turns

        def spin(carry: jax.Array, batch: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
            import jax

            rotation = batch["rotation"]
            carry, _ = jax.lax.scan(lambda c, _: (c @ rotation, None), carry, None, length=turns)
            return carry, carry[0, 0]

        return JaxProgram(step=spin, state=np.eye(3))

    def setup_cache(self) -> Record:
        """Run one session."""
        return self.session()
