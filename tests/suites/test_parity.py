"""JAX and PyTorch train the same model: without this, their ratio means nothing.

Same initial weights and batches out of NumPy; equal parameter counts; the first five losses agree.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    Run = Callable[..., CompletedProcess[str]]

pytestmark = pytest.mark.parity

WORKLOADS = ("gpt", "embed", "mlp")
RELEASES = {"jax-jit": "jax/0.4.33", "torch-eager": "torch/2.13.0", "torch-compile": "torch/2.13.0"}
RELATIVE_TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def found(
    run_python: Run, release_python: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], dict[str, Any]]:
    """What `parity` prints for every workload x variant, two processes at a time.

    Inductor's cache is shared: what it compiles to learn about the compiler is compiled once.
    """
    pythons = {variant: release_python(release) for variant, release in RELEASES.items()}
    caches = str(tmp_path_factory.mktemp("caches"))
    jobs = [(workload, variant) for variant in reversed(RELEASES) for workload in WORKLOADS]

    def run(job: tuple[str, str]) -> dict[str, Any]:
        arguments = ("-m", "suites._harness.parity", *job)
        done = run_python(*arguments, python=pythons[job[1]], STEPWATCH_CACHE_DIR=caches)
        assert done.returncode == 0, f"{job}\n{done.stderr}"
        return json.loads(done.stdout)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(jobs, pool.map(run, jobs), strict=True))


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("variant", ["torch-eager", "torch-compile"])
def test_same_model_same_losses(
    found: dict[tuple[str, str], dict[str, Any]], workload: str, variant: str
) -> None:
    jax, torch = found[workload, "jax-jit"], found[workload, variant]
    assert jax["parameters"] == torch["parameters"]
    assert len(jax["losses"]) == len(torch["losses"]) == 5
    np.testing.assert_allclose(torch["losses"], jax["losses"], rtol=RELATIVE_TOLERANCE, atol=0)


OTHER_OPTIMIZER = """
import dataclasses
from suites._harness import parity
benchmark = parity.benchmark_class({workload!r}, "jax-jit")
optimizer = dataclasses.replace(benchmark.workload.optimizer, beta2=0.96)
benchmark.workload = dataclasses.replace(benchmark.workload, optimizer=optimizer)
parity.main([{workload!r}, "jax-jit"])
"""


@pytest.mark.parametrize("workload", WORKLOADS)
def test_parity_sees_another_optimizer(
    found: dict[tuple[str, str], dict[str, Any]],
    run_python: Run,
    release_python: Callable[[str], str],
    workload: str,
) -> None:
    """The tolerance is tight enough to notice beta2 = 0.96 instead of 0.95 within five steps."""
    script = OTHER_OPTIMIZER.format(workload=workload)
    done = run_python("-c", script, python=release_python(RELEASES["jax-jit"]))
    assert done.returncode == 0, done.stderr
    other = np.array(json.loads(done.stdout)["losses"])
    ours = np.array(found[workload, "jax-jit"]["losses"])
    assert np.max(np.abs(other / ours - 1)) > RELATIVE_TOLERANCE


def test_an_unknown_variant_names_the_known_ones(run_python: Run) -> None:
    done = run_python("-m", "suites._harness.parity", "probes.while_scalar", "torch-eager")
    assert done.returncode == 1
    assert done.stderr.strip() == "probes.while_scalar has no variant 'torch-eager': it has jax-jit"
