"""What a campaign would run, and how long it would take; starts and writes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwatch.history.sidecar import read_sidecar
from stepwatch.measure.campaign import plan, remaining, session_key
from stepwatch.measure.records import load_records
from stepwatch.measure.sidecar import check_campaign, sidecar_path

if TYPE_CHECKING:
    from stepwatch.measure.environments import EnvironmentStore
    from stepwatch.measure.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """The sessions of one benchmark on one side."""

    benchmark: str
    side: str
    release: str
    sessions: int
    session_seconds: float
    """Mean of earlier sessions here, else a usual value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is left of a campaign."""

    rows: tuple[ForecastRow, ...]
    sessions: int
    seconds: float
    """Of the sessions, without building environments."""
    finished: int
    environments_to_build: tuple[str, ...]


def forecast(job: Job, store: EnvironmentStore) -> Forecast:
    """Estimate what is left of `job`.

    Raises:
        MalformedFile: a sidecar or a lock cannot be read.
        UsageError: the campaign on disk, or the machine of this name, is another one.
    """
    records = load_records(job.results, job.machine)
    job.check_machine(records)
    header = job.header()
    path = sidecar_path(job.results, header)
    done = set()
    if path.exists():
        present = read_sidecar(path)
        check_campaign(present, header, seed=job.seed)
        done = {session_key(session) for session in present.sessions}
    planned = plan(job.comparison, job.groups_by_release(), rounds=job.sessions, seed=header.seed)
    left = remaining(planned, done)
    counts = Counter((s.key.benchmark, s.key.side, s.key.release) for s in left)
    rows = tuple(
        ForecastRow(
            benchmark=benchmark,
            side=side.value,
            release=release,
            sessions=count,
            session_seconds=records.expected_seconds(benchmark),
        )
        for (benchmark, side, release), count in sorted(counts.items())
    )
    return Forecast(
        rows=rows,
        sessions=len(left),
        seconds=sum(row.sessions * row.session_seconds for row in rows),
        finished=len(planned) - len(left),
        environments_to_build=tuple(
            name
            for name in sorted({row.release for row in rows})
            for place in job.subjects[name].installations.values()
            if not store.is_built(place.release, job.accelerator, place.lock_path, own=place.own)
        ),
    )
