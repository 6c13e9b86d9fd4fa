"""A framework that is not installed is skipped; one that is broken fails."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from asv.benchmark import __file__ as asv_benchmark_script

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    Run = Callable[..., CompletedProcess[str]]

SUITE = Path(__file__).resolve().parents[2] / "suites"


@pytest.mark.parametrize(
    ("benchmark", "framework"),
    [
        ("mlp.bench.JaxJit", "jax"),
        ("probes.while_scalar.JaxJit", "jax"),
        ("gpt.bench.TorchEager", "torch"),
        ("embed.bench.TorchCompile", "torch"),
    ],
)
def test_absent_is_skipped_in_the_record_and_nan_in_asv(
    run_python: Run, tmp_path: Path, benchmark: str, framework: str
) -> None:
    session, result = tmp_path / "session.json", tmp_path / "result.json"
    metric = f"{benchmark}.track_step_cpu"
    script = (
        f"import os; os.chdir({str(tmp_path)!r});"
        "from asv_runner.setup_cache import _setup_cache; from asv_runner.run import _run;"
        f"_setup_cache(({str(SUITE)!r}, {metric!r}, '{{}}'));"
        f"_run(({str(SUITE)!r}, {metric!r}, '{{}}', 'None', {str(result)!r}))"
    )
    done = run_python("-c", script, STEPWATCH_SESSION_FILE=str(session))
    assert done.returncode == 0, done.stderr
    expected = {"schema": 1, "benchmark": benchmark, "skipped": f"{framework} is not installed"}
    assert json.loads(session.read_text()) == expected
    assert math.isnan(json.loads(result.read_text()))


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import jaxlib_that_is_missing", "ModuleNotFoundError: No module named 'jaxlib_that_is_missing'"),
        ("raise ImportError('libcuda.so: cannot open shared object file')", "ImportError: libcuda.so"),
        ("raise RuntimeError('jaxlib is older than jax')", "RuntimeError: jaxlib is older than jax"),
    ],
)
def test_a_broken_framework_fails(run_python: Run, tmp_path: Path, source: str, error: str) -> None:
    package = tmp_path / "site" / "jax"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    session = tmp_path / "session.json"
    script = "from suites.mlp.bench import JaxJit; JaxJit().setup_cache()"
    done = run_python("-c", script, path=str(package.parent), STEPWATCH_SESSION_FILE=str(session))
    assert done.returncode == 1
    assert error in done.stderr
    assert not session.exists()


def test_a_fault_in_the_request_is_one_clear_line(run_python: Run) -> None:
    done = run_python(
        asv_benchmark_script,
        "setup_cache",
        str(SUITE),
        "mlp.bench.JaxJit.track_step_cpu",
        "{}",
        STEPWATCH_STEPS="many",
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("SessionError: STEPWATCH_STEPS=many: a whole number of at least 1 is needed")
