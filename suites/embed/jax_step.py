"""The recommender's training step in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suites._harness import adam
from suites._harness.jax_runtime import JaxProgram

if TYPE_CHECKING:
    import jax

    from suites._harness.data import Problem
    from suites.embed.workload import Spec

Tree = dict[str, Any]


def loss(weights: Tree, batch: Tree) -> jax.Array:
    """Mean binary cross-entropy of the clicks."""
    import jax
    import jax.numpy as jnp

    rows = weights["table"][batch["ids"]]  # (batch, tables, width)
    features = jnp.concatenate([rows.reshape(rows.shape[0], -1), batch["dense"]], axis=1)
    hidden = jax.nn.relu(features @ weights["hidden.kernel"])
    score = (hidden @ weights["out.kernel"])[:, 0]
    return jnp.mean(jax.nn.softplus(score) - batch["clicks"] * score)


def build(problem: Problem[Spec]) -> JaxProgram:
    """The step as a pure function of (state, batch), and its initial state."""

    def step(state: adam.State, batch: Tree) -> tuple[adam.State, jax.Array]:
        import jax

        value, gradient = jax.value_and_grad(loss)(state["weights"], batch)
        return adam.updated(state, gradient), value

    return JaxProgram(step=step, state=adam.initial_state(problem.weights))
