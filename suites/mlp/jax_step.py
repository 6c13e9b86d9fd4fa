"""The perceptron's training step in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suites._harness import adam
from suites._harness.jax_runtime import JaxProgram

if TYPE_CHECKING:
    import jax

    from suites._harness.data import Problem
    from suites.mlp.workload import Spec

Tree = dict[str, Any]


def logits(spec: Spec, weights: Tree, inputs: jax.Array) -> jax.Array:
    """Class scores in float32, shape (batch, classes), of inputs (batch, features)."""
    import jax
    import jax.numpy as jnp

    layers = len(spec.widths) - 1
    hidden = inputs.astype(spec.compute)
    for layer in range(layers):
        product = hidden @ weights[f"{layer}.kernel"].astype(spec.compute)
        hidden = product + weights[f"{layer}.bias"].astype(spec.compute)
        if layer < layers - 1:
            hidden = jax.nn.relu(hidden)
    return hidden.astype(jnp.float32)


def build(problem: Problem[Spec]) -> JaxProgram:
    """The step as a pure function of (state, batch), and its initial state."""
    spec = problem.spec

    def loss(weights: Tree, batch: Tree) -> jax.Array:
        import jax
        import jax.numpy as jnp

        scores = jax.nn.log_softmax(logits(spec, weights, batch["inputs"]))
        return -jnp.mean(jnp.take_along_axis(scores, batch["labels"][:, None], axis=1))

    def step(state: adam.State, batch: Tree) -> tuple[adam.State, jax.Array]:
        import jax

        value, gradient = jax.value_and_grad(loss)(state["weights"], batch)
        return adam.updated(state, gradient), value

    return JaxProgram(step=step, state=adam.initial_state(problem.weights))
