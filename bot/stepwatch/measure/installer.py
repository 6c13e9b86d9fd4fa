"""Installing a release into a fresh virtual environment, exactly as its lock says, with uv.

The builds of torch for a CPU are not on the package index, so torch on a CPU has three sources, tried in
order: the configured find-links, uv's CPU backend, and the CUDA build of the index (several GB, only when
large downloads are allowed). Which one was used is part of the answer.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.tags import cpython_tags, platform_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from stepwatch.errors import EnvironmentFailed, StorageFailed
from stepwatch.measure.children import die_with_parent, run_tool
from stepwatch.releases.uv import find_uv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from packaging.tags import Tag

    from stepwatch.model import Release

INSTALL_TIMEOUT_SECONDS = 1800.0
_IMPORT_TIMEOUT_SECONDS = 300.0
_REASON_CHARACTERS = 300
_NO_NETWORK = re.compile(
    "lookup address|dns error|network is unreachable|client error \\(Connect\\)", re.IGNORECASE
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PROBE = """
import importlib, importlib.metadata, json, platform, sys
module = importlib.import_module(sys.argv[1])
packages = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
print(json.dumps({"python": platform.python_version(), "version": getattr(module, "__version__", None),
                  "packages": packages}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What an environment really holds."""

    python: str
    """Full version of the interpreter."""
    packages: dict[str, str]
    source: str
    """Where the release came from: `index`, `find-links`, `CPU backend`, `CUDA build`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where packages may come from."""

    find_links: tuple[str, ...] = ()
    """Folders or pages with wheels (uv does not read pip's `PIP_FIND_LINKS` itself)."""
    index_url: str | None = None
    """None: uv's own default."""
    allow_large: bool = False


def install(  # noqa: PLR0913  each is one fact of a build, named at the call
    release: Release, *, venv: Path, interpreter: Path, lock: Path, accelerator: str, sources: Sources
) -> Installed:
    """Make `venv`, install the lock into it, import the package, and say what is there.

    Raises:
        EnvironmentFailed: stage `venv`, `install` or `import`, with one line that says why.
        StorageFailed: no space left; that is no fault of the release.
    """
    made = _run_uv(["venv", "--quiet", "--clear", "--no-project", "--python", str(interpreter), str(venv)])
    if made.returncode:
        raise EnvironmentFailed(release.name, "venv", failure_reason(made.stderr))
    common = ["pip", "install", "--quiet", "--python", str(venv / "bin" / "python"), "-r", str(lock)]
    # pip only warns of a find-links folder that is not there; uv would fail.
    links = [link for link in sources.find_links if "://" in link or Path(link).exists()]
    common += [part for link in links for part in ("--find-links", link)]
    common += ["--index-url", sources.index_url] if sources.index_url else []
    if release.package == "torch" and accelerator == "cpu":
        source = _install_torch_cpu(release, common, interpreter, sources)
    else:
        source = "index"
        failed = _pip_install(common)
        if failed:
            raise EnvironmentFailed(release.name, "install", failed)
    return _probe(release, venv, source)


def _install_torch_cpu(release: Release, common: Sequence[str], interpreter: Path, sources: Sources) -> str:
    if has_wheel(release.package, release.version, sources.find_links, _tags(release, interpreter)):
        failed = _pip_install(common)
        if failed:
            raise EnvironmentFailed(release.name, "install", failed)
        return "find-links"
    unreachable = _pip_install([*common, "--torch-backend", "cpu"])
    if not unreachable:
        return "CPU backend"
    if not sources.allow_large:
        raise EnvironmentFailed(
            release.name,
            "install",
            f"no CPU build in find-links, and uv's CPU backend says: {unreachable}; "
            "`--allow-large` installs the CUDA build instead (several GB)",
        )
    failed = _pip_install(common)
    if failed:
        raise EnvironmentFailed(release.name, "install", failed)
    return "CUDA build"


def _pip_install(arguments: Sequence[str]) -> str:
    """Install from uv's cache alone if it suffices, else with the network; the reason of a failure or "".

    Every requirement is pinned, so the cache cannot give another version, and a warm cache needs no network.
    """
    if _run_uv([*arguments, "--offline"]).returncode == 0:
        return ""
    done = _run_uv(arguments)
    if done.returncode and os.strerror(errno.ENOSPC) in done.stderr:
        raise StorageFailed("environments", f"no space left while installing: {failure_reason(done.stderr)}")
    if not done.returncode:
        return ""
    reason = failure_reason(done.stderr)
    if _NO_NETWORK.search(done.stderr):
        reason += "; what is not in uv's cache needs the network: once it is back, run the same command again"
    return reason


def _run_uv(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [find_uv(), *arguments]
    try:
        return run_tool(
            command, environment=clean_environment(os.environ), timeout_seconds=INSTALL_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        reason = f"error: no end after {INSTALL_TIMEOUT_SECONDS:.0f} s"
        return subprocess.CompletedProcess(command, 1, "", reason)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would tie a child to the Python that runs stepwatch."""
    tied = ("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT")
    return {
        key: value for key, value in environment.items() if not key.startswith("PYTHON") and key not in tied
    }


def failure_reason(stderr: str) -> str:
    """The one useful line of uv's output: the innermost cause, without colours and tree marks."""
    lines = [_ANSI.sub("", line).rstrip() for line in stderr.splitlines()]
    causes: list[str] = []
    for line in lines:
        text = line.strip()
        mark = re.match(r"(error:|cause:|Caused by:|×|├─▶|╰─▶)\s*", text)
        if mark:
            causes.append(text[mark.end() :])
        elif causes and text and not text.startswith(("hint:", "warning:", "help:")):
            causes[-1] = f"{causes[-1]} {text.lstrip('│ ')}"
        elif text.startswith(("hint:", "help:")):
            break
    reason = causes[-1] if causes else next((line.strip() for line in reversed(lines) if line.strip()), "")
    reason = re.sub(r"\s+", " ", reason) or "no reason given"
    return reason if len(reason) <= _REASON_CHARACTERS else reason[: _REASON_CHARACTERS - 1] + "…"


def has_wheel(package: str, version: str, find_links: Sequence[str], tags: frozenset[Tag]) -> bool:
    """Whether a find-links folder holds this version (any local part) for one of `tags`."""
    for link in find_links:
        for path in Path(link).glob(f"{package}-*.whl"):
            try:
                name, found, _, wheel_tags = parse_wheel_filename(path.name)
            except InvalidWheelFilename:
                continue
            if name == package and Version(found.public) == Version(version) and wheel_tags & tags:
                return True
    return False


def _tags(release: Release, interpreter: Path) -> frozenset[Tag]:
    """Wheel tags that `interpreter` accepts on this machine."""
    script = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run(
        [interpreter, "-I", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        raise EnvironmentFailed(release.name, "venv", f"{interpreter} does not run")
    major, minor = (int(part) for part in done.stdout.split())
    return frozenset(cpython_tags((major, minor), platforms=list(platform_tags())))


@contextlib.contextmanager
def _compiling_beside(venv: Path, module: str) -> Iterator[None]:
    """Compile the package to byte code in a second process while the first import does.

    The first import of a fresh environment is byte-compiling and little else; two processes share the work
    (jax: 1.4 s instead of 2.1 s). What is not done when the import ends is not needed.
    """
    folders = list(venv.glob(f"lib/python*/site-packages/{module}"))
    if not folders:
        yield
        return
    helper = subprocess.Popen(
        [venv / "bin" / "python", "-I", "-m", "compileall", "-q", *folders],
        env=clean_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent(),  # noqa: PLW1509  one prctl call, safe: this process has no threads
    )
    try:
        yield
    finally:
        helper.kill()
        helper.wait()


def _probe(release: Release, venv: Path, source: str) -> Installed:
    """Import the package in its environment; what it says about itself."""
    module = release.package.replace("-", "_")
    try:
        with _compiling_beside(venv, module):
            done = run_tool(
                [venv / "bin" / "python", "-I", "-c", _PROBE, module],
                environment=clean_environment(os.environ),
                timeout_seconds=_IMPORT_TIMEOUT_SECONDS,
            )
    except subprocess.TimeoutExpired as error:
        reason = f"`import {module}` did not end within {_IMPORT_TIMEOUT_SECONDS:.0f} s"
        raise EnvironmentFailed(release.name, "import", reason) from error
    if done.returncode:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no output")
        raise EnvironmentFailed(release.name, "import", last.strip()[:_REASON_CHARACTERS])
    found = _answer(done.stdout)
    if found is None:
        reason = f"`import {module}` ended the process (exit status 0)"
        raise EnvironmentFailed(release.name, "import", reason)
    packages = dict(sorted((str(name).lower(), str(version)) for name, version in found["packages"].items()))
    version = packages.get(release.package.lower())
    if version is None or Version(Version(version).public) != Version(release.version):
        raise EnvironmentFailed(
            release.name, "import", f"the lock installed {version}, not {release.version}"
        )
    return Installed(python=found["python"], packages=packages, source=source)


def _answer(output: str) -> dict[str, Any] | None:
    """What `_PROBE` printed last; None if it never came to that."""
    try:
        found = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        return None
    return found if isinstance(found, dict) and found.keys() >= {"python", "packages"} else None
