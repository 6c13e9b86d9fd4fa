"""The transformer's training step in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suites._harness import adam
from suites._harness.jax_runtime import JaxProgram
from suites.gpt.workload import NORM_EPSILON

if TYPE_CHECKING:
    import jax

    from suites._harness.data import Problem
    from suites.gpt.workload import Spec

Tree = dict[str, Any]


def layer_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Normalise the last axis in float32, biased variance, no bias; same type out as in."""
    import jax
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return (centred * jax.lax.rsqrt(variance + NORM_EPSILON) * scale).astype(x.dtype)


def attention(spec: Spec, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Causal attention over arrays of shape (batch, tokens, heads, width of a head)."""
    import jax
    import jax.numpy as jnp

    if spec.fused_attention:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    causal = jnp.tril(jnp.ones((spec.tokens, spec.tokens), bool))
    probabilities = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf)).astype(v.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", probabilities, v)


def block(spec: Spec, weights: Tree, layer: int, x: jax.Array) -> jax.Array:
    """One transformer block on x of shape (batch, tokens, width)."""
    import jax
    import jax.numpy as jnp

    def matrix(name: str) -> jax.Array:
        return weights[f"{layer}.{name}.kernel"].astype(x.dtype)

    qkv = layer_norm(x, weights[f"{layer}.attention.norm"]) @ matrix("attention.qkv")
    heads = qkv.reshape(*x.shape[:2], 3, spec.heads, spec.width // spec.heads)
    mixed = attention(spec, *jnp.moveaxis(heads, 2, 0))
    x = x + mixed.reshape(x.shape) @ matrix("attention.out")
    hidden = layer_norm(x, weights[f"{layer}.feedforward.norm"]) @ matrix("feedforward.in")
    return x + jax.nn.gelu(hidden, approximate=True) @ matrix("feedforward.out")


def logits(spec: Spec, weights: Tree, inputs: jax.Array) -> jax.Array:
    """Scores of the next token in float32, shape (batch, tokens, vocabulary), of ids (batch, tokens)."""
    import jax.numpy as jnp

    x = (weights["tokens"][inputs] + weights["positions"]).astype(spec.compute)
    for layer in range(spec.layers):
        x = block(spec, weights, layer, x)
    x = layer_norm(x, weights["norm"])
    return (x @ weights["tokens"].astype(spec.compute).T).astype(jnp.float32)


def build(problem: Problem[Spec]) -> JaxProgram:
    """The step as a pure function of (state, batch), and its initial state."""
    spec = problem.spec

    def loss(weights: Tree, batch: Tree) -> jax.Array:
        import jax
        import jax.numpy as jnp

        scores = jax.nn.log_softmax(logits(spec, weights, batch["inputs"]))
        return -jnp.mean(jnp.take_along_axis(scores, batch["targets"][..., None], axis=-1))

    def step(state: adam.State, batch: Tree) -> tuple[adam.State, jax.Array]:
        import jax

        value, gradient = jax.value_and_grad(loss)(state["weights"], batch)
        return adam.updated(state, gradient), value

    return JaxProgram(step=step, state=adam.initial_state(problem.weights))
