"""Which benchmark a comparison measures next. Pure: no clock, no files, no processes.

The budget is time, so the question before every pair is what it buys. In order:

1. *Open*: every benchmark gets the few pairs below which nothing can be decided, one pair each in turn. If
   that alone would take more than the budget (less a share that is kept for confirmations), the cheapest
   benchmarks that fit get theirs and the others wait.
2. *Confirm*: a suspected regression is tested on fresh pairs: it is what people would be told about.
3. *Search*: the undecided benchmark that needs the fewest expected minutes to its next decision.

What cannot be decided in the time left comes after what can. What has had more pairs than its first forecast
said steps back, faster and faster: one that is always nearly decided starves nobody.

What is measured next depends on what was seen. That is allowed: each test is valid at every stopping time of
its own pairs, whoever chose it (docs/adr/0009). Forecasts decide how well time is spent, never what is true.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwatch.model import Outcome
from stepwatch.stats import minimum_pairs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from stepwatch.model import Stage
    from stepwatch.policy import Policy
    from stepwatch.verdict import Confirmation, Verdict

CONFIRMATION_SHARE = 0.25
"""Part of the time left that opening leaves for confirmations."""
_HASTE = 4.0
"""An overdue forecast counts twice as long for every such part of it (a quarter) that it was exceeded by."""
_MOST_DOUBLINGS = 100.0
_REMEMBERED_DURATIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The next pair."""

    group: str
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one benchmark still has to be measured for."""

    group: str
    stage: Stage
    pairs: int
    """Complete pairs of this stage."""
    expected_pairs: float
    """Further pairs until its next decision, by the best forecast."""
    seconds: float
    """Of one pair."""
    guessed: bool = False
    """Whether no session of it was ever measured here, so that `seconds` is a usual value."""
    forecast: float | None = None
    """Pairs in all that it was first said to need, once there was enough of it for a forecast."""

    @property
    def expected_seconds(self) -> float:
        """Time to its next decision."""
        return self.expected_pairs * self.seconds

    @property
    def patience(self) -> float:
        """What it is served by, least first: `expected_seconds`, doubled again and again once overdue."""
        if self.forecast is None or self.pairs <= self.forecast:
            return self.expected_seconds
        overdue = min(_HASTE * (self.pairs / self.forecast - 1), _MOST_DOUBLINGS)
        return self.expected_seconds * 2**overdue

    def fits(self, seconds_left: float) -> bool:
        """Whether a pair ends in time by what is known; a guess keeps nobody from finding out."""
        return self.seconds <= seconds_left or (self.guessed and seconds_left > 0)


def expected_pairs(
    test: Verdict | Confirmation, policy: Policy, *, pairs: int, log_threshold: float
) -> float:
    """Further pairs until `test` is decided if it goes on as it did; at least 1.

    The half-width h of a confidence sequence over n pairs shrinks about as sqrt(1/n), so `unchanged` needs
    n (h/room)^2 pairs, where room is what the estimate leaves inside the minimal effect. A change needs the
    same with the gap to the floor, and a half-width that is larger by the square root of the ratio of the
    log thresholds, log n being part of each (statistics.md 4.1, for large n).

    Args:
        test: a row of the search, or the confirmation of one.
        policy: the margins.
        pairs: complete pairs so far.
        log_threshold: natural logarithm of the e-value that calls a change.
    """
    least = minimum_pairs(1 / policy.alpha)
    if pairs < least or not (test.ratio and test.ratio_low and test.ratio_high):
        return float(max(1, least - pairs))
    centre = abs(math.log(test.ratio))
    half = (math.log(test.ratio_high) - math.log(test.ratio_low)) / 2
    room, gap = math.log1p(policy.min_effect) - centre, centre - math.log1p(policy.floor)
    growth = math.log1p(pairs)
    wider = (2 * log_threshold + growth) / (2 * math.log(1 / policy.alpha) + growth)
    needed = [pairs * (half / room) ** 2] if room > 0 else []
    needed += [pairs * wider * (half / gap) ** 2] if gap > 0 else []
    return max(1.0, min(needed, default=math.inf) - pairs)


def is_open(row: Verdict, policy: Policy, *, pairs: int) -> bool:
    """Whether more pairs of the search can decide a row.

    They cannot where both sides have enough of them and still nothing can be tested: a metric that one side
    does not measure, sides that did different work. What is broken is tried again until the run gives it up:
    a failure of an earlier run (no network, no memory) need not be one of this.
    """
    if row.outcome is Outcome.BROKEN:
        return True
    if row.outcome is not Outcome.INCONCLUSIVE or row.confirmation is not None:
        return False
    return row.method != "none" or pairs < minimum_pairs(1 / policy.alpha)


def choose(needs: Sequence[Need], *, seconds_left: float, least: int) -> Need | None:
    """What to measure next; None: nothing is undecided, or no pair fits into the time left.

    Args:
        needs: of every undecided benchmark.
        seconds_left: of the budget.
        least: pairs below which nothing can be decided.
    """
    fitting = [need for need in needs if need.fits(seconds_left)]
    young = [need for need in fitting if need.stage == "search" and need.pairs < least]
    opening = _affordable(young, (1 - CONFIRMATION_SHARE) * seconds_left)
    if opening:
        return min(opening, key=lambda need: need.pairs)
    promising = [need for need in fitting if need.expected_seconds <= seconds_left]
    suspects = [need for need in promising if need.stage == "confirm"]
    return min(suspects or promising or fitting, key=_soonest, default=None)


def _soonest(need: Need) -> tuple[float, str]:
    return need.patience, need.group


def _affordable(needs: Sequence[Need], seconds: float) -> list[Need]:
    """As many of `needs` as fit into `seconds` together, the cheapest first."""
    chosen: list[Need] = []
    for need in sorted(needs, key=_soonest):
        seconds -= need.expected_seconds
        if seconds < 0:
            break
        chosen.append(need)
    return chosen


@dataclass(slots=True, kw_only=True)
class Scheduler:
    """Chooses pair after pair; remembers how long pairs took and what was said of them."""

    estimates: Mapping[str, float]
    """Every benchmark of the comparison, with the seconds that one pair is expected to take."""
    policy: Policy
    guesses: Collection[str] = ()
    """Those whose estimate is only a usual value."""
    _durations: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _forecasts: dict[Step, float] = field(default_factory=dict)

    def seconds_of(self, group: str) -> float:
        """What one more pair takes: the longest of the last ones of this run, else the estimate."""
        return max(self._durations[group][-_REMEMBERED_DURATIONS:], default=self.estimates[group])

    def needs(
        self,
        rows: Sequence[Verdict],
        pairs: Mapping[tuple[str, Stage], int],
        closed: Collection[str] = (),
    ) -> list[Need]:
        """What every undecided benchmark still has to be measured for.

        Args:
            rows: the verdicts so far, confirmation included.
            pairs: complete pairs by benchmark and stage; none is 0.
            closed: benchmarks that cannot be measured any more.
        """
        by_group: dict[str, list[Verdict]] = defaultdict(list)
        for row in rows:
            by_group[row.benchmark.rpartition(".track_")[0]].append(row)
        threshold = _search_threshold(rows, self.policy)
        found = []
        for group in self.estimates:
            if group not in closed:
                count = pairs.get((group, "search"), 0), pairs.get((group, "confirm"), 0)
                found += self._needs_of(group, by_group[group], count, threshold)
        return found

    def _needs_of(
        self, group: str, rows: Sequence[Verdict], pairs: tuple[int, int], log_threshold: float
    ) -> list[Need]:
        searched, confirmed = pairs
        waiting = [
            expected_pairs(row, self.policy, pairs=searched, log_threshold=log_threshold)
            for row in rows
            if is_open(row, self.policy, pairs=searched)
        ]
        suspected = [
            expected_pairs(
                row.confirmation, self.policy, pairs=confirmed, log_threshold=-math.log(self.policy.alpha)
            )
            for row in rows
            if row.confirmation is not None and row.confirmation.outcome in ("pending", "inconclusive")
        ]
        if not rows and not searched:
            waiting = [float(minimum_pairs(1 / self.policy.alpha))]
        stages: tuple[tuple[Stage, int, list[float]], ...] = (
            ("search", searched, waiting),
            ("confirm", confirmed, suspected),
        )
        return [
            Need(
                group=group,
                stage=stage,
                pairs=count,
                expected_pairs=min(forecasts),
                seconds=self.seconds_of(group),
                guessed=group in self.guesses and not self._durations[group],
                forecast=self._forecasts.get(Step(group=group, stage=stage)),
            )
            for stage, count, forecasts in stages
            if forecasts
        ]

    def next(self, needs: Sequence[Need], seconds_left: float) -> Step | None:
        """The pair to measure now; None: all is decided, or nothing fits."""
        least = minimum_pairs(1 / self.policy.alpha)
        need = choose(needs, seconds_left=seconds_left, least=least)
        if need is None:
            return None
        step = Step(group=need.group, stage=need.stage)
        if need.pairs >= least:
            self._forecasts.setdefault(step, need.pairs + need.expected_pairs)
        return step

    def served(self, step: Step, seconds: float) -> None:
        """Note that a pair was measured, or tried, and how long it took."""
        self._durations[step.group].append(seconds)


def _search_threshold(rows: Sequence[Verdict], policy: Policy) -> float:
    """Log of the e-value that e-BH asks of the next rejection: family / (alpha (rejected + 1))."""
    tested = [row for row in rows if row.e_value is not None]
    rejected = sum(
        row.outcome in (Outcome.REGRESSED, Outcome.IMPROVED) or row.confirmation is not None for row in tested
    )
    family = max(1, len(tested))
    return math.log(family / (policy.alpha * min(family, rejected + 1)))
