"""The transformer in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suites._layers import jax_layers as layers
from suites.gpt.workload import NORM_EPSILON

if TYPE_CHECKING:
    import jax

    from suites.gpt.workload import Spec

Tree = dict[str, Any]


def block(spec: Spec, weights: Tree, layer: int, x: jax.Array) -> jax.Array:
    """One transformer block on x of shape (batch, tokens, width)."""
    import jax
    import jax.numpy as jnp

    def part(name: str) -> jax.Array:
        return weights[f"{layer}.{name}"]

    normed = layers.layer_norm(x, part("attention.norm"), epsilon=NORM_EPSILON)
    qkv = layers.dense(normed, part("attention.qkv.kernel"))
    heads = qkv.reshape(*x.shape[:2], 3, spec.heads, spec.width // spec.heads)
    mixed = layers.attention(*jnp.moveaxis(heads, 2, 0), causal=True, fused=spec.fused_attention)
    x = x + layers.dense(mixed.reshape(x.shape), part("attention.out.kernel"))
    normed = layers.layer_norm(x, part("feedforward.norm"), epsilon=NORM_EPSILON)
    hidden = jax.nn.gelu(layers.dense(normed, part("feedforward.in.kernel")), approximate=True)
    return x + layers.dense(hidden, part("feedforward.out.kernel"))


def logits(spec: Spec, weights: Tree, inputs: jax.Array) -> jax.Array:
    """Scores of the next token in float32, shape (batch, tokens, vocabulary), of ids (batch, tokens)."""
    import jax.numpy as jnp

    x = (weights["tokens"][inputs] + weights["positions"]).astype(spec.compute)
    for layer in range(spec.layers):
        x = block(spec, weights, layer, x)
    x = layers.layer_norm(x, weights["norm"], epsilon=NORM_EPSILON)
    return (x @ weights["tokens"].astype(spec.compute).T).astype(jnp.float32)


def loss(spec: Spec, weights: Tree, batch: Tree) -> jax.Array:
    """Mean cross-entropy of the next token."""
    return layers.cross_entropy(logits(spec, weights, batch["inputs"]), batch["targets"])
