"""uv, asked for what it knows: the package index in use, and a resolution as of a day."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from packaging.utils import canonicalize_name
from uv import find_uv_bin

from stepwatch.errors import DataError, EnvironmentFailed, IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

PLATFORM = "x86_64-manylinux_2_28"
"""Locks are resolved for this platform on every machine, so that all machines write the same lock."""

RUNNER = "asv-runner==0.3.2"
"""Pinned in every lock: the runner changes the numbers (docs/adr/0004)."""

_RUNNER_KNOWN_BY = "2026-11-30T00:00:00Z"
"""A moment at which that runner was on the index: it is younger than most releases it measures."""

_CHOICE_VARIABLES = frozenset(
    f"UV_{name}"
    for name in (
        *("FIND_LINKS", "TORCH_BACKEND", "CONSTRAINT", "OVERRIDE", "EXCLUDE", "PRERELEASE", "RESOLUTION"),
        *(
            "EXCLUDE_NEWER",
            "FORK_STRATEGY",
            "REQUIRE_HASHES",
            "NO_BINARY",
            "NO_DEPS",
            "CUSTOM_COMPILE_COMMAND",
        ),
    )
)
"""Kept from uv: they would make the lock depend on who resolves it (a CPU build in a find-links folder)."""

_RESOLVE_TIMEOUT_SECONDS = 300.0
_MISSING_EXTRA = re.compile(r"does not have an extra named `([^`]+)`")
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;+]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a resolver chose."""

    pins: dict[str, str]
    """Normalised name to version, without local versions, in name order."""
    missing_extras: frozenset[str]
    """Extras that were asked for and that the release does not have."""


class Resolver(Protocol):
    """Anything that turns requirements into pins as of a day; `UvResolver` is the real one."""

    def resolve(self, requirements: Sequence[str], *, release: str, python: str, through: str) -> Resolution:
        """Resolve with what was on the index up to the end of day `through` (ISO 8601, UTC)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UvResolver:
    """`uv pip compile`, on wheels alone."""

    index: str
    """Address of the package index (simple API)."""

    def resolve(self, requirements: Sequence[str], *, release: str, python: str, through: str) -> Resolution:
        """Resolve `requirements` for `python` (`3.12`) as of the end of day `through`.

        Raises:
            EnvironmentFailed: no solution, or the index did not answer; `release` names it in the message.
        """
        arguments = [
            *("--python-version", python, "--python-platform", PLATFORM, "--only-binary", ":all:"),
            *("--exclude-newer", f"{through}T23:59:59Z"),
            *("--exclude-newer-package", f"asv-runner={_RUNNER_KNOWN_BY}"),
            *("--default-index", self.index, "--no-emit-index-url", "--no-header", "--no-annotate"),
        ]
        done = _compile(arguments, "\n".join(requirements))
        if done.returncode != 0:
            raise EnvironmentFailed(release, "resolving its lock", _reason(done.stderr))
        pins = (_PIN.match(line) for line in done.stdout.splitlines())
        return Resolution(
            pins={canonicalize_name(pin[1]): pin[2] for pin in pins if pin},
            missing_extras=frozenset(_MISSING_EXTRA.findall(done.stderr)),
        )


def find_uv() -> str:
    """The uv that was installed along with stepwatch.

    Raises:
        DataError: it is not there.
    """
    try:
        return find_uv_bin()
    except FileNotFoundError as error:
        raise DataError(
            "uv is not there, though it is installed along with stepwatch; install stepwatch anew"
        ) from error


def default_index() -> str:
    """Address of the package index that uv uses here: its environment, its configuration, its default.

    Raises:
        IndexUnavailable: uv does not say.
    """
    done = _compile(["--emit-index-url", "--no-header", "--offline"], "")
    found = re.search(r"^(?:--index-url|--default-index) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None:
        raise IndexUnavailable("uv", _reason(done.stderr) or "uv names no package index")
    return found[1]


def _compile(arguments: Sequence[str], requirements: str) -> subprocess.CompletedProcess[str]:
    # Resolving runs no Python of the target; naming one saves uv the search, and a download of the target's.
    common = ("--no-progress", "--color", "never", "--no-python-downloads", "--python", sys.executable)
    command = [find_uv(), "pip", "compile", "-", *common, *arguments]
    try:
        return subprocess.run(
            command,
            input=requirements,
            capture_output=True,
            text=True,
            check=False,
            timeout=_RESOLVE_TIMEOUT_SECONDS,
            env={name: value for name, value in os.environ.items() if name not in _CHOICE_VARIABLES},
        )
    except subprocess.TimeoutExpired:
        reason = f"error: uv gave no answer within {_RESOLVE_TIMEOUT_SECONDS:.0f} s"
        return subprocess.CompletedProcess(command, 1, stdout="", stderr=reason)


def _reason(stderr: str) -> str:
    """One line out of uv's output: its error and the first cause, without warnings, hints and addresses."""
    lines = [line.strip(" │├╰─▶×") for line in stderr.splitlines()]
    start = next((number for number, line in enumerate(lines) if line.startswith("error:")), 0)
    lines = [line for line in lines[start:] if line and not line.startswith(("warning:", "hint:"))]
    wanted = [line.removeprefix("error:").removeprefix("cause:").strip() for line in lines[:2]]
    return re.sub(r"https?://[^\s`]+", "the index", ": ".join(wanted))[:500]
