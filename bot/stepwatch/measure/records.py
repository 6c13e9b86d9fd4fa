"""All finished sessions of a machine, from every sidecar: what asv rows and estimates are made from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from stepwatch.errors import MalformedFile
from stepwatch.history.sidecar import find_sidecars, read_sidecar
from stepwatch.measure.session import device_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from stepwatch.model import CampaignHeader, RecordedSession, SessionRecord

OVERHEAD_SECONDS = 0.5
"""Starting a process and writing its record down, on top of what the session itself counts."""
_END_OF_CALENDAR = 253_402_300_800.0
"""First second of the year 10000; Python's dates, and asv's, end before it."""
_LONGEST_SECONDS = 7 * 86_400.0
_DEFAULT_SECONDS = {"probes": 4.0}
_DEFAULT_SECONDS_BY_CLASS = {"JaxJit": 6.0, "TorchEager": 6.0, "TorchCompile": 20.0}
_DEFAULT_SESSION_SECONDS = 15.0


def machine_class(record: SessionRecord) -> dict[str, str]:
    """What, with the machine's name, makes sessions comparable over time."""
    return {"accelerator": record.accelerator, "size": record.size, "device": device_name(record)}


@dataclass(slots=True)
class MachineRecords:
    """Finished sessions by release, and how long a session of each group takes."""

    sessions: dict[str, list[RecordedSession]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    machine_class: dict[str, str] = field(default_factory=dict)
    """Of the first session read; all later ones are of the same. Empty: nothing was measured yet."""
    notes: list[str] = field(default_factory=list)
    """What a reader should know: lines that were there twice."""
    _seen: set[str] = field(default_factory=set)

    def add(self, header: CampaignHeader, session: RecordedSession) -> bool:
        """Take a session in, once; one with a planted slowdown counts for estimates only.

        Returns:
            False if a session of this id is there already: then nothing changes.
        """
        if session.place.session in self._seen:
            return False
        self._seen.add(session.place.session)
        self.machine_class = self.machine_class or machine_class(session.record)
        self.seconds[session.record.benchmark].append(session.record.wall_seconds)
        if not header.plant:
            self.sessions[session.place.release].append(session)
        return True

    def expected_seconds(self, group: str) -> float:
        """How long a session of a group will take: as it did before, else a default by its kind."""
        if self.seconds.get(group):
            return fmean(self.seconds[group]) + OVERHEAD_SECONDS
        first, last = group.partition(".")[0], group.rpartition(".")[2]
        default = _DEFAULT_SECONDS.get(first, _DEFAULT_SECONDS_BY_CLASS.get(last, _DEFAULT_SESSION_SECONDS))
        return default + OVERHEAD_SECONDS

    def expected_total(self, groups: Iterable[str]) -> float:
        """Sum of `expected_seconds` over sessions, each given by its group."""
        return sum(map(self.expected_seconds, groups))

    def of(self, release: str, group: str | None = None) -> Sequence[RecordedSession]:
        """Finished sessions of a release, of one group or all."""
        return [s for s in self.sessions.get(release, ()) if group in (None, s.record.benchmark)]


def load_records(results: Path, machine: str) -> MachineRecords:
    """Read every sidecar of a machine.

    Raises:
        MalformedFile: a sidecar cannot be read (names file and line), or is the copy of another one.
        UnsupportedSchema: a newer stepwatch wrote one.
    """
    records = MachineRecords()
    for path in find_sidecars(results, machine):
        sidecar = read_sidecar(path)
        if sidecar.header.campaign != path.stem:
            reason = f"holds the campaign {sidecar.header.campaign!r}: a copy, or renamed"
            raise MalformedFile(path, reason, next_step="move it away, or give it its name again")
        for session in sidecar.sessions:
            _check_times(path, session)
        twice = sum(not records.add(sidecar.header, session) for session in sidecar.sessions)
        if twice:
            records.notes.append(f"{path}: {twice} lines repeat a session; each session counts once")
    return records


def _check_times(path: Path, session: RecordedSession) -> None:
    """A session that cannot be dated would break asv's rows and every estimate."""
    record = session.record
    if 0 <= record.started_at < _END_OF_CALENDAR and 0 <= record.wall_seconds < _LONGEST_SECONDS:
        return
    lines = path.read_bytes().split(b"\n")
    number = next((n for n, line in enumerate(lines, 1) if session.place.session.encode() in line), None)
    reason = (
        f"session {session.place.session} started at {record.started_at:g} (Unix seconds) and lasted "
        f"{record.wall_seconds:g} s, which cannot be"
    )
    raise MalformedFile(path, reason, place=str(number or ""), next_step="take out this line")
