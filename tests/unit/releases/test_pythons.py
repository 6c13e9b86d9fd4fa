"""Finding interpreters: made-up ones on PATH and below pyenv, and uv's answers."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from stepwatch.releases import pythons
from stepwatch.releases.pythons import find_python

if TYPE_CHECKING:
    from pathlib import Path

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def environ(tmp_path: Path, *folders: Path) -> dict[str, str]:
    return {"PATH": ":".join(map(str, folders)), "HOME": str(tmp_path)}


@pytest.fixture(autouse=True)
def silent_uv(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Uv knows no Python and is asked for nothing real."""
    asked: list[tuple[str, ...]] = []

    def ask(*arguments: str, seconds: float) -> None:
        del seconds
        asked.append(arguments)

    monkeypatch.setattr(pythons, "_ask_uv", ask)
    return asked


def test_the_first_one_on_path_that_runs_is_taken(tmp_path: Path) -> None:
    script(tmp_path / "shims" / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    script(tmp_path / "liar" / "python3.12", "echo 3.11 cpython")
    script(tmp_path / "pypy" / "python3.12", "echo 3.12 pypy")
    wanted = script(tmp_path / "bin" / "python3.12", "echo 3.12 cpython")
    folders = [tmp_path / name for name in ("shims", "liar", "pypy", "nowhere", "bin")]
    assert find_python("3.12", environ(tmp_path, *folders)) == wanted


def test_a_real_interpreter_passes_the_probe(tmp_path: Path) -> None:
    (tmp_path / f"python{OWN}").symlink_to(sys.executable)
    assert find_python(OWN, environ(tmp_path, tmp_path)) == tmp_path / f"python{OWN}"


def test_pyenv_is_asked_after_path_newest_patch_first(tmp_path: Path) -> None:
    versions = tmp_path / ".pyenv" / "versions"
    for patch in ("3.12.1", "3.12.10", "3.12.9", "3.12.x", "3.1.2"):
        script(versions / patch / "bin" / "python3.12", "echo 3.12 cpython")
    assert find_python("3.12", environ(tmp_path)) == versions / "3.12.10" / "bin" / "python3.12"
    elsewhere = environ(tmp_path) | {"PYENV_ROOT": str(tmp_path / "other")}
    assert find_python("3.12", elsewhere, fetch=False) is None


def test_one_that_hangs_or_cannot_be_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "a" / "python3.12", "exec sleep 5")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "python3.12").write_text("no program")
    monkeypatch.setattr(pythons, "_PROBE_SECONDS", 0.2)
    assert find_python("3.12", environ(tmp_path, tmp_path / "a", tmp_path / "b"), fetch=False) is None


def test_uv_fetches_only_when_allowed(tmp_path: Path, silent_uv: list[tuple[str, ...]]) -> None:
    assert find_python("3.12", environ(tmp_path), fetch=False) is None
    assert [arguments[1] for arguments in silent_uv] == ["find"]
    silent_uv.clear()
    assert find_python("3.12", environ(tmp_path)) is None
    assert [arguments[1] for arguments in silent_uv] == ["find", "install", "find"]


def test_what_uv_has_is_checked_like_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = script(tmp_path / "managed", "echo 3.12 cpython")
    monkeypatch.setattr(pythons, "_ask_uv", lambda *_, **__: str(found))
    assert find_python("3.12", environ(tmp_path)) == found
    assert find_python("3.13", environ(tmp_path)) is None


def test_uv_is_really_asked_and_its_silence_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert (pythons._ask_uv("self", "version", "--short", seconds=30.0) or "")[0].isdigit()
    assert pythons._ask_uv("python", "find", "2.0", "--no-python-downloads", seconds=30.0) is None

    def slow(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("uv", 1.0)

    monkeypatch.setattr(subprocess, "run", slow)
    assert pythons._ask_uv("python", "find", "3.12", seconds=1.0) is None
