"""The recommender's training step in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suites._harness.torch_runtime import Tensors, TorchStep, fused_adam, leaf_tensors

if TYPE_CHECKING:
    import torch

    from suites._harness.data import Problem
    from suites.embed.workload import Spec


def loss(weights: Tensors, batch: Tensors) -> torch.Tensor:
    """Mean binary cross-entropy of the clicks."""
    import torch
    from torch.nn import functional

    rows = functional.embedding(batch["ids"], weights["table"])  # (batch, tables, width)
    features = torch.cat([rows.flatten(1), batch["dense"]], dim=1)
    hidden = functional.relu(functional.linear(features, weights["hidden.kernel"]))
    score = functional.linear(hidden, weights["out.kernel"])[:, 0]
    return functional.binary_cross_entropy_with_logits(score, batch["clicks"])


def build(problem: Problem[Spec], *, device: torch.device, compiled: bool) -> TorchStep:
    """The step, updating its own weights in place; forward, loss and backward are one compiled graph."""
    import torch

    weights = leaf_tensors(problem.weights, device)
    optimizer = fused_adam(weights)
    loss_of = torch.compile(loss, fullgraph=True) if compiled else loss

    def step(batch: Tensors) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss_of(weights, batch)
        value.backward()
        optimizer.step()
        return value.detach()

    return step
