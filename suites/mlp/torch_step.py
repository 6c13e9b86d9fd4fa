"""The perceptron's training step in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suites._harness.torch_runtime import Tensors, TorchStep, fused_adam, leaf_tensors

if TYPE_CHECKING:
    import torch

    from suites._harness.data import Problem
    from suites.mlp.workload import Spec


def logits(spec: Spec, weights: Tensors, inputs: torch.Tensor) -> torch.Tensor:
    """Class scores in float32, shape (batch, classes), of inputs (batch, features)."""
    import torch
    from torch.nn import functional

    compute = getattr(torch, spec.compute)
    layers = len(spec.widths) - 1
    hidden = inputs.to(compute)
    for layer in range(layers):
        kernel, bias = weights[f"{layer}.kernel"], weights[f"{layer}.bias"]
        hidden = functional.linear(hidden, kernel.to(compute), bias.to(compute))
        if layer < layers - 1:
            hidden = functional.relu(hidden)
    return hidden.float()


def build(problem: Problem[Spec], *, device: torch.device, compiled: bool) -> TorchStep:
    """The step, updating its own weights in place; forward, loss and backward are one compiled graph."""
    import torch

    spec = problem.spec
    weights = leaf_tensors(problem.weights, device)
    optimizer = fused_adam(weights)

    def loss(weights: Tensors, batch: Tensors) -> torch.Tensor:
        from torch.nn import functional

        return functional.cross_entropy(logits(spec, weights, batch["inputs"]), batch["labels"].long())

    loss_of = torch.compile(loss, fullgraph=True) if compiled else loss

    def step(batch: Tensors) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss_of(weights, batch)
        value.backward()
        optimizer.step()
        return value.detach()

    return step
