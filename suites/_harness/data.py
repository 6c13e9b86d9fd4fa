"""Framework-neutral problems: weights and batches out of NumPy seeds, the same for every framework.

A workload is described once, in NumPy; both frameworks load the same flat dictionaries of arrays, so that
their first losses can be compared (`parity.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from suites._harness.errors import SessionError
from suites._harness.optimizers import ADAM, Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SEED = 20_240_730
Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = dict[str, Array]
Generator: TypeAlias = np.random.Generator


class Shapes:
    """Stands in for a generator where only shapes are wanted: a billion weights take no memory.

    A count of operations, or of parameters, at GPU size must be possible on a laptop.
    """


Initialiser: TypeAlias = Generator | Shapes
"""What weights are drawn from."""


class Spec(Protocol):
    """The figures of one size; each workload has its own frozen dataclass.

    A spec with a `compute` (`float32` or `bfloat16`) names the type of its matrix products; weights,
    normalisation statistics, softmax and loss stay float32 (`float32` master weights).
    """

    @property
    def rotation(self) -> int:
        """How many batches take turns, so that the loss does not collapse within a session."""


SpecT = TypeVar("SpecT", bound=Spec)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem(Generic[SpecT]):
    """One workload at one size, as NumPy arrays."""

    spec: SpecT
    weights: Arrays
    """Trained."""
    batches: list[Arrays]
    frozen: Arrays = field(default_factory=dict)
    """Weights that the step reads and never changes."""
    buffers: Arrays = field(default_factory=dict)
    """Running statistics: changed by every step, but not by the optimizer."""
    optimizer: Optimizer = ADAM

    @property
    def parameters(self) -> int:
        """Trained numbers, counted over all weights."""
        return sum(array.size for array in self.weights.values())


def _none(_spec: Any, _generator: Any) -> Arrays:  # noqa: ANN401  any spec
    return {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload(Generic[SpecT]):
    """A model, its data and its cost, framework-neutral."""

    name: str
    sizes: Mapping[str, SpecT]
    """Specs by size: `cpu-smoke`, `gpu`."""
    weights: Callable[[SpecT, Initialiser], Arrays]
    """Initial weights. A matrix whose name ends in `kernel` has shape (in, out), a convolution kernel
    (..., in, out): torch gets them in its own layout."""
    batch: Callable[[SpecT, Generator], Arrays]
    """One batch of inputs and targets."""
    flops: Callable[[SpecT], float]
    """Floating-point operations of one training step, by formula: matrix products and convolutions."""
    frozen: Callable[[SpecT, Initialiser], Arrays] = _none
    """Weights that are never trained; kept in the type that computes."""
    buffers: Callable[[SpecT, Initialiser], Arrays] = _none
    """Running statistics before the first step."""
    optimizer: Optimizer = ADAM
    bytes: Callable[[SpecT], float] | None = None
    """Memory traffic of one step, by formula, for a workload that is bound by memory."""
    items: Callable[[SpecT], float] | None = None
    """How many of `item` one step works through; None: a rate would mean nothing (a probe)."""
    item: str = "samples"
    """What a step's progress is counted in: `samples`, `tokens`."""
    tolerance: float = 1e-5
    """How far the first five float32 losses of two frameworks may differ, relative. A looser one is
    justified where it is set."""
    differences: tuple[str, ...] = ()
    """What is not equal between the frameworks and cannot be made equal, one sentence each."""

    def problem(self, size: str) -> Problem[SpecT]:
        """The problem at `size`, always from the same seed.

        Raises:
            SessionError: the workload has no such size.
        """
        spec = self.spec(size)
        weights_seed, *batch_seeds = np.random.SeedSequence(SEED).spawn(1 + spec.rotation)
        frozen_seed, buffers_seed = weights_seed.spawn(2)
        return Problem(
            spec=spec,
            weights=self.weights(spec, np.random.default_rng(weights_seed)),
            batches=[self.batch(spec, np.random.default_rng(seed)) for seed in batch_seeds],
            frozen=self.frozen(spec, np.random.default_rng(frozen_seed)),
            buffers=self.buffers(spec, np.random.default_rng(buffers_seed)),
            optimizer=self.optimizer,
        )

    def outline(self, size: str) -> Problem[SpecT]:
        """The problem at `size` with weights that have a shape and no memory of their own, and one batch.

        Raises:
            SessionError: the workload has no such size.
        """
        spec, shapes = self.spec(size), Shapes()
        return Problem(
            spec=spec,
            weights=self.weights(spec, shapes),
            batches=[self.batch(spec, np.random.default_rng(SEED))],
            frozen=self.frozen(spec, shapes),
            buffers=self.buffers(spec, shapes),
            optimizer=self.optimizer,
        )

    def spec(self, size: str) -> SpecT:
        """The figures of `size`.

        Raises:
            SessionError: the workload has no such size.
        """
        if size not in self.sizes:
            raise SessionError(f"{self.name} has no size {size!r}: it has {', '.join(self.sizes)}")
        return self.sizes[size]


def normal(generator: Initialiser, *shape: int, scale: float) -> Array:
    """Float32 normal numbers with standard deviation `scale`."""
    if isinstance(generator, Shapes):
        return np.broadcast_to(np.float32(0), shape)
    values = generator.standard_normal(shape, dtype=np.float32)
    values *= np.float32(scale)
    return values


def kernel(generator: Initialiser, *shape: int) -> Array:
    """A float32 kernel of shape (..., in, out), scaled by 1 / sqrt(all that one output sums over)."""
    return normal(generator, *shape, scale=float(np.prod(shape[:-1])) ** -0.5)
