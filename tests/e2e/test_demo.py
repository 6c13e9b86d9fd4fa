"""`stepwatch demo` on the real releases, cut down to one session a side: every file it promises is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from stepwatch.render import render_markdown
from stepwatch.report import decode_report

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
SHORT_DEMO = r"""
from stepwatch.cli import main
from stepwatch.commands import demo

demo.SESSIONS = demo.TWIN_SESSIONS = 1
demo.CORE_SET = (r"probes\.while_scalar\.", r"mlp\.bench\.TorchEager\.")
main(["demo", "--output", "shown"])
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    output: str
    folder: Path


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One demo in a checkout of its own beside this one's environments; what it said, and its folder."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "suites", root / "suites", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "stepwatch.toml", root)
    asv_settings = json.loads((ROOT / "asv.conf.json").read_text())
    asv_settings["env_dir"] = str(ROOT / ".stepwatch" / "envs")
    (root / "asv.conf.json").write_text(json.dumps(asv_settings))
    uv = Path(sys.executable).with_name("uv")
    cache = subprocess.run(
        [str(uv), "cache", "dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    done = subprocess.run(
        [sys.executable, "-c", SHORT_DEMO],
        cwd=root,
        env={**os.environ, "HOME": str(root), "UV_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    (folder,) = (root / "shown").iterdir()
    return Shown(output=done.stdout, folder=folder)


def test_the_report_holds_the_pair_and_validates(shown: Shown) -> None:
    report = json.loads((shown.folder / "report.json").read_text())
    jsonschema.validate(report, json.loads((ROOT / "bot/stepwatch/report.schema.json").read_text()))
    assert (report["baseline"], report["contender"]) == ("jax/0.4.31", "jax/0.4.33")
    rows = {row["benchmark"]: row for row in report["verdicts"]}
    row = rows["probes.while_scalar.JaxJit.track_step_cpu"]
    assert [row[side]["sessions"] for side in ("baseline", "contender")] == [1, 1]
    assert row["outcome"] == "inconclusive"  # whatever it measured: one session a side proves nothing


def test_the_comment_is_the_rendered_report(shown: Shown) -> None:
    comment = (shown.folder / "comment.md").read_text()
    report = decode_report((shown.folder / "report.json").read_bytes(), "report.json")
    assert comment == render_markdown(report)
    assert "while_scalar" in comment


def test_the_site_shows_the_pair_and_the_release_beside_it(shown: Shown) -> None:
    assert (shown.folder / "site" / "index.html").is_file()
    benchmarks = json.loads((shown.folder / "site" / "index.json").read_text())["benchmarks"]
    for benchmark, points in (("probes.while_scalar.JaxJit", 2), ("mlp.bench.TorchEager", 1)):
        name = f"{benchmark}.track_step_cpu"
        assert name in benchmarks
        graphs = (shown.folder / "site" / "graphs").rglob(f"{name}.json")
        assert max(len(json.loads(graph.read_text())) for graph in graphs) == points


def test_each_finished_session_is_in_the_results(shown: Shown) -> None:
    sidecars = list((shown.folder / "results").rglob("sessions/*.jsonl"))
    releases = re.findall(r'"release":"([^"]+)"', "".join(file.read_text() for file in sidecars))
    assert {"jax/0.4.31", "jax/0.4.33", "torch/2.13.0"} <= set(releases)


@pytest.mark.parametrize("name", ["report.json", "comment.md", "site", "results"])
def test_the_output_names_what_it_wrote(shown: Shown, name: str) -> None:
    path = shown.folder / name
    assert path.exists()
    assert re.search(rf"^ *{re.escape(str(path))} ", shown.output, re.MULTILINE), shown.output
