"""The plan of a campaign: properties that resuming relies on."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stepwatch.measure.campaign import Comparison, PlannedSession, pair, plan, remaining, units
from stepwatch.model import Side

A, B, T = "jax/0.4.31", "jax/0.4.33", "torch/2.13.0"
NAMES = st.lists(
    st.from_regex(r"[a-z]{1,8}\.bench\.JaxJit", fullmatch=True), min_size=1, max_size=6, unique=True
)
SEEDS = st.integers(0, 2**31)
ROUNDS = st.integers(1, 6)


def pair_plan(names: list[str], rounds: int, seed: int, beside: tuple[str, ...] = ()) -> list[PlannedSession]:
    groups = {A: names, B: names, T: ["mlp.bench.TorchEager"]}
    return list(plan(Comparison(baseline=A, contender=B, beside=beside), groups, rounds=rounds, seed=seed))


@given(NAMES, ROUNDS, SEEDS)
def test_every_group_is_measured_once_a_side_and_round_in_adjacent_pairs(
    names: list[str], rounds: int, seed: int
) -> None:
    sessions = pair_plan(names, rounds, seed)
    keys = [s.key for s in sessions]
    assert len(set(keys)) == len(keys) == 2 * rounds * len(names)
    for first, second in zip(sessions[::2], sessions[1::2], strict=True):
        assert (first.key.round, first.key.benchmark) == (second.key.round, second.key.benchmark)
        assert {first.key.side, second.key.side} == {Side.BASELINE, Side.CONTENDER}
        assert (first.position, second.position) == (0, 1)
    assert all(before.key.round <= after.key.round for before, after in pairwise(sessions))


@given(NAMES, ROUNDS, SEEDS)
def test_every_second_round_reverses_the_order_of_the_one_before(
    names: list[str], rounds: int, seed: int
) -> None:
    first = {
        (s.key.benchmark, s.key.round): s.key.side
        for s in pair_plan(names, 2 * rounds, seed)
        if s.position == 0
    }
    for name in names:
        assert all(first[name, 2 * r] != first[name, 2 * r + 1] for r in range(rounds))


@given(NAMES, ROUNDS, SEEDS, st.integers(1, 4))
def test_more_rounds_change_nothing_that_was_planned(
    names: list[str], rounds: int, seed: int, more: int
) -> None:
    short, long = pair_plan(names, rounds, seed), pair_plan(names, rounds + more, seed)
    assert long[: len(short)] == short


@given(NAMES, ROUNDS, SEEDS, NAMES)
def test_more_groups_keep_the_order_of_the_earlier_ones(
    names: list[str], rounds: int, seed: int, others: list[str]
) -> None:
    before = pair_plan(names, rounds, seed)
    after = pair_plan([*names, *(o for o in others if o not in names)], rounds, seed)
    assert [s for s in after if s.key.benchmark in names] == before


@given(NAMES, ROUNDS, SEEDS)
def test_beside_is_measured_once_a_round_and_disturbs_no_pair(
    names: list[str], rounds: int, seed: int
) -> None:
    sessions = pair_plan(names, rounds, seed, beside=(T,))
    besides = [s for s in sessions if s.key.side is Side.BESIDE]
    assert [s.key.round for s in besides] == list(range(rounds))
    assert [s for s in sessions if s not in besides] == pair_plan(names, rounds, seed)


@given(NAMES, ROUNDS, SEEDS, st.data())
def test_what_remains_and_what_is_settled_make_the_whole(
    names: list[str], rounds: int, seed: int, data: st.DataObject
) -> None:
    sessions = pair_plan(names, rounds, seed)
    settled = data.draw(st.sets(st.sampled_from([s.key for s in sessions])))
    left = remaining(sessions, settled)
    assert [s for s in sessions if s.key not in settled] == list(left)


def test_order_is_random_over_rounds_and_seeds() -> None:
    sessions = pair_plan(["a.bench.JaxJit", "b.bench.JaxJit"], 400, 1)
    first_sides = [s.key.side for s in sessions[::2]]
    assert 320 < sum(side is Side.BASELINE for side in first_sides) < 480
    first_groups = [s.key.benchmark for s in sessions[::4]]
    assert 140 < sum(name.startswith("a") for name in first_groups) < 260
    assert pair_plan(["a.bench.JaxJit", "b.bench.JaxJit"], 400, 2) != sessions


def test_one_release_and_a_group_that_only_one_side_has() -> None:
    alone = plan(Comparison(baseline=None, contender=A), {A: ["x.bench.JaxJit"]}, rounds=1, seed=0)
    assert [(s.key.side, s.key.release, s.position) for s in alone] == [(Side.SINGLE, A, 0)]
    groups = {A: ["x.bench.JaxJit"], B: ["x.bench.JaxJit", "new.bench.JaxJit"]}
    pairs = plan(Comparison(baseline=A, contender=B), groups, rounds=1, seed=0)
    assert {s.key.benchmark for s in pairs} == {"x.bench.JaxJit"}


@given(NAMES, ROUNDS, SEEDS, st.data())
def test_units_are_the_sessions_in_order_with_whole_pairs_together(
    names: list[str], rounds: int, seed: int, data: st.DataObject
) -> None:
    sessions = pair_plan(names, rounds, seed, beside=(T,))
    left = [session for session in sessions if data.draw(st.booleans())]
    together = list(units(left, pairs_together=True))
    assert [session for unit in together for session in unit] == left
    for unit in together:
        assert len({(session.key.round, session.key.benchmark) for session in unit}) == 1
    whole = {key for key in {(s.key.round, s.key.benchmark) for s in left} if _pair_left(left, key)}
    assert {(u[0].key.round, u[0].key.benchmark) for u in together if len(u) == 2} == whole
    assert [(session,) for session in left] == list(units(left, pairs_together=False))


def _pair_left(left: list[PlannedSession], key: tuple[int, str]) -> bool:
    return sum((session.key.round, session.key.benchmark) == key for session in left) == 2


def test_a_single_pair_is_the_one_that_the_plan_has() -> None:
    groups = {"jax/1": ["a.A", "b.B"], "jax/2": ["a.A", "b.B"]}
    both = Comparison(baseline="jax/1", contender="jax/2")
    planned = plan(both, groups, rounds=9, seed=3)
    for number in range(9):
        for group in ("a.A", "b.B"):
            in_plan = [s for s in planned if (s.key.round, s.key.benchmark) == (number, group)]
            assert list(pair(both, group, number, seed=3)) == in_plan


def test_fresh_pairs_have_an_order_of_their_own_and_alternate_too() -> None:
    both = Comparison(baseline="jax/1", contender="jax/2")
    first = [
        [pair(both, "a.A", number, seed=seed, stage=stage)[0].key.side for number in range(12)]
        for seed in range(20)
        for stage in ("search", "confirm")
    ]
    assert first[::2] != first[1::2]
    assert all(order.count(Side.BASELINE) == 6 for order in first)
    assert {s.key.stage for s in pair(both, "a.A", 0, seed=1, stage="confirm")} == {"confirm"}
