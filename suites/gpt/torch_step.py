"""The transformer in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suites._layers import torch_layers as layers
from suites.gpt.workload import NORM_EPSILON

if TYPE_CHECKING:
    import torch

    from suites._harness.torch_runtime import Tensors
    from suites.gpt.workload import Spec


def block(spec: Spec, weights: Tensors, layer: int, x: torch.Tensor) -> torch.Tensor:
    """One transformer block on x of shape (batch, tokens, width)."""
    from torch.nn import functional

    def part(name: str) -> torch.Tensor:
        return weights[f"{layer}.{name}"]

    normed = layers.layer_norm(x, part("attention.norm"), epsilon=NORM_EPSILON)
    qkv = layers.dense(normed, part("attention.qkv.kernel"))
    heads = qkv.view(*x.shape[:2], 3, spec.heads, spec.width // spec.heads)
    mixed = layers.attention(*heads.unbind(2), causal=True)
    x = x + layers.dense(mixed.reshape(x.shape), part("attention.out.kernel"))
    normed = layers.layer_norm(x, part("feedforward.norm"), epsilon=NORM_EPSILON)
    hidden = functional.gelu(layers.dense(normed, part("feedforward.in.kernel")), approximate="tanh")
    return x + layers.dense(hidden, part("feedforward.out.kernel"))


def logits(spec: Spec, weights: Tensors, inputs: torch.Tensor) -> torch.Tensor:
    """Scores of the next token in float32, shape (batch, tokens, vocabulary), of ids (batch, tokens)."""
    import torch
    from torch.nn import functional

    compute = getattr(torch, spec.compute)
    x = (functional.embedding(inputs, weights["tokens"]) + weights["positions"]).to(compute)
    for layer in range(spec.layers):
        x = block(spec, weights, layer, x)
    x = layers.layer_norm(x, weights["norm"], epsilon=NORM_EPSILON)
    return functional.linear(x, weights["tokens"].to(compute)).float()


def loss(spec: Spec, weights: Tensors, batch: Tensors) -> torch.Tensor:
    """Mean cross-entropy of the next token."""
    return layers.cross_entropy(logits(spec, weights, batch["inputs"]), batch["targets"])
