"""The detector over many series: what was found before is looked up, the rest goes to an executor in batches.

A result is known again by the digest of the series' values, of the detector's settings and of the detector's
own source, so that neither a new point nor a new detector meets an old answer.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from stepwatch.stats import changepoint
from stepwatch.verdict import replay as replaying
from stepwatch.verdict.replay import Job, occasions, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from stepwatch.history.cache import Cache
    from stepwatch.history.executors import Executor
    from stepwatch.stats.changepoint import Detection, Settings
    from stepwatch.verdict.replay import Raised
    from stepwatch.verdict.series import Series

    Progress = Callable[[int, int], None]
    """Called with the number of series done, and of all."""

_R = TypeVar("_R")
_BATCH_POINTS = 200_000
"""Points to look at in a batch: some tenths of a second of work."""
_KEPT, _KEPT_PER_JOB = 20_000, 4
"""Results that are kept at most: this many, or so many per series where that is more."""
_SAVE_EVERY = 100
"""Batches between two savings of what was found; a kill costs no more than these."""


class Work(Protocol[_R]):
    """Something to find out about every series; called with a batch of jobs, wherever the executor likes."""

    @property
    def name(self) -> str:
        """Of the results, one word."""

    def __call__(self, jobs: list[Job]) -> list[_R]:
        """One result per job."""

    def cost(self, job: Job) -> int:
        """Points that must be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detecting:
    """Find the change points of whole series."""

    settings: Settings
    name: ClassVar[str] = "changes"

    def __call__(self, jobs: list[Job]) -> list[Detection]:
        """One detection per job."""
        return [job.look(len(job.values), self.settings) for job in jobs]

    def cost(self, job: Job) -> int:
        """The length of the series."""
        return len(job.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaying:
    """Find what every series would have raised while it grew."""

    settings: Settings
    step: int
    name: ClassVar[str] = "replays"

    def __call__(self, jobs: list[Job]) -> list[tuple[Raised, ...]]:
        """One list of what was raised per job."""
        return [replay(job, settings=self.settings, step=self.step) for job in jobs]

    def cost(self, job: Job) -> int:
        """The lengths of all prefixes together."""
        return sum(occasions(job, settings=self.settings, step=self.step))


def jobs_of(series: Sequence[Series], first: Sequence[int] | None = None) -> list[Job]:
    """What the detector needs to know of some series."""
    starts = first or [0] * len(series)
    return [Job(one.values, one.samples, one.exact, start) for one, start in zip(series, starts, strict=True)]


class Survey(Generic[_R]):
    """One kind of work on some series: what the cache knows, and what is left to do."""

    def __init__(self, work: Work[_R], jobs: Sequence[Job], cache: Cache[dict[bytes, _R]]) -> None:
        salt = _salt(work)
        self._work = work
        self._cache = cache
        self._marks = [_digest(job, salt) for job in jobs]
        self._known = cache.load() or {}
        self._missing = {
            mark: job for mark, job in zip(self._marks, jobs, strict=True) if mark not in self._known
        }

    @property
    def points(self) -> int:
        """How many points must still be looked at."""
        return sum(map(self._work.cost, self._missing.values()))

    def run(self, executor: Executor, progress: Progress | None = None) -> list[_R]:
        """Do what is left; the results of all jobs in their order.

        What is found is saved now and then and at the end, also when the run is interrupted. Results for
        other series, settings or steps stay, as far as there is room.

        Raises:
            DataError: the executor lost its workers.
        """
        used = {mark: self._known[mark] for mark in self._marks if mark in self._known}
        found = {mark: result for mark, result in self._known.items() if mark not in used} | used
        marks, done, unsaved = iter(self._missing), 0, 0
        try:
            for results in executor.run(self._work, _batches(self._missing.values(), self._work)):
                found.update(zip(itertools.islice(marks, len(results)), results, strict=True))
                done, unsaved = done + len(results), unsaved + 1
                if unsaved == _SAVE_EVERY:
                    self._save(found)
                    unsaved = 0
                if progress is not None:
                    progress(done, len(self._missing))
        finally:
            if unsaved:
                self._save(found)
        return [found[mark] for mark in self._marks]

    def _save(self, found: dict[bytes, _R]) -> None:
        """Keep the newest results, by the order in which they were last used."""
        surplus = len(found) - max(_KEPT, _KEPT_PER_JOB * len(self._marks))
        self._cache.save(dict(itertools.islice(found.items(), max(surplus, 0), None)))


def _batches(jobs: Iterable[Job], work: Work[_R]) -> Iterator[list[Job]]:
    batch: list[Job] = []
    points = 0
    for job in jobs:
        batch.append(job)
        points += work.cost(job)
        if points >= _BATCH_POINTS:
            yield batch
            batch, points = [], 0
    if batch:
        yield batch


def _salt(work: object) -> bytes:
    """What results depend on besides the series."""
    sources = [*sorted(Path(changepoint.__file__).parent.glob("*.py")), Path(replaying.__file__)]
    salt = hashlib.blake2b(repr(work).encode(), digest_size=16)
    for source in sources:
        salt.update(source.read_bytes())
    return salt.digest()


def _digest(job: Job, salt: bytes) -> bytes:
    mark = hashlib.blake2b(f"{job.exact} {job.first} {len(job.values)}".encode(), digest_size=16, key=salt)
    mark.update(job.values.tobytes())
    for taken in job.samples or ():
        mark.update(f" {len(taken)} ".encode())
        mark.update(taken.tobytes())
    return mark.digest()
