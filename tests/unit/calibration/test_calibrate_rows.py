"""From A/A sessions to calibrations: which pairs count, for what budget, in what family."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from evidence_factory import NEW, evidence, failure, session
from stand_in_rules import MeanRule, TProcessRule

from stepwatch.measure.calibration import LONGEST_REPLAY, calibrate, of_groups
from stepwatch.model import Side
from stepwatch.policy import Policy
from stepwatch.units import Direction
from stepwatch.verdict import MetricTraits
from stepwatch.verdict.calibration import CalibrationRecord, Margins

if TYPE_CHECKING:
    from stepwatch.stats.calibration import Rule
    from stepwatch.verdict import CampaignSession

STEP = Policy(metrics=("step_cpu",))
MINUTE = 60.0


def a_a(  # noqa: PLR0913  one parameter per way in which noise can differ
    name: str,
    n: int,
    *,
    sd: float = 0.01,
    order: float = 0.0,
    seed: int = 0,
    metric: str = "step_cpu",
    **changes: Any,
) -> list[CampaignSession]:
    """A/A pairs whose second session is slower by the log `order`."""
    rng = np.random.default_rng(seed)
    found = []
    for pair in range(n):
        first = int(rng.integers(2))
        for side in (Side.BASELINE, Side.CONTENDER):
            position = first if side is Side.BASELINE else 1 - first
            level = 0.004 * math.exp(rng.normal(0, sd) + order * position)
            samples = [float(level * factor) for factor in np.exp(rng.normal(0, 0.02, 30))]
            one = session(
                side, pair, release=NEW, benchmark=name, metrics={metric: samples},
                started_at=1e9 + pair, **changes,
            )  # fmt: skip
            found.append(dataclasses.replace(one, place=_at(one, position)))
    return found


def _at(one: CampaignSession, position: int) -> Any:
    return type(one.place)(
        session=one.place.session, release=NEW, side=one.place.side, pair=one.place.pair, position=position
    )


def records(
    sessions: list[CampaignSession],
    policy: Policy = STEP,
    *,
    budget: float = MINUTE,
    rule: Rule | None = None,
    **changes: Any,
) -> list[CalibrationRecord]:
    found = evidence(sessions, baseline=NEW, contender=NEW, **changes)

    def rule_for(family: int) -> Rule:
        return rule or TProcessRule(family=family)

    return list(calibrate(found, policy, rule_for, machine="lab", budget_seconds=budget))


def test_each_benchmark_gets_its_noise_its_alarms_and_its_effect() -> None:
    sessions = [*a_a("a.bench.JaxJit", 16, sd=0.002), *a_a("b.bench.JaxJit", 16, sd=0.03)]
    quiet, loud = records(sessions, budget=2 * MINUTE)
    assert (quiet.benchmark, quiet.release, quiet.pairs) == ("a.bench.JaxJit.track_step_cpu", NEW, 16)
    assert quiet.measured_at == 1e9 + 15
    assert quiet.margins == Margins.of(STEP)
    assert (quiet.identity.machine, quiet.identity.device, quiet.identity.turns) == (
        "lab",
        "a processor",
        False,
    )
    assert quiet.noise is not None
    assert loud.noise is not None
    assert quiet.noise.pair_sd < loud.noise.pair_sd
    assert _effect(quiet) < _effect(loud)


def _effect(record: CalibrationRecord) -> float:
    assert record.detectable is not None
    return math.inf if record.detectable.effect is None else record.detectable.effect


def test_the_budget_is_shared_evenly_by_the_seconds_of_a_pair() -> None:
    sessions = [*a_a("a.bench.JaxJit", 6, wall_seconds=2.0), *a_a("b.bench.JaxJit", 6, wall_seconds=7.5)]
    rule = MeanRule(bound=0.01)
    found = records(sessions, budget=210.0, rule=rule)
    assert [record.pair_seconds for record in found] == [5.0, 16.0]
    assert {record.budget_pairs for record in found} == {10}
    for budget, pairs in ((1.0, 1), (1e6, LONGEST_REPLAY)):
        assert {one.budget_pairs for one in records(sessions, budget=budget, rule=rule)} == {pairs}


def test_the_effect_is_that_of_a_lone_change_and_the_rate_that_of_a_row_alone() -> None:
    many = [one for name in "abcdef" for one in a_a(f"{name}.bench.JaxJit", 12, seed=1)]
    found = records(many, budget=6 * MINUTE)[0]
    assert (found.family, found.budget_pairs) == (6, 8)
    (alone,) = records(a_a("a.bench.JaxJit", 12, seed=1))
    assert alone.family == 1
    assert _effect(found) > _effect(alone)


def test_replays_take_the_differences_of_place() -> None:
    """An effect of order is no effect of side: with it, the replays hold a large, cancelling difference."""
    (found,) = records(a_a("a.bench.JaxJit", 16, order=0.2), budget=140.0)
    assert found.noise is not None
    assert found.noise.pair_sd > 0.15
    assert found.false_alarms is not None
    assert found.false_alarms.rate <= 0.02


def test_five_pairs_say_nothing_but_their_noise() -> None:
    (found,) = records(a_a("a.bench.JaxJit", 5))
    assert (found.false_alarms, found.detectable) == (None, None)
    assert found.noise is not None
    (one,) = records(a_a("a.bench.JaxJit", 1))
    assert one.noise is None


def test_what_repeats_exactly_needs_no_calibration_and_is_no_family() -> None:
    traits = {"a.bench.JaxJit.track_temp_bytes": MetricTraits(better=Direction.LOWER, exact=True)}
    sessions = [
        session(
            side, n, release=NEW, benchmark="a.bench.JaxJit", metrics={"temp_bytes": 7.0, "step_cpu": 1.0 + n}
        )
        for n in range(8)
        for side in (Side.BASELINE, Side.CONTENDER)
    ]
    policy = Policy(metrics=("step_cpu", "temp_bytes"))
    step, exact = records(sessions, policy, traits=traits)
    assert (exact.exact, exact.noise, exact.detectable, exact.family) == (True, None, None, 1)
    assert _effect(step) < 0.011, "without noise the floor alone is between"


def test_values_of_zero_have_no_noise_to_speak_of() -> None:
    sessions = [
        session(side, n, release=NEW, metrics={"recompiles": float(n % 2)})
        for n in range(8)
        for side in (Side.BASELINE, Side.CONTENDER)
    ]
    (found,) = records(sessions, Policy(metrics=("recompiles",)))
    assert (found.exact, found.noise, found.detectable, found.pairs) == (False, None, None, 8)


def test_sessions_of_another_identity_do_not_count() -> None:
    sessions = a_a("a.bench.JaxJit", 8)
    odd = [
        session(side, 8, release=NEW, benchmark="a.bench.JaxJit", settings={"turns": 40})
        for side in (Side.BASELINE, Side.CONTENDER)
    ]
    (found,) = records([*sessions, *odd])
    assert found.pairs == 8


def test_half_pairs_failed_sides_and_unmeasured_metrics_make_no_row() -> None:
    half = [session(Side.BASELINE, 0, release=NEW)]
    assert records(half) == []
    assert records([]) == []
    both = a_a("a.bench.JaxJit", 6, metric="step_wall")
    assert records(both) == []
    assert records([], failures=(failure(Side.BASELINE),)) == []


def test_benchmarks_that_were_not_asked_for_are_left_out() -> None:
    found = evidence([*a_a("a.bench.JaxJit", 2), *a_a("b.bench.JaxJit", 2)], baseline=NEW, contender=NEW)
    assert {one.record.benchmark for one in of_groups(found, {"b.bench.JaxJit"}).sessions} == {
        "b.bench.JaxJit"
    }


def test_the_same_pairs_give_the_same_figures() -> None:
    sessions = a_a("a.bench.JaxJit", 9)
    assert records(sessions) == records(sessions)
