"""The recommender's training step in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax

    from suites.embed.workload import Spec

Tree = dict[str, Any]


def loss(_spec: Spec, weights: Tree, batch: Tree) -> jax.Array:
    """Mean binary cross-entropy of the clicks."""
    import jax
    import jax.numpy as jnp

    rows = weights["table"][batch["ids"]]  # (batch, tables, width)
    features = jnp.concatenate([rows.reshape(rows.shape[0], -1), batch["dense"]], axis=1)
    hidden = jax.nn.relu(features @ weights["hidden.kernel"])
    score = (hidden @ weights["out.kernel"])[:, 0]
    return jnp.mean(jax.nn.softplus(score) - batch["clicks"] * score)
