"""Finding an interpreter of one minor version: PATH, pyenv's versions, uv's own; else uv fetches one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.releases.uv import find_uv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROBE = "import sys; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"
_PROBE_SECONDS = 20.0
_FETCH_SECONDS = 600.0


def find_python(version: str, environ: Mapping[str, str], *, fetch: bool = True) -> Path | None:
    """A CPython of minor version `version` (`3.12`), or None when there is none and none can be fetched.

    Every candidate is run before it is believed: a pyenv shim of an inactive version is on PATH and fails.
    """
    for candidate in (*_on_path(version, environ), *_of_pyenv(version, environ)):
        if _is_python(candidate, version):
            return candidate
    found = _ask_uv(
        "python", "find", version, "--managed-python", "--no-python-downloads", seconds=_PROBE_SECONDS
    )
    if found is None and fetch:
        _ask_uv("python", "install", version, "--no-bin", seconds=_FETCH_SECONDS)
        found = _ask_uv(
            "python", "find", version, "--managed-python", "--no-python-downloads", seconds=_PROBE_SECONDS
        )
    return Path(found) if found and _is_python(Path(found), version) else None


def _on_path(version: str, environ: Mapping[str, str]) -> Iterator[Path]:
    for name in (f"python{version}", "python3", "python"):
        for folder in environ.get("PATH", "").split(os.pathsep):
            candidate = Path(folder or os.curdir) / name
            if candidate.is_file():
                yield candidate


def _of_pyenv(version: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Interpreters of pyenv, newest patch first."""
    home = environ.get("HOME") or str(Path.home())
    root = Path(environ.get("PYENV_ROOT") or Path(home) / ".pyenv")
    folders = root.glob(f"versions/{version}.*")
    for folder in sorted(folders, key=_patch, reverse=True):
        yield folder / "bin" / f"python{version}"


def _patch(folder: Path) -> int:
    patch = folder.name.rpartition(".")[2]
    return int(patch) if patch.isdigit() else -1


def _is_python(candidate: Path, version: str) -> bool:
    try:
        done = subprocess.run(
            [candidate, "-I", "-c", _PROBE],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROBE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.split() == [version, "cpython"]


def _ask_uv(*arguments: str, seconds: float) -> str | None:
    """Standard output of uv, or None when it fails."""
    try:
        done = subprocess.run(
            [find_uv(), *arguments, "--no-progress"],
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
