"""Reading session sidecars: the record of truth of everything stepwatch measured.

A sidecar is a JSON Lines file, `results/<machine>/sessions/<campaign>.jsonl`: one `CampaignHeader`, then
one line per session or failure, append-only. A line counts when its newline is there: a torn last line is
the session that a kill took, and is no session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from stepwatch.errors import HistoryNotFound, MalformedFile, UnsupportedSchema
from stepwatch.model import SIDECAR_SCHEMA, CampaignHeader, RecordedFailure, RecordedSession, SidecarLine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSIONS_FOLDER = "sessions"
_NEXT_STEP = "move the file away, or cut it before this line"


class _Schema(msgspec.Struct, frozen=True):
    schema: int = SIDECAR_SCHEMA


_SCHEMA = msgspec.json.Decoder(_Schema)
_LINE = msgspec.json.Decoder(SidecarLine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """One campaign, as far as it went."""

    path: Path
    header: CampaignHeader
    sessions: tuple[RecordedSession, ...]
    failures: tuple[RecordedFailure, ...]
    notes: tuple[str, ...]
    """What a reader should know: a torn last line."""


def sessions_folder(results: Path, machine: str) -> Path:
    """Where the sidecars of one machine lie."""
    return results / machine / SESSIONS_FOLDER


def find_sidecars(results: Path, machine: str) -> tuple[Path, ...]:
    """Paths of all sidecars of a machine, by name; empty when there are none."""
    return tuple(sorted(sessions_folder(results, machine).glob("*.jsonl")))


def read_sidecar(path: Path) -> Sidecar:
    """Read one sidecar, strictly.

    Raises:
        HistoryNotFound: there is no such file.
        MalformedFile: a line is not what it should be, or the header is missing; names the line.
        UnsupportedSchema: a newer stepwatch wrote it.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise HistoryNotFound(path) from error
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise MalformedFile(path, reason, next_step="mend it or move it away") from error
    whole, newline, torn = data.rpartition(b"\n")
    notes = (f"{path.name}: the last line is torn (an interrupted session) and was ignored",) if torn else ()
    lines = tuple(_lines(path, whole)) if newline else ()
    if not lines or not isinstance(lines[0], CampaignHeader):
        raise MalformedFile(path, "the campaign header is missing", place="1", next_step="move the file away")
    if any(isinstance(line, CampaignHeader) for line in lines[1:]):
        raise MalformedFile(path, "a second campaign header", next_step="move the file away")
    return Sidecar(
        path=path,
        header=lines[0],
        sessions=tuple(line for line in lines if isinstance(line, RecordedSession)),
        failures=tuple(line for line in lines if isinstance(line, RecordedFailure)),
        notes=notes,
    )


def _lines(path: Path, whole: bytes) -> Iterator[SidecarLine]:
    for number, line in enumerate(whole.split(b"\n"), start=1):
        try:
            if number == 1 and (schema := _SCHEMA.decode(line).schema) != SIDECAR_SCHEMA:
                raise UnsupportedSchema(path, schema, SIDECAR_SCHEMA)
            yield _LINE.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedFile(path, str(error), place=str(number), next_step=_NEXT_STEP) from error
        except RecursionError as error:
            reason = "nested too deeply"
            raise MalformedFile(path, reason, place=str(number), next_step=_NEXT_STEP) from error
