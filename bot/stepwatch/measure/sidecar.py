"""Writing session sidecars: one whole line per session, on disk before anything is derived from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from stepwatch.errors import UsageError
from stepwatch.history.sidecar import read_sidecar, sessions_folder
from stepwatch.measure.storage import append_line, create_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.history.sidecar import Sidecar
    from stepwatch.model import CampaignHeader, RecordedFailure, RecordedSession

_ENCODER = msgspec.json.Encoder()
_FIXED = ("baseline", "contender", "machine", "accelerator", "size", "plant")
"""Header fields that must agree between the campaign on disk and the one asked for."""


def campaign_name(baseline: str | None, contender: str, plant: str = "") -> str:
    """File-name stem of a campaign: `jax-0.4.31..jax-0.4.33`, or `torch-2.13.0` for one release."""
    names = [name.replace("/", "-") for name in (baseline, contender) if name is not None]
    return "..".join(names) + (f"+plant-{plant.replace('=', '-')}" if plant else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarWriter:
    """Appends to one campaign's file."""

    path: Path
    header: CampaignHeader

    def append(self, line: RecordedSession | RecordedFailure) -> None:
        """Write one line; when this returns it survives a kill and a power cut.

        Raises:
            StorageFailed: no space or no permission; the file is as it was before.
        """
        append_line(self.path, _ENCODER.encode(line))


def open_sidecar(results: Path, header: CampaignHeader) -> tuple[SidecarWriter, Sidecar]:
    """Start a campaign's file, or go on with the one that is there.

    Returns:
        The writer, whose header is the one on disk (its seed decides the order), and what is there already.

    Raises:
        UsageError: the file belongs to another comparison (accelerator, size, planted slowdown).
        MalformedFile: the file on disk cannot be read; it is left alone.
        StorageFailed: the file cannot be created.
    """
    path = sessions_folder(results, header.machine) / f"{header.campaign}.jsonl"
    if not path.exists():
        create_atomically(path, _ENCODER.encode(header) + b"\n")
    present = read_sidecar(path)
    for field in _FIXED:
        found, asked = getattr(present.header, field), getattr(header, field)
        if found != asked:
            raise UsageError(
                f"{path}: this campaign was begun with {field} {found!r}, not {asked!r}: "
                "give another --machine name or move the file away"
            )
    return SidecarWriter(path=path, header=present.header), present
