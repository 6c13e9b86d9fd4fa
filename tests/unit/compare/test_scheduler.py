"""The scheduler: never over the budget, nobody starved, nothing measured that is decided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from evidence_factory import evidence, noisy, pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.measure.scheduler import (
    Need,
    Scheduler,
    Step,
    choose,
    expected_pairs,
    is_open,
)
from stepwatch.model import Outcome
from stepwatch.policy import Policy
from stepwatch.stats import minimum_pairs
from stepwatch.verdict import Confirmation, Verdict, judge

if TYPE_CHECKING:
    from stepwatch.model import Stage

POLICY = Policy(metrics=("step_cpu",), floor=0.0025, min_effect=0.02)
LEAST = minimum_pairs(1 / POLICY.alpha)
(ROW,) = judge(evidence(pairs(noisy(1.0, 8, noise=0.1))), POLICY)


def row(group: str = "a.bench.JaxJit", **changes: object) -> Verdict:
    """An undecided row of the search, with what matters changed."""
    return msgspec.structs.replace(ROW, benchmark=f"{group}.track_step_cpu", **changes)


def need(group: str, **changes: object) -> Need:
    """What a benchmark needs: five more pairs of ten seconds, unless something else is said."""
    fields = {"stage": "search", "pairs": 20, "expected_pairs": 5.0, "seconds": 10.0}
    renamed = {
        {"number": "pairs", "more": "expected_pairs"}.get(key, key): value for key, value in changes.items()
    }
    return Need(group=group, **{**fields, **renamed})


def chosen(*needs: Need, left: float = 1000.0) -> str | None:
    found = choose(needs, seconds_left=left, least=LEAST)
    return found.group if found else None


def test_everyone_gets_the_fewest_pairs_that_can_decide_first_one_each_in_turn() -> None:
    needs = [need("near", more=1), need("young", number=2, more=LEAST - 2), need("younger", number=1)]
    assert chosen(*needs) == "younger"
    assert chosen(*needs[:2]) == "young"


def test_where_not_all_can_be_opened_the_cheapest_that_fit_are_and_a_share_is_kept() -> None:
    dear = need("dear", number=0, more=LEAST, seconds=90)
    cheap = need("cheap", number=1, more=LEAST - 1, seconds=10)
    both = LEAST * 90 + (LEAST - 1) * 10
    assert chosen(dear, cheap, left=both / 0.75) == "dear", "time for both: the one with fewer pairs"
    assert chosen(dear, cheap, left=both / 0.76) == "cheap", "a quarter is kept for confirmations"


def test_a_suspect_comes_before_the_search_and_a_young_benchmark_before_both() -> None:
    needs = [need("near", more=1), need("suspect", stage="confirm", number=0, more=LEAST)]
    assert chosen(*needs) == "suspect"
    assert chosen(*needs, need("young", number=0, more=LEAST)) == "young"


def test_the_fewest_expected_minutes_first() -> None:
    assert chosen(
        need("few pairs, long", more=3, seconds=60), need("more pairs, short", more=10, seconds=5)
    ) == ("more pairs, short")


def test_what_cannot_be_decided_in_time_comes_last_even_as_a_suspect() -> None:
    hopeless = need("hopeless", stage="confirm", more=1e6)
    assert chosen(hopeless, need("near", more=3)) == "near"
    assert chosen(hopeless) == "hopeless", "time that is left is not wasted"


def test_what_is_overdue_steps_back_further_and_further() -> None:
    other = need("other", more=30)
    assert chosen(need("nearly", number=20, more=1, forecast=20.0), other) == "nearly"
    assert chosen(need("nearly", number=40, more=1, forecast=20.0), other) == "nearly"
    assert chosen(need("nearly", number=50, more=1, forecast=20.0), other) == "other"
    assert chosen(need("nearly", number=10**6, more=1, forecast=7.0), other) == "other"
    assert need("nearly", number=25, more=1, forecast=20.0).patience == 2 * need("nearly", more=1).patience


def test_no_pair_is_begun_that_would_end_too_late_unless_its_length_is_only_guessed() -> None:
    assert chosen(need("long", seconds=30), left=29) is None
    assert chosen(need("long", seconds=30), need("short", seconds=20, more=1000), left=29) == "short"
    assert chosen(need("never measured", seconds=30, guessed=True), left=29) == "never measured"
    assert chosen(need("never measured", seconds=30, guessed=True), left=0) is None
    assert chosen() is None


def test_the_forecast_falls_as_evidence_grows() -> None:
    wide = row(ratio=1.0, ratio_low=0.95, ratio_high=1.05, sessions=20)
    narrow = row(ratio=1.0, ratio_low=0.975, ratio_high=1.025, sessions=20)
    threshold = math.log(200 / 0.05)
    far, near = (expected_pairs(one, POLICY, pairs=20, log_threshold=threshold) for one in (wide, narrow))
    assert near < far
    assert near == pytest.approx(20 * (math.log(1.025 / 0.975) / 2 / math.log1p(0.02)) ** 2 - 20)
    step = row(ratio=1.1, ratio_low=1.0, ratio_high=1.21, sessions=20)
    alone, family = (
        expected_pairs(step, POLICY, pairs=20, log_threshold=t) for t in (math.log(20), threshold)
    )
    assert alone < family, "a larger family asks for more"


def test_the_forecast_of_what_has_no_interval_is_what_is_missing_to_one() -> None:
    young = row(ratio=1.1, ratio_low=None, ratio_high=None)
    assert expected_pairs(young, POLICY, pairs=2, log_threshold=3.0) == LEAST - 2
    assert expected_pairs(young, POLICY, pairs=LEAST + 1, log_threshold=3.0) == 1
    pending = Confirmation(outcome="pending", sessions=0)
    assert expected_pairs(pending, POLICY, pairs=0, log_threshold=3.0) == LEAST


def test_without_equivalence_only_a_change_can_end_it() -> None:
    policy = msgspec.structs.replace(POLICY, floor=0.0, min_effect=0.0)
    flat = row(ratio=1.0, ratio_low=0.99, ratio_high=1.01)
    assert expected_pairs(flat, policy, pairs=20, log_threshold=3.0) == math.inf


@settings(max_examples=200, deadline=None)
@given(st.floats(0.5, 2.0), st.floats(1.0001, 1.5), st.integers(0, 500), st.floats(1.0, 12.0))
def test_a_forecast_is_at_least_one_pair(ratio: float, spread: float, number: int, threshold: float) -> None:
    test = row(ratio=ratio, ratio_low=ratio / spread, ratio_high=ratio * spread)
    assert expected_pairs(test, POLICY, pairs=number, log_threshold=threshold) >= 1


def test_what_no_pair_can_decide_is_not_open() -> None:
    untestable = row(method="none", e_value=None)
    assert is_open(untestable, POLICY, pairs=LEAST - 1)
    assert not is_open(untestable, POLICY, pairs=LEAST)
    assert is_open(row(), POLICY, pairs=100)
    assert not is_open(row(outcome=Outcome.UNCHANGED), POLICY, pairs=100)
    refuted = Confirmation(outcome="refuted", sessions=6)
    assert not is_open(row(confirmation=refuted), POLICY, pairs=100)


def scheduler(*groups: str, seconds: float = 10.0) -> Scheduler:
    return Scheduler(estimates=dict.fromkeys(groups, seconds), policy=POLICY)


def test_a_benchmark_without_a_row_is_needed_and_one_without_a_judged_metric_is_not() -> None:
    found = scheduler("a.bench.JaxJit")
    (only,) = found.needs([], {})
    assert (only.pairs, only.expected_pairs) == (0, LEAST)
    assert not found.needs([], {("a.bench.JaxJit", "search"): 1}), "measured, and nothing to judge"
    assert not found.needs([], {}, closed={"a.bench.JaxJit"})


def test_a_benchmark_is_needed_while_one_of_its_metrics_is_and_for_the_nearest_of_them() -> None:
    rows = [row(outcome=Outcome.UNCHANGED), row(ratio=1.0, ratio_low=0.9, ratio_high=1.1),
            row(ratio=1.0, ratio_low=0.978, ratio_high=1.022)]  # fmt: skip
    (only,) = scheduler("a.bench.JaxJit").needs(rows, {("a.bench.JaxJit", "search"): 20})
    assert only.expected_pairs < 10


def test_a_suspect_is_needed_for_confirmation_until_it_is_confirmed_or_refuted() -> None:
    for outcome, stages in (
        ("pending", ["confirm"]),
        ("inconclusive", ["confirm"]),
        ("confirmed", []),
        ("refuted", []),
    ):
        suspect = row(confirmation=Confirmation(outcome=outcome, sessions=2))
        found = scheduler("a.bench.JaxJit").needs([suspect], {("a.bench.JaxJit", "search"): 9})
        assert [one.stage for one in found] == stages


def test_durations_are_learnt() -> None:
    found = scheduler("a", "b")
    for seconds in (3.0, 50.0, 4.0, 5.0, 4.0):
        found.served(Step(group="a", stage="search"), seconds)
    assert found.seconds_of("a") == 5.0, "the longest of the last three"
    assert found.seconds_of("b") == 10.0


def test_the_first_forecast_that_rests_on_something_is_remembered() -> None:
    found = scheduler("a.bench.JaxJit")
    pairs_so_far = {("a.bench.JaxJit", "search"): 2}
    young = row(ratio_low=None, ratio_high=None)
    found.next(found.needs([young], pairs_so_far), 1e6)
    assert found.needs([young], pairs_so_far)[0].forecast is None
    grown = row(ratio=1.0, ratio_low=0.96, ratio_high=1.04)
    pairs_so_far["a.bench.JaxJit", "search"] = 20
    (first,) = found.needs([grown], pairs_so_far)
    found.next([first], 1e6)
    wider = row(ratio=1.0, ratio_low=0.9, ratio_high=1.1)
    assert found.needs([wider], pairs_so_far)[0].forecast == 20 + first.expected_pairs


@dataclass
class Lab:
    """Benchmarks that are decided after so many pairs, each pair taking its time on a clock of its own."""

    pairs_to_decide: dict[str, int]
    seconds: dict[str, float]
    now: float = 0.0
    done: dict[tuple[str, Stage], int] = field(default_factory=dict)
    served: list[str] = field(default_factory=list)

    def rows(self) -> list[Verdict]:
        found = []
        for group, needed in self.pairs_to_decide.items():
            count = self.done.get((group, "search"), 0)
            if count:
                spread = math.exp(math.log1p(0.02) * math.sqrt(needed / count))
                ends = (1 / spread, spread) if count >= LEAST else (None, None)
                interval = dict(zip(("ratio_low", "ratio_high"), ends, strict=True))
                decided = count >= max(needed, LEAST)
                outcome = Outcome.UNCHANGED if decided else Outcome.INCONCLUSIVE
                found.append(row(group, outcome=outcome, ratio=1.0, sessions=count, **interval))
        return found

    def run(self, budget: float) -> list[Need]:
        """Until the scheduler stops; what it left undecided."""
        chooser = Scheduler(estimates=self.seconds, policy=POLICY)
        needs = chooser.needs(self.rows(), self.done)
        while step := chooser.next(needs, budget - self.now):
            self.now += self.seconds[step.group]
            self.served.append(step.group)
            self.done[step.group, step.stage] = self.done.get((step.group, step.stage), 0) + 1
            chooser.served(step, self.seconds[step.group])
            needs = chooser.needs(self.rows(), self.done)
        return needs


LABS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.tuples(st.integers(1, 60), st.floats(1.0, 30.0)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(LABS, st.floats(0.0, 3000.0))
def test_the_budget_is_never_exceeded_and_what_is_decided_is_left_alone(
    kinds: dict[str, tuple[int, float]], budget: float
) -> None:
    lab = Lab({k: v[0] for k, v in kinds.items()}, {k: v[1] for k, v in kinds.items()})
    left = lab.run(budget)
    assert lab.now <= budget + 1e-9
    for group, needed in lab.pairs_to_decide.items():
        assert lab.done.get((group, "search"), 0) <= max(needed, LEAST)
    if left:
        assert min(one.seconds for one in left) > budget - lab.now - 1e-9, "time was left for another pair"
    else:
        assert all(row.outcome is Outcome.UNCHANGED for row in lab.rows())


@settings(max_examples=40, deadline=None)
@given(LABS)
def test_with_time_enough_everyone_is_decided(kinds: dict[str, tuple[int, float]]) -> None:
    lab = Lab({k: v[0] for k, v in kinds.items()}, {k: v[1] for k, v in kinds.items()})
    assert not lab.run(1e6)


@pytest.mark.parametrize("closeness", [1.001, 2.0, 50.0])
def test_one_that_is_never_decided_does_not_starve_the_others_nor_they_it(closeness: float) -> None:
    """However near to a decision it always seems to be."""

    class Stubborn(Lab):
        def rows(self) -> list[Verdict]:
            spread = 1.02 ** math.sqrt(closeness)
            return [
                one if "never" not in one.benchmark or one.ratio_low is None
                else msgspec.structs.replace(one, ratio_low=1 / spread, ratio_high=spread)
                for one in super().rows()
            ]  # fmt: skip

    lab = Stubborn(
        {"never": 10**9, **dict.fromkeys("abcdefgh", 20)}, dict.fromkeys(["never", *"abcdefgh"], 10.0)
    )
    left = lab.run(2600.0)
    assert [one.group for one in left] == ["never"]
    assert lab.now == 2600.0, "what is left goes to it"


def test_a_tight_budget_decides_as_many_as_it_can() -> None:
    """Ten alike, time for half of them: pairs are not spread so thin that nothing is decided."""
    lab = Lab(dict.fromkeys("abcdefghij", LEAST), dict.fromkeys("abcdefghij", 10.0))
    left = lab.run(LEAST * 10.0 * 5)
    assert 10 - len(left) >= 4


def test_real_verdicts_are_decided_in_order_of_ease() -> None:
    """With the real judge: a clear step and a quiet benchmark are done before a noisy one gets its time."""
    rng = np.random.default_rng(7)
    truth = {"step": (1.2, 0.01), "quiet": (1.0, 0.004), "noisy": (1.0, 0.06)}
    ratios: dict[str, list[float]] = {name: [] for name in truth}
    chooser = Scheduler(estimates=dict.fromkeys(truth, 1.0), policy=POLICY)
    decided_at: dict[str, int] = {}
    for number in range(60):
        sessions = [one for name, found in ratios.items() for one in pairs(found, benchmark=name)]
        rows = judge(evidence(sessions), POLICY)
        for one in rows:
            if one.outcome is not Outcome.INCONCLUSIVE:
                decided_at.setdefault(one.benchmark.partition(".track")[0], number)
        step = chooser.next(
            chooser.needs(rows, {(k, "search"): len(v) for k, v in ratios.items()}), 60 - number
        )
        if step is None:
            break
        ratio, noise = truth[step.group]
        ratios[step.group].append(ratio * float(np.exp(rng.normal(0, noise))))
        chooser.served(step, 1.0)
    assert {"step", "quiet"} <= decided_at.keys()
    assert max(decided_at["step"], decided_at["quiet"]) < 45
