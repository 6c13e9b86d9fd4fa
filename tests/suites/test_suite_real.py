"""The harness with the real frameworks, in the environments of real releases."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from asv.benchmark import __file__ as asv_benchmark_script

from stepwatch.model import SessionRecord

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    Run = Callable[..., CompletedProcess[str]]

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "howto" / "measure-your-own-step.md"

JAX_METRICS = {
    "import",
    "trace_lower",
    "compile_cold",
    "first_step",
    "step_wall",
    "step_cpu",
    "temp_bytes",
    "recompiles",
}


@pytest.fixture(scope="session")
def jax_python(release_python: Callable[[str], str]) -> str:
    return release_python("jax/0.4.33")


@pytest.fixture(scope="session")
def torch_python(release_python: Callable[[str], str]) -> str:
    return release_python("torch/2.13.0")


def session(
    run: Run, python: str, benchmark: str, folder: Path, suite: Path, **variables: str
) -> dict[str, Any]:
    """Run a session as the driver does, and read the asv value of `step_cpu` back as asv does."""
    file = folder / "session.json"
    script = f"import os; os.chdir({str(folder)!r}); from asv_runner"
    metric = f"{benchmark}.track_step_cpu"
    done = run(
        "-c",
        f"{script}.setup_cache import _setup_cache; _setup_cache(({str(suite)!r}, {metric!r}, '{{}}'))",
        python=python,
        path=str(suite.parent),
        STEPWATCH_SESSION_FILE=str(file),
        **variables,
    )
    assert done.returncode == 0, done.stderr
    result = folder / "result.json"
    arguments = (str(suite), metric, "{}", "None", str(result))
    done = run("-c", f"{script}.run import _run; _run({arguments!r})", python=python, path=str(suite.parent))
    assert done.returncode == 0, done.stderr
    record = json.loads(file.read_text())
    assert json.loads(result.read_text()) == {
        "samples": record["metrics"]["step_cpu"]["samples"],
        "number": 1,
    }
    return record


@pytest.fixture(scope="session")
def mlp_session(run_python: Run, jax_python: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The session file of one `mlp.bench.JaxJit` session."""
    folder = tmp_path_factory.mktemp("mlp")
    session(run_python, jax_python, "mlp.bench.JaxJit", folder, ROOT / "suites")
    return (folder / "session.json").read_bytes()


def test_a_jax_session_is_a_session_record(mlp_session: bytes) -> None:
    record = msgspec.json.decode(mlp_session, type=SessionRecord)
    assert set(record.metrics) == JAX_METRICS | {"loss"}
    assert len(record.metrics["step_cpu"].samples) >= 30
    assert record.metrics["recompiles"].samples == [0.0]
    assert (record.versions["jax"], record.parameters) == ("0.4.33", 399_370)
    assert (record.size, record.accelerator, record.device["platform"]) == ("cpu-smoke", "cpu", "cpu")
    assert len(record.settings["affinity"]) == 1
    assert record.settings["matmul_precision"] == "highest"
    assert record.metrics["loss"].samples == [record.losses[-1]]
    assert set(record.fingerprint) == {"stablehlo", "optimized_hlo", "optimized_hlo_lines"}


@pytest.mark.parametrize("probe", ["while_scalar", "scan_small_matrix", "scatter_grad"])
def test_a_probe_has_all_metrics_but_the_loss(
    run_python: Run, jax_python: str, tmp_path: Path, probe: str
) -> None:
    record = session(run_python, jax_python, f"probes.{probe}.JaxJit", tmp_path, ROOT / "suites")
    assert set(record["metrics"]) == JAX_METRICS
    assert record["settings"]["jax_enable_x64"] is (probe == "scan_small_matrix")


def test_compiled_programs_repeat_exactly(
    run_python: Run, jax_python: str, mlp_session: bytes, tmp_path: Path
) -> None:
    """Same release, same program: fingerprint, temporary bytes and losses repeat to the last digit."""
    one = json.loads(mlp_session)
    two = session(run_python, jax_python, "mlp.bench.JaxJit", tmp_path, ROOT / "suites", STEPWATCH_STEPS="30")
    assert one["fingerprint"] == two["fingerprint"]
    assert one["losses"] == two["losses"]
    assert one["metrics"]["temp_bytes"] == two["metrics"]["temp_bytes"]


FENCE = """
import jax
from pathlib import Path
from suites._harness.request import Request
from suites.mlp.bench import JaxJit

runtime = JaxJit().runtime()
runtime.load()
runtime.configure(Request.from_environ({}), Path())
runtime.build(JaxJit.workload.problem("cpu-smoke"))
for _, stage in runtime.stages(warm_cache=False):
    stage()
runtime.step()
waited = []
jax.block_until_ready = waited.extend
runtime.fence()
state, loss = waited
print(state is runtime._state, loss is runtime._losses[-1], *sorted(state), len(runtime._losses))
"""


def test_the_fence_waits_for_state_and_loss_of_the_last_step(run_python: Run, jax_python: str) -> None:
    done = run_python("-c", FENCE, python=jax_python)
    assert done.stdout.split() == ["True", "True", "count", "first", "second", "weights", "2"], done.stderr


COLLAPSE = """
import os, sys
from suites._harness.parity import benchmark_class
from suites._harness.request import Request
from suites._harness.session import first_losses
benchmark = benchmark_class(sys.argv[1], "jax-jit")()
problem = benchmark.workload.problem("cpu-smoke")
losses = first_losses(benchmark.runtime(), problem, Request.from_environ({}), steps=int(sys.argv[2]))
print(losses[0], sum(losses[-10:]) / 10)
"""


@pytest.mark.parametrize(("workload", "steps"), [("mlp", 500), ("embed", 300)])
def test_rotating_batches_keep_the_loss_up(
    run_python: Run, jax_python: str, workload: str, steps: int
) -> None:
    """Longer than a session on a fast machine, and the model has still not memorised its data."""
    done = run_python("-c", COLLAPSE, workload, str(steps), python=jax_python)
    first, last = map(float, done.stdout.split())
    assert 0.6 * first < last < 1.2 * first


@pytest.mark.parametrize(("framework", "benchmark"), [("jax", "JaxJit"), ("torch", "TorchEager")])
def test_no_gpu_is_an_error_not_a_fallback(
    run_python: Run, request: pytest.FixtureRequest, framework: str, benchmark: str
) -> None:
    python = request.getfixturevalue(f"{framework}_python")
    module = "jax_runtime" if framework == "jax" else "torch_runtime"
    script = (
        f"import suites._harness.{module} as m; from suites._harness import machine;"
        "machine.read_state = lambda gpu: {};"  # the GPU's clocks are asked first, and would fail as well
        f"from suites.mlp.bench import {benchmark}; {benchmark}().setup_cache()"
    )
    done = run_python("-c", script, python=python, STEPWATCH_ACCELERATOR="cuda12", STEPWATCH_SIZE="cpu-smoke")
    assert done.returncode == 1
    assert re.search(rf"SessionError: cuda12 was asked for, {framework} finds no gpu", done.stderr), (
        done.stderr
    )


EAGER_IN_DISGUISE = """
from suites._harness.torch_runtime import TorchRuntime
from suites.mlp.bench import TorchEager
from suites._harness.request import Request
from suites._harness.session import first_losses
from suites.mlp.workload import WORKLOAD
build = TorchEager().build
eager = lambda problem, device, compiled: build(problem, device=device, compiled=False)
runtime = TorchRuntime(eager, compiled=True)
first_losses(runtime, WORKLOAD.problem("cpu-smoke"), Request.from_environ({}), steps=2)
"""


def test_compiled_must_be_compiled(run_python: Run, torch_python: str) -> None:
    done = run_python("-c", EAGER_IN_DISGUISE, python=torch_python)
    assert done.returncode == 1
    assert "torch.compile captured no graph" in done.stderr


@pytest.fixture(scope="session")
def own_suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's suite: the harness, and the one file of the how-to page, word for word."""
    suite = tmp_path_factory.mktemp("user") / "suites"
    shutil.copytree(ROOT / "suites" / "_harness", suite / "_harness")
    shutil.copy(ROOT / "suites" / "__init__.py", suite)
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    (suite / "regression.py").write_text(block)
    return suite


def test_the_page_about_your_own_step_works_in_jax(
    run_python: Run, jax_python: str, own_suite: Path, tmp_path: Path
) -> None:
    record = session(run_python, jax_python, "regression.JaxJit", tmp_path, own_suite)
    assert (record["workload"], record["parameters"]) == ("regression", 512)
    assert math.isfinite(record["metrics"]["loss"]["samples"][0])


def test_the_page_works_compiled_by_torch_cold_then_warm(
    run_python: Run, torch_python: str, own_suite: Path, tmp_path: Path
) -> None:
    caches = str(tmp_path / "caches")
    cold, warm = (
        session(
            run_python,
            torch_python,
            "regression.TorchCompile",
            tmp_path,
            own_suite,
            STEPWATCH_CACHE_DIR=caches,
        )
        for _ in range(2)
    )
    assert "compile_warm" not in cold["metrics"]
    assert "compile_cold" not in warm["metrics"]
    assert (cold["settings"]["compile_cache"], warm["settings"]["compile_cache"]) == ("cold", "warm")
    spent = [
        record["metrics"][f"compile_{kind}"]["samples"][0]
        for record, kind in ((cold, "cold"), (warm, "warm"))
    ]
    assert spent[0] > 1.5 * spent[1]
    assert warm["metrics"]["recompiles"]["samples"] == [0.0]


def test_the_page_is_found_by_asv(run_python: Run, own_suite: Path, tmp_path: Path) -> None:
    found = tmp_path / "benchmarks.json"
    done = run_python(
        asv_benchmark_script, "discover", str(own_suite), str(found), path=str(own_suite.parent)
    )
    assert done.returncode == 0, done.stderr
    names = {benchmark["name"] for benchmark in json.loads(found.read_text())}
    assert {f"regression.{kind}.track_step_cpu" for kind in ("JaxJit", "TorchEager", "TorchCompile")} < names
