"""All finished sessions of a machine, from every sidecar: what asv rows and estimates are made from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from stepwatch.history.sidecar import find_sidecars, read_sidecar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from stepwatch.model import CampaignHeader, RecordedSession

OVERHEAD_SECONDS = 0.5
"""Starting a process and writing its record down, on top of what the session itself counts."""
_DEFAULT_SECONDS = {"probes": 4.0}
_DEFAULT_SECONDS_BY_CLASS = {"JaxJit": 6.0, "TorchEager": 6.0, "TorchCompile": 20.0}
_DEFAULT_SESSION_SECONDS = 15.0


@dataclass(slots=True)
class MachineRecords:
    """Finished sessions by release, and how long a session of each group takes."""

    sessions: dict[str, list[RecordedSession]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, header: CampaignHeader, session: RecordedSession) -> None:
        """Take a session in; one with a planted slowdown counts for estimates only."""
        self.seconds[session.record.benchmark].append(session.record.wall_seconds)
        if not header.plant:
            self.sessions[session.place.release].append(session)

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
        MalformedFile: a sidecar cannot be read; names file and line.
        UnsupportedSchema: a newer stepwatch wrote one.
    """
    records = MachineRecords()
    for path in find_sidecars(results, machine):
        sidecar = read_sidecar(path)
        for session in sidecar.sessions:
            records.add(sidecar.header, session)
    return records
