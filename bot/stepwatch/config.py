"""`stepwatch.toml` (or `[tool.stepwatch]` in `pyproject.toml`): found, validated, resolved to paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.policy import Policy

ACCELERATORS = ("cpu", "cuda12", "cuda13")


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One library whose releases are followed."""

    package: str
    python: tuple[str, ...]
    """Python versions to use, best first; the first one with a wheel for the release is taken."""
    companions: tuple[str, ...]
    """Packages released in step with it, pinned in its table (`jaxlib`)."""
    first_lock: str
    """Locks are resolved from this release on."""
    extra_packages: tuple[str, ...]
    """Further requirements of every lock of this track (`numpy`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything configurable, with absolute paths."""

    root: Path
    """The folder that holds `asv.conf.json`."""
    asv_config: Path
    suite: Path
    releases: Path
    locks: Path
    results: Path
    html: Path
    history_repo: Path
    environments: Path
    environments_keep: int
    environments_max_bytes: int
    index_url: str | None
    find_links: tuple[str, ...]
    machine: str | None
    accelerator: str
    tracks: tuple[Track, ...]
    policy: Policy
