"""A whole tracker in a temporary folder: releases of a tiny library, locks, history, suite; no network.

The library `mini` has the versions 1.0, 1.5 and 2.0; 1.5 cannot be installed. All wheels lie in a find-links
folder: those of `mini` are made here, asv_runner and what it needs are packed again from this environment.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stepwatch.commands.campaigns import Request, prepare
from stepwatch.config import load_config
from stepwatch.history.sidecar import Sidecar, read_sidecar
from stepwatch.measure.driver import run_campaign
from stepwatch.measure.store import open_store
from stepwatch.model import Release
from stepwatch.releases.history_repo import ensure_history
from stepwatch.releases.locks import Lock
from stepwatch.releases.table import append_releases, load_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stepwatch.config import Config
    from stepwatch.measure.environments import EnvironmentStore
    from stepwatch.measure.events import Event
    from stepwatch.measure.job import Job, Summary

SUITE = Path(__file__).resolve().parents[1] / "data" / "mini_suite"
PYTHON = ".".join(platform.python_version_tuple()[:2])
RUNNER = ("asv_runner", "importlib_metadata", "zipp")
VERSIONS = ("1.0", "1.5", "2.0")


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, bytes]) -> None:
    """A pure-Python wheel of `files`."""
    info = f"{name}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for path, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow((path, f"sha256={digest}", len(data)))
    rows.writerow((f"{info}/RECORD", "", ""))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, data in content.items():
            wheel.writestr(path, data)
        wheel.writestr(f"{info}/RECORD", record.getvalue())


def repack(folder: Path, name: str) -> str:
    """A wheel of an installed distribution, without its requirements; returns its pin."""
    distribution = importlib.metadata.distribution(name)
    files = {
        str(path): Path(str(distribution.locate_file(path))).read_bytes()
        for path in distribution.files or ()
        if path.suffix in (".py", ".json")
        and ".." not in path.parts
        and not path.parts[0].endswith(".dist-info")
    }
    write_wheel(folder, name, distribution.version, files)
    return f"{name.replace('_', '-')}=={distribution.version}"


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    """A find-links folder, and the pins that a session needs beside the library."""
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("1.0", "2.0"):
        write_wheel(folder, "mini", version, {"mini.py": f'__version__ = "{version}"\n'.encode()})
    return folder, tuple(repack(folder, name) for name in RUNNER)


@pytest.fixture
def make_wheel() -> Callable[..., None]:
    """`write_wheel`, for a test that needs another library."""
    return write_wheel


@dataclass(frozen=True)
class Tracker:
    """A tracker on disk."""

    root: Path

    @property
    def config(self) -> Config:
        return load_config(self.root)

    def control(self, benchmarks: Mapping[str, Mapping[str, object]]) -> None:
        """What sessions do, by benchmark (`spin.bench.Mini`), or on one release (`spin.bench.Mini@2.0`)."""
        (self.root / "mini_suite" / "control.json").write_text(json.dumps(benchmarks))

    def store(self) -> EnvironmentStore:
        return open_store(self.config)

    def job(self, spec: str | None = "mini/1.0..mini/2.0", **wanted: Any) -> Job:
        request = Request(
            spec=spec, machine="m", **{"sessions": 2, "patterns": ("spin",), "seed": 1, **wanted}
        )
        return prepare(self.config, request, self.store())

    def campaign(self, spec: str | None = "mini/1.0..mini/2.0", **wanted: Any) -> tuple[Summary, list[Event]]:
        """Run a campaign in this process; how it ended, and what was told on the way."""
        events: list[Event] = []
        return run_campaign(self.job(spec, **wanted), store=self.store(), progress=events.append), events

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", *arguments]

    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("STEPWATCH")}
        return {
            **kept,
            "HOME": str(self.root),
            "UV_CACHE_DIR": str(self.root.parent / "uv-cache"),
            "UV_OFFLINE": "1",
        }

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """`stepwatch ...` or `asv ...` in the tracker, with the exit code that is expected."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.root, env=self.environ(), capture_output=True, text=True,
            check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, (
            f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def measure(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run("stepwatch", "measure", *arguments, "--machine", "m", code=code)

    def sidecar(self, name: str = "mini-1.0..mini-2.0") -> Sidecar:
        return read_sidecar(self.root / "results" / "m" / "sessions" / f"{name}.jsonl")

    def results(self) -> list[Path]:
        folder = self.root / "results" / "m"
        return sorted(path for path in folder.glob("*.json") if path.name != "machine.json")


def make_tracker(root: Path, wheels: tuple[Path, tuple[str, ...]]) -> Tracker:
    """Everything but environments and results."""
    links, pins = wheels
    shutil.copytree(SUITE, root / "mini_suite", ignore=shutil.ignore_patterns("__pycache__", "control.json"))
    settings = {
        "version": 1, "project": "mini", "repo": ".stepwatch/history.git", "dvcs": "git",
        "branches": ["mini"], "environment_type": "release", "pythons": ["locked"],
        "plugins": [".stepwatch.measure.asv_environment"],
        "benchmark_dir": "mini_suite", "env_dir": "envs", "results_dir": "results", "html_dir": "html",
        "build_command": [], "install_command": [], "uninstall_command": [],
    }  # fmt: skip
    (root / "asv.conf.json").write_text(json.dumps(settings))
    (root / "stepwatch.toml").write_text(
        f"[index]\nfind_links = ['{links}']\n[tracks.mini]\npython = ['{PYTHON}']\n"
    )
    releases = [
        Release(package="mini", version=v, date=f"2024-0{n}-01") for n, v in enumerate(VERSIONS, start=1)
    ]
    config = load_config(root)
    append_releases(config.releases, "mini", releases)
    for release in releases:
        lock = Lock(
            release=release.name, accelerator="cpu", python=PYTHON, platform="any",
            resolved_as_of=release.date,
            requirements=(*pins, f"mini=={release.version}"),
        )  # fmt: skip
        path = config.locks / "cpu" / f"mini-{release.version}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lock.text)
    ensure_history(
        config.history_repo, load_tables(config.releases, [track.package for track in config.tracks])
    )
    return Tracker(root)


@pytest.fixture(scope="session")
def built_environments(
    tmp_path_factory: pytest.TempPathFactory, wheels: tuple[Path, tuple[str, ...]]
) -> Path:
    """Environments of both releases, built once; a tracker uses them through a symbolic link."""
    tracker = make_tracker(tmp_path_factory.mktemp("built") / "tracker", wheels)
    tracker.measure("mini/1.0..mini/2.0", "--sessions", "1", "--bench", "spin")
    return tracker.root / "envs"


@pytest.fixture
def tracker(tmp_path: Path, wheels: tuple[Path, tuple[str, ...]]) -> Tracker:
    """A tracker without environments."""
    return make_tracker(tmp_path / "tracker", wheels)


@pytest.fixture
def ready_tracker(tracker: Tracker, built_environments: Path) -> Tracker:
    """A tracker whose environments are there."""
    (tracker.root / "envs").symlink_to(built_environments)
    return tracker
