"""The recommender's training step in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from suites._harness.torch_runtime import Tensors
    from suites.embed.workload import Spec


def loss(_spec: Spec, weights: Tensors, batch: Tensors) -> torch.Tensor:
    """Mean binary cross-entropy of the clicks."""
    import torch
    from torch.nn import functional

    rows = functional.embedding(batch["ids"], weights["table"])  # (batch, tables, width)
    features = torch.cat([rows.flatten(1), batch["dense"]], dim=1)
    hidden = functional.relu(functional.linear(features, weights["hidden.kernel"]))
    score = functional.linear(hidden, weights["out.kernel"])[:, 0]
    return functional.binary_cross_entropy_with_logits(score, batch["clicks"])
