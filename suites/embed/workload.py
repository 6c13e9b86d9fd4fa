"""The recommender: sizes, NumPy weights and batches, cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suites._harness.data import Arrays, Generator, Initialiser, Workload, kernel, normal


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """The figures of one size. All computation is float32."""

    batch: int
    tables: int
    rows: int
    """Rows of each table; all tables are stored as one array."""
    width: int
    dense: int
    """Dense features beside the look-ups."""
    hidden: int
    rotation: int

    @property
    def features(self) -> int:
        """Width of the perceptron's input."""
        return self.tables * self.width + self.dense


def _weights(spec: Spec, generator: Initialiser) -> Arrays:
    return {
        "table": normal(generator, spec.tables * spec.rows, spec.width, scale=0.1),
        "hidden.kernel": kernel(generator, spec.features, spec.hidden),
        "out.kernel": kernel(generator, spec.hidden, 1),
    }


def _batch(spec: Spec, generator: Generator) -> Arrays:
    """One uniform look-up per table and example; clicks are coin tosses."""
    ids = generator.integers(0, spec.rows, (spec.batch, spec.tables))
    offsets = np.arange(spec.tables) * spec.rows
    return {
        "ids": (ids + offsets).astype(np.int32),
        "dense": generator.standard_normal((spec.batch, spec.dense), dtype=np.float32),
        "clicks": generator.integers(0, 2, spec.batch).astype(np.float32),
    }


def _flops(spec: Spec) -> float:
    """The perceptron's matrix products. The step is bound by memory: nine passes over the table."""
    return 6.0 * spec.batch * (spec.features * spec.hidden + spec.hidden)


WORKLOAD = Workload(
    name="embed",
    sizes={
        "cpu-smoke": Spec(batch=256, tables=26, rows=5_000, width=16, dense=13, hidden=128, rotation=256),
        "gpu": Spec(batch=8192, tables=26, rows=250_000, width=64, dense=13, hidden=128, rotation=64),
    },
    weights=_weights,
    batch=_batch,
    flops=_flops,
    items=lambda spec: spec.batch,
)
