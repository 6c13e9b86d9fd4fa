"""Installing from a lock: sources, and the reasons of failures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.tags import Tag

from stepwatch.errors import EnvironmentFailed
from stepwatch.measure import installer
from stepwatch.measure.environments import EnvironmentStore
from stepwatch.measure.installer import Installed, Sources, failure_reason, has_wheel, install
from stepwatch.measure.store import open_store
from stepwatch.model import Release
from stepwatch.releases.locks import Lock, lock_path
from stepwatch.releases.tried import read_trials

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tracker

MINI = Release(package="mini", version="1.0", date="2024-01-01")
TORCH = Release(package="torch", version="2.13.0", date="2026-07-08")
TREE = """  \x1b[31m×\x1b[0m No solution found when resolving dependencies:
  ╰─▶ Because there is no version of mini==9 and you require
      mini==9, we can conclude that your requirements are unsatisfiable.

      hint: packages were unavailable because the network was disabled
"""
UNSATISFIABLE = (
    "Because there is no version of mini==9 and you require mini==9, "
    "we can conclude that your requirements are unsatisfiable."
)
CHAIN = """error: Failed to fetch: `the-index/simple/mini/`
  Caused by: error sending request
  Caused by: client error (Connect)
  Caused by: dns error
"""


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (TREE, UNSATISFIABLE),
        (CHAIN, "dns error"),
        ("error: No space left on device (os error 28)\n", "No space left on device (os error 28)"),
        ("warning: x\nsomething odd\n", "something odd"),
        ("", "no reason given"),
    ],
)  # fmt: skip
def test_the_reason_of_a_failure_is_one_useful_line(stderr: str, reason: str) -> None:
    assert failure_reason(stderr) == reason


def test_a_long_reason_is_cut() -> None:
    assert len(failure_reason("error: " + "x" * 1000)) == 300


def test_wheels_in_find_links_are_judged_by_version_and_tag(tmp_path: Path) -> None:
    tags = frozenset({Tag("cp311", "cp311", "manylinux_2_28_x86_64")})
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl").touch()
    (tmp_path / "torch-not-a-wheel.whl").touch()
    links = (str(tmp_path / "missing"), str(tmp_path))
    assert has_wheel("torch", "2.13.0", links, tags)
    assert not has_wheel("torch", "2.12.0", links, tags)
    assert not has_wheel(
        "torch", "2.13.0", links, frozenset({Tag("cp312", "cp312", "manylinux_2_28_x86_64")})
    )


class FakeUv:
    """Records what uv is asked for; fails where told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: set[str]) -> None:
        self.calls: list[list[str]] = []
        self.failing = failing
        monkeypatch.setattr(installer, "_run_uv", self)
        monkeypatch.setattr(installer, "_tags", lambda *_: frozenset({Tag("cp311", "cp311", "linux_x86_64")}))
        monkeypatch.setattr(
            installer, "_probe", lambda *_: Installed(python="3.11.7", packages={}, source=_[-1])
        )

    def __call__(self, arguments: list[str]) -> Any:
        self.calls.append(list(arguments))
        kind = "backend" if "--torch-backend" in arguments else "venv" if arguments[0] == "venv" else "plain"
        failed = kind in self.failing
        return type(
            "Done", (), {"returncode": int(failed), "stderr": "error: unreachable\n" if failed else ""}
        )()


def install_torch(tmp_path: Path, **sources: Any) -> Installed:
    return install(
        TORCH, venv=tmp_path / "venv", interpreter=Path(sys.executable), lock=tmp_path / "lock.txt",
        accelerator="cpu", sources=Sources(**sources),
    )  # fmt: skip


def test_torch_on_a_cpu_comes_from_find_links_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").touch()
    fake = FakeUv(monkeypatch, set())
    assert install_torch(tmp_path, find_links=(str(tmp_path),)).source == "find-links"
    assert not any("--torch-backend" in call for call in fake.calls)
    fake.failing = {"plain"}
    with pytest.raises(EnvironmentFailed, match=r"torch/2\.13\.0: install failed: unreachable"):
        install_torch(tmp_path, find_links=(str(tmp_path),))


def test_torch_on_a_cpu_comes_from_uvs_backend_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeUv(monkeypatch, set())
    assert install_torch(tmp_path, index_url="http://localhost:1/simple").source == "CPU backend"
    assert fake.calls[1][-3:] == ["--torch-backend", "cpu", "--offline"]
    assert "--index-url" in fake.calls[1]


def test_the_cuda_build_on_a_cpu_is_taken_only_when_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeUv(monkeypatch, {"backend"})
    with pytest.raises(EnvironmentFailed, match=r"no CPU build in find-links.*unreachable.*--allow-large"):
        install_torch(tmp_path)
    assert install_torch(tmp_path, allow_large=True).source == "CUDA build"
    fake.failing = {"backend", "plain"}
    with pytest.raises(EnvironmentFailed, match="unreachable"):
        install_torch(tmp_path, allow_large=True)
    fake.failing = {"venv"}
    with pytest.raises(EnvironmentFailed, match="venv failed: unreachable"):
        install_torch(tmp_path)


def lock_of(tracker: Tracker, release: Release = MINI) -> Path:
    return lock_path(tracker.config.locks, "cpu", release)


def test_a_real_environment_is_built_from_find_links_without_a_network(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")
    store = open_store(tracker.config)
    assert store.sources.find_links[-1] == "/nonexistent"
    built = store.ensure(MINI, "cpu", lock_of(tracker))
    assert built.built_seconds is not None
    assert built.stamp.packages["mini"] == "1.0"
    assert built.stamp.source == "index"
    trial = read_trials([tracker.config.environments / "tried.jsonl"])["mini/1.0", "cpu"]
    assert (trial.ok, trial.reason) == (True, "imported mini 1.0 (index)")
    assert store.is_built(MINI, "cpu", lock_of(tracker))
    built.close()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import nothing_here\n", "No module named 'nothing_here'"),
        ("raise SystemExit(3)\n", "no output"),
        ("raise SystemExit(0)\n", "`import mini` ended the process"),
        ("import os\nprint('[]', flush=True)\nos._exit(0)\n", "`import mini` ended the process"),
    ],
)
def test_a_package_that_does_not_import_is_no_environment(
    make_wheel: Callable[..., None], tmp_path: Path, body: str, reason: str
) -> None:
    make_wheel(tmp_path, "mini", "1.0", {"mini.py": body.encode()})
    store = EnvironmentStore(
        root=tmp_path / "envs", keep=2, max_bytes=10**9, sources=Sources(find_links=(str(tmp_path),))
    )
    lock = tmp_path / "lock.txt"
    lock.write_text(_lock("mini==1.0"))
    with pytest.raises(EnvironmentFailed, match=f"import failed: .*{reason}"):
        store.ensure(MINI, "cpu", lock)
    assert not store.path_of(MINI, "cpu").exists()


def _lock(*requirements: str, python: str = f"3.{sys.version_info[1]}") -> str:
    return Lock(
        release="mini/1.0", accelerator="cpu", python=python, platform="any", resolved_as_of="2024-01-01",
        requirements=requirements,
    ).text  # fmt: skip


def test_what_lies_where_an_environment_is_to_be_made_is_in_nobodys_way(
    tmp_path: Path, wheels: tuple[Path, tuple[str, ...]]
) -> None:
    venv = tmp_path / "venv"
    (venv / "lib").mkdir(parents=True)  # an orphan of a killed build was still writing
    (venv / "pyvenv.cfg").touch()
    lock = tmp_path / "lock.txt"
    lock.write_text(_lock("mini==1.0"))
    installed = install(
        MINI, venv=venv, interpreter=Path(sys.executable), lock=lock, accelerator="cpu",
        sources=Sources(find_links=(str(wheels[0]),)),
    )  # fmt: skip
    assert installed.packages["mini"] == "1.0"


def test_what_hangs_while_installing_or_importing_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(command: list[object], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(installer.subprocess, "run", hang)
    with pytest.raises(EnvironmentFailed, match="venv failed: no end after 1800 s"):
        install_torch(tmp_path)
    with pytest.raises(EnvironmentFailed, match="`import torch` did not end within 300 s"):
        installer._probe(TORCH, tmp_path, "index")


def test_an_interpreter_that_does_not_run_is_named() -> None:
    with pytest.raises(EnvironmentFailed, match="false does not run"):
        installer._tags(TORCH, Path("/bin/false"))
    major, minor = sys.version_info[:2]
    assert Tag(f"cp{major}{minor}", f"cp{major}{minor}", "linux_x86_64") in installer._tags(
        TORCH, Path(sys.executable)
    )


def test_a_lock_that_installs_another_version_is_refused(
    make_wheel: Callable[..., None], tmp_path: Path
) -> None:
    make_wheel(tmp_path, "mini", "2.0", {"mini.py": b""})
    store = EnvironmentStore(
        root=tmp_path / "envs", keep=2, max_bytes=10**9, sources=Sources(find_links=(str(tmp_path),))
    )
    lock = tmp_path / "lock.txt"
    lock.write_text(_lock("mini==2.0"))
    with pytest.raises(EnvironmentFailed, match=r"the lock installed 2\.0, not 1\.0"):
        store.ensure(MINI, "cpu", lock)
