"""The workloads are those of the reference: parameter counts and operations per step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from suites.embed.workload import WORKLOAD as EMBED
from suites.gpt.workload import WORKLOAD as GPT
from suites.mlp.workload import WORKLOAD as MLP

if TYPE_CHECKING:
    from suites._harness.data import Workload


@pytest.mark.parametrize(
    ("workload", "parameters", "mega_flops"),
    [(MLP, 399_370, 153), (GPT, 828_544, 1_359), (EMBED, 2_135_040, 84.5)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_cpu_size(workload: Workload[Any], parameters: int, mega_flops: float) -> None:
    problem = workload.problem("cpu-smoke")
    assert problem.parameters == parameters
    assert math.isclose(workload.flops(problem.spec) / 1e6, mega_flops, rel_tol=5e-3)
    assert {array.dtype for array in problem.weights.values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("workload", "tera_flops"), [(MLP, 5.35), (GPT, 28.0)], ids=lambda value: getattr(value, "name", "")
)
def test_gpu_size(workload: Workload[Any], tera_flops: float) -> None:
    assert math.isclose(workload.flops(workload.sizes["gpu"]) / 1e12, tera_flops, rel_tol=5e-3)


@pytest.mark.parametrize("workload", [MLP, GPT, EMBED], ids=lambda workload: workload.name)
def test_batches_take_turns_and_none_repeats(workload: Workload[Any]) -> None:
    problem = workload.problem("cpu-smoke")
    assert len(problem.batches) == problem.spec.rotation >= 32
    digests = {b"".join(array.tobytes() for array in batch.values()) for batch in problem.batches}
    assert len(digests) == len(problem.batches)
