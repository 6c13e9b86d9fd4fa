"""What asv finds in the suite: ids are public, and finding them needs no framework."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asv.benchmark import __file__ as asv_benchmark_script

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "benchmark_ids.txt"
FRAMEWORKS = ("jax", "jaxlib", "torch", "triton", "stepwatch")


@pytest.fixture(scope="module")
def discovered(
    run_python: Callable[..., CompletedProcess[str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    found = tmp_path_factory.mktemp("discovery") / "benchmarks.json"
    done = run_python(asv_benchmark_script, "discover", str(ROOT / "suites"), str(found))
    assert done.returncode == 0, done.stderr
    return {benchmark["name"]: benchmark for benchmark in json.loads(found.read_text())}


def test_benchmark_ids_are_the_golden_list(discovered: dict[str, Any]) -> None:
    """An id is the name of a history: removing or renaming one ends it. Adding one adds a line here."""
    assert sorted(discovered) == GOLDEN.read_text().splitlines()


def test_each_class_runs_its_own_session(discovered: dict[str, Any]) -> None:
    """Asv names a session by file and line of `setup_cache`: classes must not share one."""
    classes_by_key = {}
    for name, benchmark in discovered.items():
        classes_by_key.setdefault(benchmark["setup_cache_key"], set()).add(name.rpartition(".")[0])
    assert all(len(classes) == 1 for classes in classes_by_key.values()), classes_by_key
    assert len(classes_by_key) == 3 * 3 + 3


def test_versions_are_set_by_hand(discovered: dict[str, Any]) -> None:
    """A version out of a hash of the source would cut every history at a cosmetic edit."""
    assert {benchmark["version"] for benchmark in discovered.values()} == {"1", "2"}


def test_each_benchmark_says_what_it_is(discovered: dict[str, Any]) -> None:
    for name, benchmark in discovered.items():
        owner, _, method = name.rpartition(".")
        assert benchmark["metric"] == method.removeprefix("track_")
        assert benchmark["track"] == ("jax" if owner.endswith("JaxJit") else "torch")
        assert benchmark["better"] == "lower"
        assert benchmark["exact"] is (benchmark["metric"] in {"temp_bytes", "recompiles"})
        assert benchmark["unit"] in {"seconds", "bytes", "count", "1"}
        assert benchmark["timeout"] == 900


def test_discovery_imports_no_framework(run_python: Callable[..., CompletedProcess[str]]) -> None:
    script = (
        "import sys; from asv_runner.discovery import disc_benchmarks;"
        f"assert list(disc_benchmarks({str(ROOT / 'suites')!r}));"
        f"print([name for name in {FRAMEWORKS!r} if name in sys.modules])"
    )
    done = run_python("-c", script)
    assert done.stdout.strip() == "[]", done.stderr
