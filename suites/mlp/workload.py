"""The perceptron: sizes, NumPy weights and batches, cost.

GELU and not ReLU: in a wide layer with few examples one pre-activation that rounds to the other side of zero
moved the third loss by 1.5e-4 between two correct libraries, and parity would say nothing any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from suites._harness.data import Arrays, Generator, Initialiser, Workload, kernel


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """The figures of one size."""

    batch: int
    widths: tuple[int, ...]
    """Input, hidden layers, classes."""
    compute: str
    """Type of the matrix products, `float32` or `bfloat16`; weights and loss stay float32."""
    rotation: int


def _weights(spec: Spec, generator: Initialiser) -> Arrays:
    weights: Arrays = {}
    for layer, (fan_in, fan_out) in enumerate(pairwise(spec.widths)):
        weights[f"{layer}.kernel"] = kernel(generator, fan_in, fan_out)
        weights[f"{layer}.bias"] = np.zeros(fan_out, np.float32)
    return weights


def _batch(spec: Spec, generator: Generator) -> Arrays:
    """Noise with random classes: nothing to learn but the batches themselves, so many take turns."""
    return {
        "inputs": generator.standard_normal((spec.batch, spec.widths[0]), dtype=np.float32),
        "labels": generator.integers(0, spec.widths[-1], spec.batch).astype(np.int32),
    }


def _flops(spec: Spec) -> float:
    """Three matrix products per layer (forward, two gradients), 2 operations per multiply-add."""
    return 6.0 * spec.batch * sum(fan_in * fan_out for fan_in, fan_out in pairwise(spec.widths))


WORKLOAD = Workload(
    name="mlp",
    sizes={
        "cpu-smoke": Spec(batch=64, widths=(256, 512, 512, 10), compute="float32", rotation=256),
        "gpu": Spec(batch=8192, widths=(4096, 8192, 8192, 1000), compute="bfloat16", rotation=8),
    },
    weights=_weights,
    batch=_batch,
    flops=_flops,
    items=lambda spec: spec.batch,
)
