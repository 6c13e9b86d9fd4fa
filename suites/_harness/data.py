"""Framework-neutral problems: weights and batches out of NumPy seeds, the same for every framework.

A workload is described once, in NumPy; both frameworks load the same flat dictionaries of arrays, so that
their first losses can be compared (`parity.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from suites._harness.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SEED = 20_240_730
Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = dict[str, Array]
Generator: TypeAlias = np.random.Generator


class Spec(Protocol):
    """The figures of one size of a workload; each workload has its own frozen dataclass."""

    @property
    def rotation(self) -> int:
        """How many batches take turns, so that the loss does not collapse within a session."""


SpecT = TypeVar("SpecT", bound=Spec)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem(Generic[SpecT]):
    """One workload at one size, as NumPy arrays."""

    spec: SpecT
    weights: Arrays
    batches: list[Arrays]

    @property
    def parameters(self) -> int:
        """Trained numbers, counted over all weights."""
        return sum(array.size for array in self.weights.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload(Generic[SpecT]):
    """A model, its data and its cost, framework-neutral."""

    name: str
    sizes: Mapping[str, SpecT]
    """Specs by size: `cpu-smoke`, `gpu`."""
    weights: Callable[[SpecT, Generator], Arrays]
    """Initial weights. A matrix whose name ends in `kernel` has shape (in, out)."""
    batch: Callable[[SpecT, Generator], Arrays]
    """One batch of inputs and targets."""
    flops: Callable[[SpecT], float]
    """Floating-point operations of one training step, by formula."""

    def problem(self, size: str) -> Problem[SpecT]:
        """The problem at `size`, always from the same seed.

        Raises:
            SessionError: the workload has no such size.
        """
        if size not in self.sizes:
            raise SessionError(f"{self.name} has no size {size!r}: it has {', '.join(self.sizes)}")
        spec = self.sizes[size]
        weights_seed, *batch_seeds = np.random.SeedSequence(SEED).spawn(1 + spec.rotation)
        return Problem(
            spec=spec,
            weights=self.weights(spec, np.random.default_rng(weights_seed)),
            batches=[self.batch(spec, np.random.default_rng(seed)) for seed in batch_seeds],
        )


def normal(generator: Generator, *shape: int, scale: float) -> Array:
    """Float32 normal numbers with standard deviation `scale`."""
    values = generator.standard_normal(shape, dtype=np.float32)
    values *= np.float32(scale)
    return values


def kernel(generator: Generator, fan_in: int, fan_out: int) -> Array:
    """A float32 matrix of shape (in, out), scaled by 1 / sqrt(in)."""
    return normal(generator, fan_in, fan_out, scale=fan_in**-0.5)
