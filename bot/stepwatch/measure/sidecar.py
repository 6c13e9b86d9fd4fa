"""Writing session sidecars: one whole line per session, on disk before anything is derived from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from stepwatch.errors import MalformedFile, StorageFailed, UsageError
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
            MalformedFile: the file is gone; a new one would have no header.
            StorageFailed: no space or no permission; the file is as it was before.
        """
        try:
            append_line(self.path, _ENCODER.encode(line), create=False)
        except StorageFailed as error:
            if self.path.is_file():
                raise
            next_step = "put it back, or run the same command again to begin anew"
            reason = "was removed while it was written"
            raise MalformedFile(self.path, reason, next_step=next_step) from error


def sidecar_path(results: Path, header: CampaignHeader) -> Path:
    """Where the sidecar of a campaign lies."""
    return sessions_folder(results, header.machine) / f"{header.campaign}.jsonl"


def open_sidecar(
    results: Path, header: CampaignHeader, *, seed: int | None = None
) -> tuple[SidecarWriter, Sidecar]:
    """Start a campaign's file, or go on with the one that is there.

    Args:
        results: the results folder, above all machines.
        header: the header of a new file.
        seed: what the user asks for; None: whatever is on disk.

    Returns:
        The writer, whose header is the one on disk (its seed decides the order), and what is there already.

    Raises:
        UsageError: the file belongs to another comparison (accelerator, size, planted slowdown, seed).
        MalformedFile: the file on disk cannot be read; it is left alone.
        StorageFailed: the file cannot be created.
    """
    path = sidecar_path(results, header)
    if not path.exists():
        create_atomically(path, _ENCODER.encode(header) + b"\n")
    present = read_sidecar(path)
    check_campaign(present, header, seed=seed)
    return SidecarWriter(path=path, header=present.header), present


def check_campaign(present: Sidecar, asked: CampaignHeader, *, seed: int | None) -> None:
    """See that the campaign on disk is the one asked for.

    Raises:
        UsageError: it is not; names the first field that differs.
    """
    for field in _FIXED:
        found, wanted = getattr(present.header, field), getattr(asked, field)
        if found != wanted:
            raise UsageError(
                f"{present.path}: this campaign was begun with {field} {found!r}, not {wanted!r}: "
                "give another --machine name or move the file away"
            )
    if seed is not None and seed != present.header.seed:
        raise UsageError(
            f"{present.path}: this campaign was begun with --seed {present.header.seed}; "
            "leave --seed out, or move the file away"
        )
