"""The whole chain on two real jax releases: measure, analyse, render, site, and asv's own commands.

jaxlib 0.4.31 -> 0.4.33 changed the CPU runtime; a scalar while loop became tens of times slower. If the chain
cannot find that, nothing else about it matters.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import asv.results
import jsonschema
import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
SPEC = "jax/0.4.31..jax/0.4.33"
MACHINE = "box"
PROBE = "probes.while_scalar.JaxJit.track_step_cpu"


class Tracker:
    """A tracker of its own beside the checkout's cached environments."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT / "suites", root / "suites", ignore=shutil.ignore_patterns("__pycache__"))
        settings = (ROOT / "stepwatch.toml").read_text()
        (root / "stepwatch.toml").write_text(f'machine = "{MACHINE}"\n{settings}')
        asv_settings = json.loads((ROOT / "asv.conf.json").read_text())
        asv_settings["env_dir"] = str(ROOT / ".stepwatch" / "envs")
        (root / "asv.conf.json").write_text(json.dumps(asv_settings))

    def run(self, *command: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `stepwatch ...` or `asv ...` here; an unexpected failure shows what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", command[0], *command[1:]],
            cwd=self.root,
            env={**os.environ, "HOME": str(self.root), "UV_CACHE_DIR": _uv_cache(), **variables},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done

    @property
    def machine(self) -> Path:
        """The machine folder that `stepwatch measure` writes to."""
        return self.root / "results" / MACHINE


def _uv_cache() -> str:
    uv = Path(sys.executable).with_name("uv")
    return subprocess.run(
        [str(uv), "cache", "dir"], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Tracker:
    """Measured once for the module: two releases, one probe and one step, eight sessions a side."""
    tracker = Tracker(tmp_path_factory.mktemp("tracker"))
    tracker.run("stepwatch", "releases", "sync", "--offline", "--no-locks")
    tracker.run(
        "stepwatch",
        "measure",
        SPEC,
        "--sessions",
        "8",
        "--bench",
        "while_scalar|embed.bench.JaxJit",
        "--seed",
        "1",
    )
    tracker.run("stepwatch", "analyse", SPEC)
    return tracker


def test_the_known_regression_is_found_with_its_blame_range(chain: Tracker) -> None:
    report = json.loads((chain.root / "report.json").read_text())
    jsonschema.validate(report, json.loads((ROOT / "bot/stepwatch/report.schema.json").read_text()))
    rows = {row["benchmark"]: row for row in report["verdicts"]}
    row = rows[PROBE]
    assert row["outcome"] == "regressed"
    assert row["ratio"] > 10
    assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
    assert row["ratio_low"] > 5
    assert row["blame_range"] == {"after": "jax/0.4.31", "through": "jax/0.4.33"}
    assert row["sessions"] == 8
    changed = {package["name"]: package for package in row["differences"]["packages"]}
    assert changed["jaxlib"]["baseline"] == "0.4.31"
    assert changed["jaxlib"]["contender"] == "0.4.33"
    assert rows["embed.bench.JaxJit.track_step_cpu"]["outcome"] == "regressed"


def test_fail_on_regressed_is_exit_1(chain: Tracker) -> None:
    done = chain.run("stepwatch", "analyse", SPEC, "--fail-on", "regressed", check=False)
    assert done.returncode == 1


@pytest.mark.parametrize("kind", ["text", "markdown"])
def test_the_report_is_rendered(chain: Tracker, kind: str) -> None:
    shown = chain.run("stepwatch", "render", "report.json", "--to", kind).stdout
    assert "regressed" in shown
    assert "while_scalar" in shown
    assert "jax/0.4.31" in shown


def test_asvs_own_reader_loads_every_result_file(chain: Tracker) -> None:
    files = [path for path in chain.machine.glob("*.json") if path.name != "machine.json"]
    assert len(files) == 2
    for path in files:
        loaded = asv.results.Results.load(str(path), machine_name=chain.machine.name)
        samples = loaded.get_result_samples(PROBE, [])
        assert len(samples[0]) >= 8 * 30


def test_measuring_again_adds_nothing_when_all_is_done(chain: Tracker) -> None:
    sidecar = next((chain.machine / "sessions").glob("*.jsonl"))
    before = sidecar.read_bytes()
    done = chain.run(
        "stepwatch", "measure", SPEC, "--sessions", "8", "--bench", "while_scalar|embed.bench.JaxJit"
    )
    assert sidecar.read_bytes() == before
    assert (
        "nothing to do" in (done.stdout + done.stderr).lower()
        or "complete" in (done.stdout + done.stderr).lower()
    )


def test_the_site_is_built_from_the_same_results(chain: Tracker) -> None:
    done = chain.run("stepwatch", "site")
    assert "index.html" in done.stdout + done.stderr
    index = json.loads((chain.root / "html/index.json").read_text())
    assert PROBE in index["benchmarks"]
    graphs = list((chain.root / "html/graphs").rglob(f"{PROBE}.json"))
    assert any(len(json.loads(graph.read_text())) == 2 for graph in graphs)


def test_plain_asv_publish_works_on_it(chain: Tracker) -> None:
    chain.run("asv", "publish")


def test_asv_continuous_works_by_release_name(chain: Tracker) -> None:
    chain.run("asv", "machine", "--yes", "--machine", "plain")
    done = chain.run(
        "asv",
        "continuous",
        "jax/0.4.31",
        "jax/0.4.33",
        "--machine",
        "plain",
        "--bench",
        re.escape(PROBE),
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "PERFORMANCE DECREASED" in done.stdout, done.stdout
    assert PROBE in done.stdout


def test_asv_find_names_the_release(chain: Tracker) -> None:
    chain.run("asv", "machine", "--yes", "--machine", "plain")
    done = chain.run("asv", "find", "jax/0.4.30..jax/0.4.34", PROBE, "--machine", "plain")
    hashes = subprocess.run(
        ["git", "rev-parse", "jax/0.4.33"],
        cwd=chain.root / ".stepwatch/release-history.git",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"Greatest regression found: {hashes[:8]}" in done.stdout, done.stdout


@pytest.mark.parametrize(("plant", "outcome"), [("", None), ("mlp=1.30", "regressed")])
def test_a_planted_slowdown_is_found_and_none_is_invented(
    chain: Tracker, plant: str, outcome: str | None
) -> None:
    """A coarse one of the runs of docs/reference/self-test.md: 30 %, so that a busy CI machine will do."""
    planted = ["--plant", plant] if plant else []
    chain.run(
        "stepwatch",
        "measure",
        "--a-a",
        "jax/0.4.33",
        "--sessions",
        "8",
        "--bench",
        "mlp.bench.JaxJit",
        *planted,
    )
    chain.run("stepwatch", "analyse", "--a-a", "jax/0.4.33", "--output", "self-test.json", *planted)
    rows = json.loads((chain.root / "self-test.json").read_text())["verdicts"]
    regressed = [row["benchmark"] for row in rows if row["outcome"] == "regressed"]
    assert regressed == (["mlp.bench.JaxJit.track_step_cpu"] if outcome else [])
