"""The vocabulary every part of stepwatch shares: releases, sessions, and how a session is written down.

All types are frozen and keyword-only. `SessionRecord` is what the suite's harness writes for one fresh
process (`suites/_harness`, which never imports stepwatch, writes it as plain JSON); a *sidecar* is a JSON
Lines file of `CampaignHeader`, `RecordedSession` and `RecordedFailure` lines, append-only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec

SIDECAR_SCHEMA = 1


class Release(msgspec.Struct, frozen=True, kw_only=True, order=False):
    """One release of one library, named `jax/0.4.31` everywhere."""

    package: str
    version: str
    date: str
    """Day of the first upload, ISO 8601 (`2024-07-30`)."""
    requires: dict[str, str] = {}
    """What must be installed with it, exactly: `{"jaxlib": "0.4.31"}`."""

    @property
    def name(self) -> str:
        """The public name: `package/version`."""
        return f"{self.package}/{self.version}"


class Outcome(StrEnum):
    """The five words a verdict can say."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    INCONCLUSIVE = "inconclusive"
    BROKEN = "broken"


class Side(StrEnum):
    """The place of a session in a campaign."""

    BASELINE = "baseline"
    CONTENDER = "contender"
    BESIDE = "beside"
    """Measured in the same round, judged against nobody (the twin of another framework)."""
    SINGLE = "single"
    """Measured alone (`stepwatch measure torch/2.13.0`, plain `asv run`)."""


class MetricSamples(msgspec.Struct, frozen=True, kw_only=True):
    """What one session measured of one metric, in base units."""

    samples: list[float]
    unit: str
    """`seconds`, `bytes`, `count` or `1`."""


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One session as the harness wrote it (docs/explanation/session-protocol.md gives every field)."""

    schema: int
    benchmark: str
    """Module and class: `mlp.bench.JaxJit`."""
    workload: str
    variant: str
    size: str
    accelerator: str
    metrics: dict[str, MetricSamples]
    started_at: float
    """Unix time, seconds."""
    wall_seconds: float
    versions: dict[str, str]
    """Versions actually imported, `python` among them."""
    packages: dict[str, str]
    """Every distribution installed in the environment."""
    device: dict[str, Any]
    machine_before: dict[str, Any]
    machine_after: dict[str, Any]
    settings: dict[str, Any]
    """Threads, affinity, matmul precision, compile cache (`cold` or `warm`), planted slowdown."""
    parameters: int
    losses: list[float] = []
    fingerprint: dict[str, Any] = {}


Stage = Literal["search", "confirm"]
"""What a pair is for: the search, or a fresh test of a regression that the search suspects."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session stands in its campaign."""

    session: str
    """Twelve hex digits, unique."""
    release: str
    side: Side
    pair: int
    """Round number, 0-based; the sessions of a pair share it."""
    position: int
    """0 if this side ran first in its pair, else 1."""
    lock: str = ""
    """Digest of the lock that built the environment."""
    stage: Stage = "search"
    """`confirm`: never part of the search."""


class CampaignHeader(msgspec.Struct, frozen=True, kw_only=True, tag="campaign"):
    """First line of a sidecar: what is compared, and the seed of the random order."""

    schema: int
    campaign: str
    baseline: str | None
    contender: str | None
    seed: int
    created_at: float
    machine: str
    accelerator: str
    size: str
    plant: str = ""
    """A slowdown planted into the contender for a self-test (`mlp=1.10`); never part of asv results."""


class RecordedSession(msgspec.Struct, frozen=True, kw_only=True, tag="session"):
    """A finished session, with its place."""

    place: Place
    record: SessionRecord


class RecordedFailure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """A session that failed, was skipped, or an environment that could not be built."""

    place: Place | None
    benchmark: str | None
    release: str
    stage: Literal["environment", "session", "skipped"]
    reason: str
    """One line."""
    detail: str = ""
    """The end of the process's output, at most 4,000 characters."""
    at: float = 0.0


SidecarLine = CampaignHeader | RecordedSession | RecordedFailure


def parse_release_name(name: str) -> tuple[str, str]:
    """Split `jax/0.4.31` into package and version.

    Raises:
        ValueError: no single slash with text on both sides.
    """
    package, slash, version = name.partition("/")
    if not (slash and package and version) or "/" in version:
        raise ValueError(name)
    return package, version
