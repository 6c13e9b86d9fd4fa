"""The figures of the suite's optimizers; `jax_training.py` and `torch_training.py` do the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Adam:
    """Adam, bias-corrected, epsilon outside the root (Kingma and Ba 2015, algorithm 1).

    w -= learning_rate * (first / (1 - beta1^t)) / (sqrt(second / (1 - beta2^t)) + epsilon), after
    w -= learning_rate * weight_decay * w (Loshchilov and Hutter 2019): with a decay it is AdamW.
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    weight_decay: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Momentum:
    """Stochastic gradient descent with heavy-ball momentum.

    velocity = momentum * velocity + gradient; w -= learning_rate * velocity.
    """

    learning_rate: float = 0.01
    momentum: float = 0.9


Optimizer: TypeAlias = Adam | Momentum
ADAM = Adam()
ADAM_W = Adam(weight_decay=0.1)
