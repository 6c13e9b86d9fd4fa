"""What a suite offers, and what a pattern selects of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stepwatch.errors import MalformedFile, UnknownBenchmark
from stepwatch.measure import suite as suite_module
from stepwatch.measure.suite import Benchmark, Suite, closest_benchmarks, discover, save_benchmarks


def benchmark(name: str, **described: Any) -> Benchmark:
    return Benchmark(
        name=name, description={"name": name, "setup_cache_key": "a:1", "params": [], **described}
    )


SUITE = Suite(
    folder=Path("suites"),
    benchmarks=(
        benchmark("mlp.bench.JaxJit.track_step_cpu", track="jax", timeout=900),
        benchmark("mlp.bench.JaxJit.track_loss", track="jax", setup_cache_timeout=1200),
        benchmark("mlp.bench.TorchEager.track_step_cpu"),
        benchmark("other.Timing.time_sort"),
        benchmark("other.Light.track_size", setup_cache_key=None),
        benchmark("other.Wide.track_size", params=[["1", "2"]]),
    ),
)


def test_groups_are_the_classes_whose_sessions_can_be_driven() -> None:
    groups = SUITE.groups()
    assert list(groups) == ["mlp.bench.JaxJit", "mlp.bench.TorchEager"]
    jax = groups["mlp.bench.JaxJit"]
    assert [b.metric for b in jax.benchmarks] == ["loss", "step_cpu"]
    assert jax.timeout_seconds == 1200
    assert groups["mlp.bench.TorchEager"].track == "torch"
    assert groups["mlp.bench.TorchEager"].timeout_seconds == 900
    assert benchmark("x.Other.track_a").track == ""


def test_a_pattern_selects_whole_groups_of_the_tracks_measured() -> None:
    assert list(SUITE.select((), ["jax"])) == ["mlp.bench.JaxJit"]
    assert list(SUITE.select(("loss",), ["jax", "torch"])) == ["mlp.bench.JaxJit"]
    assert list(SUITE.select(("Torch", "Jax"), ["jax", "torch"])) == [
        "mlp.bench.JaxJit",
        "mlp.bench.TorchEager",
    ]
    assert SUITE.select((), ["haiku"]) == {}


@pytest.mark.parametrize(
    ("pattern", "closest"),
    [
        ("JaxJt", "mlp.bench.JaxJit"),
        ("mlp.bench.JaxJit.track_stepcpu", "track_step_cpu"),
        ("zzzz", "mlp.bench"),
    ],
)
def test_a_pattern_that_selects_nothing_names_the_closest(pattern: str, closest: str) -> None:
    with pytest.raises(UnknownBenchmark, match=f"no benchmark matches '{pattern}'; closest: .*{closest}"):
        SUITE.select((pattern,), ["jax"])


def test_a_track_without_benchmarks_says_so() -> None:
    with pytest.raises(UnknownBenchmark, match="the suite has no benchmark"):
        SUITE.select(("x",), ["haiku"])
    assert closest_benchmarks("x", []) == []


def test_benchmarks_json_is_written_as_asv_writes_it_and_only_when_it_changed(tmp_path: Path) -> None:
    save_benchmarks(SUITE, tmp_path)
    path = tmp_path / "benchmarks.json"
    stored = json.loads(path.read_text())
    assert stored.pop("version") == 2
    assert stored["mlp.bench.JaxJit.track_loss"]["setup_cache_timeout"] == 1200
    before = path.stat().st_ino
    save_benchmarks(SUITE, tmp_path)
    assert path.stat().st_ino == before


def test_a_damaged_benchmarks_json_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    path.write_bytes(b'{"a": "\xff\xfe"}')
    save_benchmarks(SUITE, tmp_path)
    assert json.loads(path.read_bytes())["version"] == 2


@pytest.mark.parametrize("body", ["import sys\nsys.exit(0)\n", "import os\nos._exit(0)\n"])
def test_a_suite_that_ends_the_process_well_has_no_benchmarks_either(tmp_path: Path, body: str) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "__init__.py").write_text(body)
    with pytest.raises(
        MalformedFile, match="importing it ended the process before its benchmarks were listed"
    ):
        discover(folder, [Path(sys.executable)])


def test_a_suite_that_hangs_or_dies_silently_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "__init__.py").write_text("import os\nos._exit(4)\n")
    with pytest.raises(MalformedFile, match="cannot be imported: exit status 4"):
        discover(folder, [Path(sys.executable)])
    with pytest.raises(MalformedFile, match="no Python to import it with"):
        discover(folder, [])

    def hang(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 300)

    monkeypatch.setattr(suite_module.subprocess, "run", hang)
    with pytest.raises(MalformedFile, match="did not end within 300 s"):
        discover(folder, [Path(sys.executable)])
