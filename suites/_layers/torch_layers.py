"""The layers in PyTorch: what `jax_layers.py` computes, by the functions that torch has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def dense(x: torch.Tensor, kernel: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """`x @ kernel.T + bias` in the type of x; kernel has shape (out, in)."""
    from torch.nn import functional

    return functional.linear(x, kernel.to(x.dtype), None if bias is None else bias.to(x.dtype))


def layer_norm(
    x: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor | None = None, *, epsilon: float
) -> torch.Tensor:
    """Normalise the last axis in float32, biased variance; same type out as in."""
    from torch.nn import functional

    return functional.layer_norm(x.float(), scale.shape, weight=scale, bias=bias, eps=epsilon).to(x.dtype)


def rms_norm(x: torch.Tensor, scale: torch.Tensor, *, epsilon: float) -> torch.Tensor:
    """Divide the last axis by its root mean square, in float32; same type out as in."""
    from torch.nn import functional

    return functional.rms_norm(x.float(), scale.shape, weight=scale, eps=epsilon).to(x.dtype)


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
) -> torch.Tensor:
    """Scaled dot-product attention; arguments as in `jax_layers.attention`, torch chooses the kernel.

    A window needs a mask, and with a mask torch has no flash kernel.
    """
    from torch.nn import functional

    q, k, v = (part.transpose(1, 2) for part in (q, k, v))  # torch wants (batch, heads, tokens, width)
    mask = None if window is None else _visible(q, window)
    mixed = functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal and mask is None, enable_gqa=q.shape[1] != k.shape[1]
    )
    return mixed.transpose(1, 2)


def _visible(q: torch.Tensor, window: int) -> torch.Tensor:
    """Which token (row) sees which (column): itself and the `window` - 1 before it."""
    import torch

    seen = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).tril()
    return seen & ~seen.tril(-window)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean over all positions of -log softmax(logits)[label]; logits are (..., classes)."""
    from torch.nn import functional

    return functional.cross_entropy(logits.float().flatten(0, -2), labels.flatten().long())
