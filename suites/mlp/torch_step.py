"""The perceptron's training step in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suites._layers import torch_layers as layers

if TYPE_CHECKING:
    import torch

    from suites._harness.torch_runtime import Tensors
    from suites.mlp.workload import Spec


def logits(spec: Spec, weights: Tensors, inputs: torch.Tensor) -> torch.Tensor:
    """Class scores in float32, shape (batch, classes), of inputs (batch, features)."""
    import torch
    from torch.nn import functional

    count = len(spec.widths) - 1
    hidden = inputs.to(getattr(torch, spec.compute))
    for layer in range(count):
        hidden = layers.dense(hidden, weights[f"{layer}.kernel"], weights[f"{layer}.bias"])
        if layer < count - 1:
            hidden = functional.gelu(hidden, approximate="tanh")
    return hidden.float()


def loss(spec: Spec, weights: Tensors, batch: Tensors) -> torch.Tensor:
    """Mean cross-entropy."""
    return layers.cross_entropy(logits(spec, weights, batch["inputs"]), batch["labels"])
