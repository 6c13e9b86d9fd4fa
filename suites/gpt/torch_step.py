"""The transformer's training step in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suites._harness.torch_runtime import Tensors, TorchStep, fused_adam, leaf_tensors
from suites.gpt.workload import NORM_EPSILON

if TYPE_CHECKING:
    import torch

    from suites._harness.data import Problem
    from suites.gpt.workload import Spec


def layer_norm(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Normalise the last axis in float32, biased variance, no bias; same type out as in."""
    from torch.nn import functional

    return functional.layer_norm(x.float(), scale.shape, weight=scale, eps=NORM_EPSILON).to(x.dtype)


def block(spec: Spec, weights: Tensors, layer: int, x: torch.Tensor) -> torch.Tensor:
    """One transformer block on x of shape (batch, tokens, width)."""
    from torch.nn import functional

    def project(y: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(y, weights[f"{layer}.{name}.kernel"].to(y.dtype))

    qkv = project(layer_norm(x, weights[f"{layer}.attention.norm"]), "attention.qkv")
    heads = qkv.view(*x.shape[:2], 3, spec.heads, spec.width // spec.heads)
    q, k, v = heads.permute(2, 0, 3, 1, 4)  # each (batch, heads, tokens, width of a head)
    mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + project(mixed.transpose(1, 2).reshape(x.shape), "attention.out")
    hidden = project(layer_norm(x, weights[f"{layer}.feedforward.norm"]), "feedforward.in")
    return x + project(functional.gelu(hidden, approximate="tanh"), "feedforward.out")


def logits(spec: Spec, weights: Tensors, inputs: torch.Tensor) -> torch.Tensor:
    """Scores of the next token in float32, shape (batch, tokens, vocabulary), of ids (batch, tokens)."""
    import torch
    from torch.nn import functional

    compute = getattr(torch, spec.compute)
    x = (functional.embedding(inputs, weights["tokens"]) + weights["positions"]).to(compute)
    for layer in range(spec.layers):
        x = block(spec, weights, layer, x)
    x = layer_norm(x, weights["norm"])
    return functional.linear(x, weights["tokens"].to(compute)).float()


def build(problem: Problem[Spec], *, device: torch.device, compiled: bool) -> TorchStep:
    """The step, updating its own weights in place; forward, loss and backward are one compiled graph."""
    import torch

    spec = problem.spec
    weights = leaf_tensors(problem.weights, device)
    optimizer = fused_adam(weights)

    def loss(weights: Tensors, batch: Tensors) -> torch.Tensor:
        from torch.nn import functional

        scores = logits(spec, weights, batch["inputs"])
        return functional.cross_entropy(scores.flatten(0, 1), batch["targets"].flatten().long())

    loss_of = torch.compile(loss, fullgraph=True) if compiled else loss

    def step(batch: Tensors) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss_of(weights, batch)
        value.backward()
        optimizer.step()
        return value.detach()

    return step
