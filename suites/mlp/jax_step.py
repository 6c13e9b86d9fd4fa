"""The perceptron's training step in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suites._layers import jax_layers as layers

if TYPE_CHECKING:
    import jax

    from suites.mlp.workload import Spec

Tree = dict[str, Any]


def logits(spec: Spec, weights: Tree, inputs: jax.Array) -> jax.Array:
    """Class scores in float32, shape (batch, classes), of inputs (batch, features)."""
    import jax
    import jax.numpy as jnp

    count = len(spec.widths) - 1
    hidden = inputs.astype(spec.compute)
    for layer in range(count):
        hidden = layers.dense(hidden, weights[f"{layer}.kernel"], weights[f"{layer}.bias"])
        if layer < count - 1:
            hidden = jax.nn.gelu(hidden, approximate=True)
    return hidden.astype(jnp.float32)


def loss(spec: Spec, weights: Tree, batch: Tree) -> jax.Array:
    """Mean cross-entropy."""
    return layers.cross_entropy(logits(spec, weights, batch["inputs"]), batch["labels"])
