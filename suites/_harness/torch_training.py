"""One training step in PyTorch out of a loss: native layouts, fused optimizer, compiled or eager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suites._harness.optimizers import Momentum, Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from suites._harness.data import Array, Arrays, Problem
    from suites._harness.torch_runtime import Tensors, TorchStep

    Loss = Callable[[Any, Tensors, Tensors], torch.Tensor]


def training_step(problem: Problem[Any], loss: Loss, *, device: torch.device, compiled: bool) -> TorchStep:
    """The step, updating its own weights in place; forward, loss and backward are one compiled graph.

    Args:
        problem: weights, frozen weights, buffers and optimizer.
        loss: (spec, weights, batch) -> loss. `weights` holds frozen weights and buffers as well; buffers are
            updated in place.
        device: where everything lies.
        compiled: whether `torch.compile` gets the loss.
    """
    import torch

    weights = leaf_tensors(problem.weights, device)
    compute = getattr(torch, getattr(problem.spec, "compute", "float32"))
    frozen = {name: _native(array, name, device).to(compute) for name, array in problem.frozen.items()}
    buffers = {name: torch.tensor(array, device=device) for name, array in problem.buffers.items()}
    whole = {**frozen, **buffers, **weights}
    optimizer = torch_optimizer(weights, problem.optimizer)

    def objective(weights: Tensors, batch: Tensors) -> torch.Tensor:
        return loss(problem.spec, weights, batch)

    loss_of = torch.compile(objective, fullgraph=True) if compiled else objective

    def step(batch: Tensors) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss_of(whole, batch)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def leaf_tensors(weights: Arrays, device: torch.device) -> Tensors:
    """The weights as trainable tensors on `device`, those named `...kernel` in torch's own layout.

    A matrix is (in, out) in NumPy and becomes (out, in) here, contiguous: that is what
    `torch.nn.functional.linear` takes, and a transposed view would copy its gradient at every step. A
    convolution kernel (..., in, out) becomes (out, in, ...) with channels last.
    """
    return {name: _native(array, name, device).requires_grad_() for name, array in weights.items()}


def _native(array: Array, name: str, device: torch.device) -> torch.Tensor:
    import torch

    if not name.endswith("kernel"):
        return torch.tensor(array, device=device)
    spatial = range(array.ndim - 2)
    turned = torch.tensor(array.transpose(array.ndim - 1, array.ndim - 2, *spatial), device=device)
    layouts = {4: torch.channels_last, 5: torch.channels_last_3d}
    return turned.contiguous(memory_format=layouts.get(array.ndim, torch.contiguous_format))


def torch_optimizer(weights: Tensors, optimizer: Optimizer) -> torch.optim.Optimizer:
    """Torch's own optimizer of these figures: one fused kernel over all weights."""
    import torch

    if isinstance(optimizer, Momentum):
        return torch.optim.SGD(
            weights.values(), lr=optimizer.learning_rate, momentum=optimizer.momentum, fused=True
        )
    kind: Any = torch.optim.AdamW if optimizer.weight_decay else torch.optim.Adam
    return kind(
        weights.values(),
        lr=optimizer.learning_rate,
        betas=(optimizer.beta1, optimizer.beta2),
        eps=optimizer.epsilon,
        weight_decay=optimizer.weight_decay,
        fused=True,
    )
