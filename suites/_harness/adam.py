"""Adam, once for JAX; its figures for both frameworks.

Bias-corrected, epsilon outside the root (Kingma and Ba 2015, algorithm 1):
    w -= learning_rate * (first / (1 - beta1^t)) / (sqrt(second / (1 - beta2^t)) + epsilon)
`torch.optim.Adam` computes the same; tests/suites/test_parity.py holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from suites._harness.data import Arrays

State: TypeAlias = dict[str, Any]
"""`weights`, `first` and `second` (moments, shaped like the weights) and `count` (steps taken)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Adam:
    """The figures of the optimizer."""

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8


ADAM = Adam()


def initial_state(weights: Arrays) -> State:
    """The state before the first step, as NumPy arrays."""
    return {
        "weights": weights,
        "first": {name: np.zeros_like(array) for name, array in weights.items()},
        "second": {name: np.zeros_like(array) for name, array in weights.items()},
        "count": np.zeros((), np.int32),
    }


def updated(state: State, gradient: dict[str, Any], adam: Adam = ADAM) -> State:
    """The state after one step along `gradient`; traced by JAX."""
    import jax
    import jax.numpy as jnp

    count = state["count"] + 1
    exponent = count.astype(jnp.float32)
    correction1 = 1 - adam.beta1**exponent
    correction2 = 1 - adam.beta2**exponent
    first = jax.tree_util.tree_map(
        lambda m, g: adam.beta1 * m + (1 - adam.beta1) * g, state["first"], gradient
    )
    second = jax.tree_util.tree_map(
        lambda v, g: adam.beta2 * v + (1 - adam.beta2) * g * g, state["second"], gradient
    )
    weights = jax.tree_util.tree_map(
        lambda w, m, v: (
            w - adam.learning_rate * (m / correction1) / (jnp.sqrt(v / correction2) + adam.epsilon)
        ),
        state["weights"],
        first,
        second,
    )
    return {"weights": weights, "first": first, "second": second, "count": count}
