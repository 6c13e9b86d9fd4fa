"""`stepwatch compare` on two commits of a real repository: the second one makes a real JAX step slower."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
STEP = "probes.while_scalar.JaxJit.track_step_cpu"
CONFIGURATION = """
machine = "box"
[compare]
lock = "suites/locks/{accelerator}/jax-0.4.33.txt"
budget = "3m"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    root: Path
    report: dict[str, Any]
    code: int
    output: str


def run(root: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=root,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def commit(root: Path, tag: str) -> None:
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@localhost")
    for arguments in (("add", "-A"), ("commit", "-q", "-m", tag), ("tag", tag)):
        done = run(root, "git", *identity, *arguments, GIT_CONFIG_GLOBAL=os.devnull)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """A repository with the suites in it, a commit that walks its loop twice, and the two compared."""
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(ROOT / "suites", root / "suites", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "stepwatch.toml").write_text(CONFIGURATION)
    settings = json.loads((ROOT / "asv.conf.json").read_text())
    settings["env_dir"] = str(ROOT / ".stepwatch" / "envs")
    (root / "asv.conf.json").write_text(json.dumps(settings))
    (root / ".gitignore").write_text("/.stepwatch\n/results\n/report.json\n__pycache__/\n")
    run(root, "git", "init", "-q", "-b", "main")
    commit(root, "before")
    probe = root / "suites" / "probes" / "while_scalar.py"
    text = probe.read_text().replace("carry[0] < values.size", "carry[0] < 2 * values.size")
    probe.write_text(text.replace("values[index])", "values[index // 2])"))
    commit(root, "after")
    uv = Path(sys.executable).with_name("uv")
    cache = run(root, str(uv), "cache", "dir").stdout.strip()
    arguments = (
        "before",
        "after",
        "--bench",
        "while_scalar",
        "--metric",
        "step_cpu",
        "--fail-on",
        "regressed",
    )
    done = run(
        root, sys.executable, "-m", "stepwatch", "compare", *arguments, HOME=str(root), UV_CACHE_DIR=cache
    )
    assert (root / "report.json").is_file(), done.stderr[-4000:]
    return Compared(
        root=root,
        report=json.loads((root / "report.json").read_text()),
        code=done.returncode,
        output=done.stderr,
    )


def test_the_slower_step_is_found_and_confirmed_and_fails_the_build(compared: Compared) -> None:
    jsonschema.validate(compared.report, json.loads((ROOT / "bot/stepwatch/report.schema.json").read_text()))
    (row,) = compared.report["verdicts"]
    assert (row["benchmark"], row["outcome"]) == (STEP, "regressed"), compared.output
    assert 1.5 < row["ratio"] < 3
    assert row["confirmation"]["outcome"] == "confirmed"
    assert compared.code == 1


def test_each_side_is_the_commit_with_its_own_suite_and_the_checkout_is_untouched(compared: Compared) -> None:
    hashes = [run(compared.root, "git", "rev-parse", tag).stdout.strip() for tag in ("before", "after")]
    sides = [compared.report["baseline"], compared.report["contender"]]
    assert sides == [f"commit/{found[:12]}" for found in hashes]
    assert run(compared.root, "git", "status", "--porcelain").stdout == ""
    machine = compared.root / "results" / "box"
    assert [path.name for path in machine.glob("*.json")] == ["machine.json"], "asv's rows belong to releases"
