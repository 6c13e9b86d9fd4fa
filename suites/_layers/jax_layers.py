"""The layers in JAX: pure functions of arrays, channels last; statistics and softmax in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax


def dense(x: jax.Array, kernel: jax.Array, bias: jax.Array | None = None) -> jax.Array:
    """`x @ kernel + bias` in the type of x; kernel has shape (in, out)."""
    product = x @ kernel.astype(x.dtype)
    return product if bias is None else product + bias.astype(x.dtype)


def layer_norm(x: jax.Array, scale: jax.Array, bias: jax.Array | None = None, *, epsilon: float) -> jax.Array:
    """Normalise the last axis in float32, biased variance; same type out as in."""
    import jax
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    normed = centred * jax.lax.rsqrt(variance + epsilon) * scale
    return (normed if bias is None else normed + bias).astype(x.dtype)


def rms_norm(x: jax.Array, scale: jax.Array, *, epsilon: float) -> jax.Array:
    """Divide the last axis by its root mean square, in float32; same type out as in."""
    import jax
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    power = jnp.mean(wide * wide, axis=-1, keepdims=True)
    return (wide * jax.lax.rsqrt(power + epsilon) * scale).astype(x.dtype)


def attention(  # noqa: PLR0913  what an attention layer may be
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    causal: bool = False,
    window: int | None = None,
    fused: bool = False,
) -> jax.Array:
    """Scaled dot-product attention; shapes and type of the result are those of q.

    Args:
        q: queries, (batch, tokens, heads, width of a head).
        k: keys, (batch, tokens, key heads, width); each serves heads / key heads queries next to each other.
        v: values, as k.
        causal: a token sees itself and those before it.
        window: with `causal`, how many tokens it sees at most, itself included.
        fused: cuDNN's fused kernel (GPU) instead of plain XLA.
    """
    import jax
    import jax.numpy as jnp

    if fused:
        return jax.nn.dot_product_attention(
            q,
            k,
            v,
            is_causal=causal,
            local_window_size=None if window is None else (window - 1, 0),
            implementation="cudnn",
        )
    batch, tokens, heads, width = q.shape
    grouped = q.reshape(batch, tokens, k.shape[2], heads // k.shape[2], width)
    scores = jnp.einsum("bqkgd,bskd->bkgqs", grouped, k).astype(jnp.float32) * width**-0.5
    if causal:
        scores = jnp.where(_visible(tokens, window), scores, -jnp.inf)
    probabilities = jax.nn.softmax(scores).astype(v.dtype)
    return jnp.einsum("bkgqs,bskd->bqkgd", probabilities, v).reshape(q.shape)


def _visible(tokens: int, window: int | None) -> jax.Array:
    """Which token (row) sees which (column)."""
    import jax.numpy as jnp

    seen = jnp.tril(jnp.ones((tokens, tokens), bool))
    return seen if window is None else seen & ~jnp.tril(seen, -window)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean over all positions of -log softmax(logits)[label]; logits are (..., classes)."""
    import jax
    import jax.numpy as jnp

    scores = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.mean(jnp.take_along_axis(scores, labels[..., None], axis=-1))
