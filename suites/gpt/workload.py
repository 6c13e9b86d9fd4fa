"""The transformer: sizes, NumPy weights and batches, cost.

Pre-norm blocks as in GPT-2, without any bias; tanh GELU; learned positions; the head is the token table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suites._harness.data import Arrays, Generator, Initialiser, Workload, kernel, normal

NORM_EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """The figures of one size."""

    batch: int
    tokens: int
    """Sequence length."""
    vocabulary: int
    layers: int
    width: int
    heads: int
    compute: str
    """Type of the matrix products, `float32` or `bfloat16`; weights, norms and loss stay float32."""
    fused_attention: bool
    """JAX: attention by cuDNN's fused kernel instead of plain XLA (torch chooses by itself)."""
    rotation: int


def _weights(spec: Spec, generator: Initialiser) -> Arrays:
    width = spec.width
    weights: Arrays = {
        "tokens": normal(generator, spec.vocabulary, width, scale=0.02),
        "positions": normal(generator, spec.tokens, width, scale=0.02),
        "norm": np.ones(width, np.float32),
    }
    for layer in range(spec.layers):
        weights |= {
            f"{layer}.attention.norm": np.ones(width, np.float32),
            f"{layer}.attention.qkv.kernel": kernel(generator, width, 3 * width),
            f"{layer}.attention.out.kernel": kernel(generator, width, width),
            f"{layer}.feedforward.norm": np.ones(width, np.float32),
            f"{layer}.feedforward.in.kernel": kernel(generator, width, 4 * width),
            f"{layer}.feedforward.out.kernel": kernel(generator, 4 * width, width),
        }
    return weights


def _batch(spec: Spec, generator: Generator) -> Arrays:
    """Random text; the target of each token is the next one."""
    text = generator.integers(0, spec.vocabulary, (spec.batch, spec.tokens + 1)).astype(np.int32)
    return {"inputs": text[:, :-1].copy(), "targets": text[:, 1:].copy()}


def _flops(spec: Spec) -> float:
    """(6 N + 12 L d T) B T, N counting the matrices and the head (Chowdhery et al. 2022, appendix B).

    The attention term counts the full square for both frameworks, though causal halves it.
    """
    matrices = spec.layers * 12 * spec.width**2 + spec.vocabulary * spec.width
    attention = 12 * spec.layers * spec.width * spec.tokens
    return float((6 * matrices + attention) * spec.batch * spec.tokens)


WORKLOAD = Workload(
    name="gpt",
    sizes={
        "cpu-smoke": Spec(
            batch=4,
            tokens=64,
            vocabulary=256,
            layers=4,
            width=128,
            heads=4,
            compute="float32",
            fused_attention=False,
            rotation=32,
        ),
        "gpu": Spec(
            batch=32,
            tokens=1024,
            vocabulary=50_304,
            layers=12,
            width=768,
            heads=12,
            compute="bfloat16",
            fused_attention=True,
            rotation=64,
        ),
    },
    weights=_weights,
    batch=_batch,
    flops=_flops,
    items=lambda spec: spec.batch * spec.tokens,
    item="tokens",
    differences=(
        "attention: in JAX plain XLA at size cpu-smoke and cuDNN's kernel at size gpu; torch picks its own",
    ),
)
