"""One training step in JAX out of a loss: gradient, optimizer, and the state that goes from step to step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suites._harness.jax_runtime import JaxProgram
from suites._harness.optimizers import Adam, Momentum, Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    import jax

    from suites._harness.data import Arrays, Problem

State: TypeAlias = dict[str, Any]
"""`weights`; `first` and `second` (moments) or `velocity`, shaped like them; `count` (steps taken); and where
the workload has them `frozen` and `buffers`."""
Loss: TypeAlias = "Callable[[Any, dict[str, Any], dict[str, Any]], Any]"
"""(spec, weights, batch) -> loss. `weights` holds frozen weights and buffers as well; with buffers the loss
returns (loss, new buffers)."""


def training_program(problem: Problem[Any], loss: Loss) -> JaxProgram:
    """The step as a pure function of (state, batch), and its initial state."""
    optimizer = problem.optimizer

    def objective(trained: dict[str, Any], state: State, batch: dict[str, Any]) -> tuple[Any, Any]:
        whole = {**state.get("frozen", {}), **state.get("buffers", {}), **trained}
        found = loss(problem.spec, whole, batch)
        return found if "buffers" in state else (found, {})

    def step(state: State, batch: dict[str, Any]) -> tuple[State, jax.Array]:
        import jax

        gradient_of = jax.value_and_grad(objective, has_aux=True)
        (value, buffers), gradient = gradient_of(state["weights"], state, batch)
        return {**updated(state, gradient, optimizer), **({"buffers": buffers} if buffers else {})}, value

    return JaxProgram(step=step, state=initial_state(problem))


def initial_state(problem: Problem[Any]) -> State:
    """The state before the first step, as NumPy arrays; frozen weights in the type that computes."""
    state = {"weights": problem.weights, **_moments(problem.weights, problem.optimizer)}
    if problem.frozen:
        import jax.numpy as jnp

        compute = jnp.dtype(getattr(problem.spec, "compute", "float32"))
        state["frozen"] = {name: array.astype(compute) for name, array in problem.frozen.items()}
    if problem.buffers:
        state["buffers"] = problem.buffers
    return state


def _moments(weights: Arrays, optimizer: Optimizer) -> State:
    if isinstance(optimizer, Momentum):
        return {"velocity": _zeros(weights)}
    return {"first": _zeros(weights), "second": _zeros(weights), "count": np.zeros((), np.int32)}


def _zeros(weights: Arrays) -> Arrays:
    return {name: np.zeros_like(array) for name, array in weights.items()}


def updated(state: State, gradient: dict[str, Any], optimizer: Optimizer) -> State:
    """The state after one step along `gradient`; traced by JAX. Same formulas as torch's optimizers."""
    if isinstance(optimizer, Momentum):
        return {**state, **_momentum(state, gradient, optimizer)}
    return {**state, **_adam(state, gradient, optimizer)}


def _momentum(state: State, gradient: dict[str, Any], momentum: Momentum) -> State:
    import jax

    velocity = jax.tree_util.tree_map(lambda v, g: momentum.momentum * v + g, state["velocity"], gradient)
    weights = jax.tree_util.tree_map(lambda w, v: w - momentum.learning_rate * v, state["weights"], velocity)
    return {"weights": weights, "velocity": velocity}


def _adam(state: State, gradient: dict[str, Any], adam: Adam) -> State:
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

    def moved(w: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        kept = w * (1 - adam.learning_rate * adam.weight_decay) if adam.weight_decay else w
        return kept - adam.learning_rate * (m / correction1) / (jnp.sqrt(v / correction2) + adam.epsilon)

    weights = jax.tree_util.tree_map(moved, state["weights"], first, second)
    return {"weights": weights, "first": first, "second": second, "count": count}
