"""A comparison: pair after pair of whatever is undecided, until all is decided or the budget is spent.

After each pair every benchmark is judged anew, because with e-BH a pair of one may change the verdict of
another, and the scheduler is asked what to measure next. The budget is time spent on pairs; environments are
built before the clock starts. What is on disk already counts, whoever measured it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from stepwatch.history.traits import read_traits
from stepwatch.measure.campaign import pair, units
from stepwatch.measure.engine import Engine
from stepwatch.measure.events import PairJudged, PairStarted, Progress, quiet
from stepwatch.measure.scheduler import Scheduler, Step
from stepwatch.measure.storage import machine_lock
from stepwatch.model import Side
from stepwatch.verdict import CampaignFailure, CampaignSession, Evidence, judge_confirmed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stepwatch.measure.environments import EnvironmentStore
    from stepwatch.measure.job import Job
    from stepwatch.measure.scheduler import Need
    from stepwatch.model import Stage
    from stepwatch.policy import Policy
    from stepwatch.verdict import Verdict

_SIDES = frozenset({Side.BASELINE, Side.CONTENDER})
Stop = Literal["decided", "budget", "interrupted"]


@dataclass(slots=True, kw_only=True)
class ComparisonSummary:
    """How a run of a comparison ended."""

    sidecar: Path
    budget_seconds: float
    spent_seconds: float = 0.0
    pairs_before: int = 0
    """Complete pairs that were there, of both stages."""
    pairs: int = 0
    """Complete pairs that this run added."""
    failed: int = 0
    """Places that stayed empty."""
    stop: Stop = "decided"
    undecided: tuple[Need, ...] = ()
    """What would have to be measured on."""
    broken_environments: dict[str, str] = field(default_factory=dict)


def run_comparison(  # noqa: PLR0913  each is one fact of a comparison, named at the call
    job: Job,
    policy: Policy,
    budget_seconds: float,
    *,
    store: EnvironmentStore,
    progress: Progress = quiet,
    clock: Callable[[], float] = time.monotonic,
) -> ComparisonSummary:
    """Measure `job`'s two sides in pairs until every benchmark is decided or the budget is spent.

    No pair is started that would, by what pairs of its benchmark take, end after the budget. An interrupt
    ends the run early; every finished session is safe.

    Args:
        job: whose `subjects` hold the benchmarks that both sides have; `sessions` is not used.
        policy: what decided means.
        budget_seconds: for this run, whatever earlier ones took.
        store: of environments.
        progress: is told what happens.
        clock: seconds, never going back.

    Raises:
        Busy, MalformedFile, StorageFailed, UnknownRelease, UsageError: as `run_campaign`.
    """
    with machine_lock(job.results, job.machine):
        return _Run(job, policy, budget_seconds, Engine(job, store, progress), clock).go()


class _Run:
    """One run of a comparison."""

    def __init__(
        self, job: Job, policy: Policy, budget: float, engine: Engine, clock: Callable[[], float]
    ) -> None:
        self.job, self.policy, self.engine, self.clock = job, policy, engine, clock
        self.budget = budget
        self.groups = list(job.subjects[job.comparison.contender].groups)
        records = engine.ledger.records
        self.scheduler = Scheduler(
            estimates={group: 2 * records.expected_seconds(group) for group in self.groups},
            guesses={group for group in self.groups if not records.seconds.get(group)},
            policy=policy,
        )
        self.tried: dict[Step, set[int]] = defaultdict(set)
        """Numbers of the pairs that were begun, in this run or before."""
        self.started: float | None = None
        self.rows: list[Verdict] = []
        self.summary = ComparisonSummary(
            sidecar=engine.ledger.writer.path,
            budget_seconds=budget,
            pairs_before=sum(self._complete_pairs().values()),
            broken_environments=engine.broken_environments,
        )

    def go(self) -> ComparisonSummary:
        """Heal, build, measure."""
        engine, summary = self.engine, self.summary
        engine.heal()
        self.traits = read_traits(self.job.results)
        for session in engine.ledger.sessions:
            if session.place.side in _SIDES:
                step = Step(group=session.record.benchmark, stage=session.place.stage)
                self.tried[step].add(session.place.pair)
        try:
            self._measure()
        except KeyboardInterrupt:
            summary.stop = "interrupted"
            engine.ledger.read_again()
        finally:
            engine.close()
        summary.spent_seconds = self._spent()
        summary.failed = engine.failed
        summary.pairs = sum(self._complete_pairs().values()) - summary.pairs_before
        return summary

    def _measure(self) -> None:
        needs = self._judge()
        names = self.job.comparison.releases
        self.engine.build_environments((name, need.group) for need in needs for name in names)
        self.started = self.clock()
        needs = self._judge()
        while step := self.scheduler.next(needs, self.budget - self._spent()):
            self._run_pair(step)
            needs = self._judge()
        self.summary.stop = "budget" if needs else "decided"
        self.summary.undecided = tuple(needs)

    def _run_pair(self, step: Step) -> None:
        begun = self.clock()
        number = next(n for n in range(len(self.tried[step]) + 1) if n not in self.tried[step])
        self.tried[step].add(number)
        seed = self.engine.ledger.writer.header.seed
        sessions = pair(self.job.comparison, step.group, number, seed=seed, stage=step.stage)
        self.engine.progress(
            PairStarted(
                group=step.group,
                stage=step.stage,
                number=number + 1,
                seconds=self.scheduler.seconds_of(step.group),
                spent_seconds=self._spent(),
                budget_seconds=self.budget,
            )
        )
        for unit in units(sessions, pairs_together=self.job.turns):
            wanted = [session for session in unit if self.engine.is_open(session)]
            if wanted:
                self.engine.run_unit(wanted, lambda *_: None)
        self.scheduler.served(step, self.clock() - begun)

    def _judge(self) -> list[Need]:
        """Judge everything anew; what is still undecided."""
        self.rows = judge_confirmed(self._evidence(), self.policy)
        closed = {group for group, _ in self.engine.closed}
        needs = self.scheduler.needs(self.rows, self._complete_pairs(), closed)
        self.engine.progress(
            PairJudged(
                rows=tuple(self.rows),
                groups=tuple(self.groups),
                undecided=frozenset(need.group for need in needs),
                spent_seconds=self._spent(),
                budget_seconds=self.budget,
            )
        )
        return needs

    def _evidence(self) -> Evidence:
        ledger, comparison = self.engine.ledger, self.job.comparison
        campaign = ledger.writer.path.stem
        sessions = [
            CampaignSession(campaign=campaign, place=session.place, record=session.record)
            for session in ledger.sessions
        ]
        return Evidence(
            baseline=comparison.baseline,
            contender=comparison.contender,
            accelerator=self.job.accelerator,
            size=self.job.size,
            sessions=tuple(one for one in sessions if one.place.stage == "search"),
            fresh=tuple(one for one in sessions if one.place.stage == "confirm"),
            failures=tuple(CampaignFailure(campaign=campaign, failure=one) for one in ledger.failures),
            traits=self.traits,
            must_confirm=True,
        )

    def _complete_pairs(self) -> dict[tuple[str, Stage], int]:
        """Pairs with both sessions, by benchmark and stage."""
        sides: dict[tuple[str, Stage, int], set[Side]] = defaultdict(set)
        for session in self.engine.ledger.sessions:
            place = session.place
            sides[session.record.benchmark, place.stage, place.pair].add(place.side)
        counts: dict[tuple[str, Stage], int] = defaultdict(int)
        for (group, stage, _), found in sides.items():
            counts[group, stage] += found >= _SIDES
        return counts

    def _spent(self) -> float:
        return 0.0 if self.started is None else self.clock() - self.started
