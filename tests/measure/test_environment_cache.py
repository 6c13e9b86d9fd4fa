"""The cache of environments: what is built, rebuilt, kept and removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stepwatch.errors import EnvironmentFailed, MalformedFile
from stepwatch.measure import accelerators
from stepwatch.measure.environments import EnvironmentStore
from stepwatch.measure.installer import Installed, Sources
from stepwatch.model import Release
from stepwatch.releases.locks import Lock, lock_path

if TYPE_CHECKING:
    from conftest import Tracker

MINI = Release(package="mini", version="1.0", date="2024-01-01")


def _lock(*requirements: str, python: str = f"3.{sys.version_info[1]}") -> str:
    return Lock(
        release="mini/1.0", accelerator="cpu", python=python, platform="any", resolved_as_of="2024-01-01",
        requirements=requirements,
    ).text  # fmt: skip


class Builder:
    """An installer that only makes a file, and counts."""

    def __init__(self, size: int = 1000) -> None:
        self.built: list[str] = []
        self.size = size

    def __call__(self, release: Release, *, venv: Path, **_: object) -> Installed:
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / "python").write_bytes(b"x" * self.size)
        self.built.append(release.name)
        return Installed(python="3.11.7", packages={release.package: release.version}, source="index")


def make_store(
    tmp_path: Path, builder: Builder, *, keep: int = 2, max_bytes: int = 10**9
) -> EnvironmentStore:
    return EnvironmentStore(
        root=tmp_path / "envs", keep=keep, max_bytes=max_bytes, sources=Sources(), installer=builder
    )


def releases(tmp_path: Path, count: int) -> list[tuple[Release, Path]]:
    found = []
    for number in range(count):
        release = Release(package="mini", version=f"1.{number}", date="2024-01-01")
        path = tmp_path / f"{number}.txt"
        path.write_text(_lock(f"mini==1.{number}"))
        found.append((release, path))
    return found


def test_an_environment_is_built_once_and_again_when_its_lock_changes(tmp_path: Path) -> None:
    builder = Builder()
    store = make_store(tmp_path, builder)
    ((release, lock),) = releases(tmp_path, 1)
    store.ensure(release, "cpu", lock).close()
    again = store.ensure(release, "cpu", lock)
    assert again.built_seconds is None
    again.close()
    lock.write_text(_lock("mini==1.0", "zipp==1.0"))
    assert not store.is_built(release, "cpu", lock)
    store.ensure(release, "cpu", lock).close()
    assert len(builder.built) == 2


def test_an_interrupted_build_is_built_anew(tmp_path: Path) -> None:
    builder = Builder()
    store = make_store(tmp_path, builder)
    ((release, lock),) = releases(tmp_path, 1)
    path = store.path_of(release, "cpu")
    path.mkdir(parents=True)
    (path / "half").touch()
    store.ensure(release, "cpu", lock).close()
    assert not (path / "half").exists()


@pytest.mark.parametrize("dangling", [True, False])
def test_an_environment_whose_interpreter_is_gone_is_built_anew(tmp_path: Path, *, dangling: bool) -> None:
    builder = Builder()
    store = make_store(tmp_path, builder)
    ((release, lock),) = releases(tmp_path, 1)
    built = store.ensure(release, "cpu", lock)
    built.close()
    built.python.unlink()
    if dangling:  # as after an upgrade of the Python that it was made with
        built.python.symlink_to(tmp_path / "pythons" / "3.11.6" / "bin" / "python")
    assert not store.is_built(release, "cpu", lock)
    again = store.ensure(release, "cpu", lock)
    again.close()
    assert again.python.is_file()
    assert builder.built == [release.name] * 2


def test_nothing_is_built_for_an_accelerator_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerators, "_DRIVER_SIGNS", ())
    builder = Builder()
    store = make_store(tmp_path, builder)
    ((release, lock),) = releases(tmp_path, 1)
    with pytest.raises(EnvironmentFailed, match=r"mini/1\.0: accelerator failed: cuda12 was asked for, but"):
        store.ensure(release, "cuda12", lock)
    assert builder.built == []
    assert not (tmp_path / "envs").exists()


def test_what_was_used_longest_ago_goes_first_and_never_what_is_in_use(tmp_path: Path) -> None:
    store = make_store(tmp_path, Builder(), keep=2)
    (a, lock_a), (b, lock_b), (c, lock_c), (d, lock_d) = releases(tmp_path, 4)
    in_use = store.ensure(a, "cpu", lock_a)
    in_use.cache_folder("mlp.bench.JaxJit")
    store.ensure(b, "cpu", lock_b).close()
    for age, release in ((300, a), (200, b)):
        stamp = store.path_of(release, "cpu") / "stepwatch-stamp.json"
        os.utime(stamp, (time.time() - age,) * 2)
    store.ensure(c, "cpu", lock_c).close()
    built = [store.is_built(r, "cpu", lock) for r, lock in ((a, lock_a), (b, lock_b), (c, lock_c))]
    assert built == [True, False, True]
    in_use.close()
    store.ensure(d, "cpu", lock_d).close()
    assert not store.path_of(a, "cpu").exists()


def test_disk_is_bounded_too(tmp_path: Path) -> None:
    store = make_store(tmp_path, Builder(size=100_000), keep=10, max_bytes=250_000)
    for release, lock in releases(tmp_path, 4):
        store.ensure(release, "cpu", lock).close()
    assert len(list((tmp_path / "envs" / "cpu").glob("mini-*"))) == 2
    assert not list((tmp_path / "envs" / "cpu").glob(".trash-*"))


def test_two_builders_at_once_build_once(tmp_path: Path) -> None:
    ((_, lock),) = releases(tmp_path, 1)
    script = (
        "import sys, time\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[3])\n"
        "import test_environment_cache as t\n"
        "class Slow(t.Builder):\n"
        "    def __call__(self, release, **k):\n"
        "        time.sleep(0.5); Path(sys.argv[1], f'built-{time.monotonic_ns()}').touch()\n"
        "        return super().__call__(release, **k)\n"
        "store = t.make_store(Path(sys.argv[1]), Slow())\n"
        "store.ensure(t.MINI, 'cpu', Path(sys.argv[2])).close()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path), str(lock), str(Path(__file__).parent)]
    children = [subprocess.Popen(command) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    assert len(list(tmp_path.glob("built-*"))) == 1


def test_no_lock_and_no_python_are_said_and_noted(tmp_path: Path) -> None:
    store = make_store(tmp_path, Builder())
    with pytest.raises(EnvironmentFailed, match=r"lock failed: no lock for cpu \(.*releases sync"):
        store.ensure(MINI, "cpu", tmp_path / "none.txt")
    assert not store.is_built(MINI, "cpu", tmp_path / "none.txt")
    lock = tmp_path / "lock.txt"
    lock.write_text(_lock("mini==1.0", python="3.99"))
    with pytest.raises(EnvironmentFailed, match=r"venv failed: no Python 3\.99"):
        store.ensure(MINI, "cpu", lock)
    (line,) = (tmp_path / "envs" / "tried.jsonl").read_text().splitlines()
    assert json.loads(line)["ok"] is False
    lock.write_text("nonsense")
    with pytest.raises(MalformedFile, match=r"lock\.txt"):
        store.ensure(MINI, "cpu", lock)


def test_builds_that_are_killed_leave_nothing_that_is_in_the_way(tracker: Tracker) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom stepwatch.config import load_config\n"
        "from stepwatch.measure.store import open_store\nfrom stepwatch.model import Release\n"
        "release = Release(package='mini', version='1.0', date='2024-01-01')\n"
        "open_store(load_config(Path.cwd())).ensure(release, 'cpu', Path(sys.argv[1])).close()\n"
    )
    lock = lock_path(tracker.config.locks, "cpu", MINI)
    path = tracker.store().path_of(MINI, "cpu")
    for milliseconds in (0, 20, 60, 120):
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(lock)], cwd=tracker.root, env=tracker.environ()
        )
        while child.poll() is None and not (path / "pyvenv.cfg").exists():
            time.sleep(0.002)
        time.sleep(milliseconds / 1000)
        child.kill()
        child.wait()
        (path / "stepwatch-stamp.json").unlink(missing_ok=True)
    built = tracker.store().ensure(MINI, "cpu", lock)  # at once: an orphan would still be writing
    built.close()
    assert built.built_seconds is not None
    assert built.stamp.packages["mini"] == "1.0"
