"""A regression is reported only if fresh pairs say so too."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from evidence_factory import MLP, evidence, header, line_of, noisy, pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.history.campaigns import Comparison, select
from stepwatch.history.credibility import credible
from stepwatch.history.sidecar import Sidecar
from stepwatch.model import MetricSamples, Outcome, Side
from stepwatch.policy import Policy
from stepwatch.verdict import CampaignSession, Evidence, Verdict, judge, judge_confirmed

if TYPE_CHECKING:
    from pathlib import Path

POLICY = Policy(metrics=("step_cpu",), floor=0.0025, min_effect=0.02)
SLOW = pairs(noisy(1.1, 8, seed=1))


def fresh(ratios: list[float], **changes: Any) -> tuple[CampaignSession, ...]:
    """Pairs of the stage `confirm`."""
    return tuple(
        dataclasses.replace(one, place=msgspec.structs.replace(one.place, stage="confirm"))
        for one in pairs(ratios, **changes)
    )


def only(found: Evidence, policy: Policy = POLICY) -> Verdict:
    (row,) = judge_confirmed(found, policy)
    return row


def test_the_search_suspects_and_the_fresh_pairs_confirm() -> None:
    row = only(evidence(SLOW, fresh=fresh(noisy(1.1, 8, seed=2))))
    assert row.outcome is Outcome.REGRESSED
    assert row.reason.endswith("; confirmed on 8 fresh pairs")
    assert row.confirmation is not None
    assert (row.confirmation.outcome, row.confirmation.sessions) == ("confirmed", 8)
    assert row.confirmation.ratio == pytest.approx(1.1, rel=0.02)
    assert row.confirmation.e_value is not None
    assert row.confirmation.e_value >= 1 / POLICY.alpha
    assert row.blame_range is not None


def test_the_search_row_keeps_its_own_numbers() -> None:
    (searched,) = judge(evidence(SLOW), POLICY)
    row = only(evidence(SLOW, fresh=fresh(noisy(1.3, 8, seed=2))))
    assert (row.ratio, row.e_value, row.sessions) == (searched.ratio, searched.e_value, searched.sessions)


def test_fresh_pairs_within_the_minimal_effect_refute_it() -> None:
    row = only(evidence(SLOW, fresh=fresh(noisy(1.0, 12, noise=0.003, seed=3))))
    assert row.outcome is Outcome.INCONCLUSIVE
    assert row.confirmation is not None
    assert row.confirmation.outcome == "refuted"
    assert "suspected regression (1.10x over 8 pairs); 12 fresh pairs refute it" in row.reason
    assert row.blame_range is None
    assert not row.proven_beyond_min_effect


def test_fresh_pairs_in_the_other_direction_refute_it() -> None:
    row = only(evidence(SLOW, fresh=fresh(noisy(0.9, 8, seed=3))))
    assert (row.outcome, row.confirmation and row.confirmation.outcome) == (Outcome.INCONCLUSIVE, "refuted")


def test_what_both_prove_to_be_small_is_unchanged() -> None:
    slight = pairs(noisy(1.008, 12, noise=0.001, seed=4))
    (searched,) = judge(evidence(slight), POLICY)
    assert searched.outcome is Outcome.REGRESSED
    assert (
        only(evidence(slight, fresh=fresh(noisy(1.0, 12, noise=0.001, seed=5)))).outcome is Outcome.UNCHANGED
    )


def test_too_few_fresh_pairs_are_no_confirmation() -> None:
    row = only(evidence(SLOW, fresh=fresh(noisy(1.1, 2, seed=2))))
    assert row.outcome is Outcome.INCONCLUSIVE
    assert row.confirmation is not None
    assert (row.confirmation.outcome, row.confirmation.sessions) == ("inconclusive", 2)
    assert "not confirmed on 2 fresh pairs: needs" in row.reason


def test_without_a_fresh_pair_it_depends_on_what_was_asked_for() -> None:
    assert only(evidence(SLOW)).outcome is Outcome.REGRESSED
    assert only(evidence(SLOW)).confirmation is None
    row = only(evidence(SLOW, must_confirm=True))
    assert (row.outcome, row.confirmation and row.confirmation.outcome) == (Outcome.INCONCLUSIVE, "pending")
    assert row.reason.endswith("no fresh pair has tested it yet")


def test_an_exact_regression_is_confirmed_by_two_fresh_sessions_that_repeat_it() -> None:
    policy = Policy(metrics=("temp_bytes",))
    searched = pairs([2.0, 2.0], metric="temp_bytes", base=1024.0)
    flat = evidence([_flat(one) for one in searched], fresh=tuple(map(_flat, fresh([2.0, 2.0]))))
    row = only(flat, policy)
    assert row.outcome is Outcome.REGRESSED
    assert row.confirmation is not None
    assert (row.confirmation.outcome, row.confirmation.sessions) == ("confirmed", 2)


def _flat(one: CampaignSession, old: float = 1024.0, new: float = 2048.0) -> CampaignSession:
    """The same session with an exact metric: one value per side."""
    value = old if one.place.side is Side.BASELINE else new
    metrics = {"temp_bytes": MetricSamples(samples=[value], unit="bytes")}
    return dataclasses.replace(one, record=msgspec.structs.replace(one.record, metrics=metrics))


def test_an_exact_regression_from_zero_that_does_not_repeat_is_refuted() -> None:
    searched = [_flat(one, old=0.0) for one in pairs([2.0, 2.0])]
    again = tuple(_flat(one, old=0.0, new=0.0) for one in fresh([2.0] * 8))
    row = only(evidence(searched, fresh=again), Policy(metrics=("temp_bytes",)))
    assert (row.outcome, row.confirmation and row.confirmation.outcome) == (Outcome.INCONCLUSIVE, "refuted")


def test_improvements_and_the_rest_are_left_alone() -> None:
    for ratio in (0.9, 1.0):
        found = evidence(pairs(noisy(ratio, 12, noise=0.003, seed=6)), must_confirm=True)
        assert judge_confirmed(found, POLICY) == judge(found, POLICY)


def test_regressions_first_then_suspects_before_other_doubtful_rows() -> None:
    sessions = [
        *pairs(noisy(1.2, 8, seed=1), benchmark="a.bench.JaxJit"),
        *pairs(noisy(1.1, 8, seed=2), benchmark="b.bench.JaxJit"),
        *pairs(noisy(1.0, 4, noise=0.1, seed=3), benchmark="0.bench.JaxJit"),
        *pairs(noisy(1.0, 30, noise=0.002, seed=4), benchmark="1.bench.JaxJit"),
    ]
    found = evidence(
        sessions, fresh=fresh(noisy(1.1, 8, seed=5), benchmark="b.bench.JaxJit"), must_confirm=True
    )
    rows = judge_confirmed(found, POLICY)
    assert [(row.benchmark[0], row.outcome) for row in rows] == [
        ("b", Outcome.REGRESSED),
        ("a", Outcome.INCONCLUSIVE),
        ("0", Outcome.INCONCLUSIVE),
        ("1", Outcome.UNCHANGED),
    ]


def test_stages_are_told_apart_on_disk_and_in_the_selection(tmp_path: Path) -> None:
    lines = [line_of(one) for one in (*SLOW, *fresh(noisy(1.1, 3)))]
    sidecar = Sidecar(
        path=tmp_path / "jax-0.4.31..jax-0.4.33.jsonl",
        header=header(), sessions=tuple(lines), failures=(), notes=(),
    )  # fmt: skip
    (kept,) = credible((sidecar,))
    assert not kept.notes, "a fresh pair is no second session of a round of the search"
    asked = Comparison(baseline="jax/0.4.31", contender="jax/0.4.33")
    found = select([kept], asked, {}).evidence
    assert (len(found.sessions), len(found.fresh)) == (16, 6)
    alone = select([kept], Comparison(baseline=None, contender="jax/0.4.33"), {}).evidence
    assert not alone.fresh


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.8, 1.3), min_size=1, max_size=12),
    st.lists(st.floats(0.8, 1.3), max_size=12),
    st.booleans(),
)
def test_confirmation_never_adds_a_regression(
    search: list[float],
    again: list[float],
    must: bool,  # noqa: FBT001  Hypothesis gives it
) -> None:
    found = evidence(pairs(search), fresh=fresh(again), must_confirm=must)
    before = {row.benchmark for row in judge(found, POLICY) if row.outcome is Outcome.REGRESSED}
    rows = judge_confirmed(found, POLICY)
    assert {row.benchmark for row in rows if row.outcome is Outcome.REGRESSED} <= before
    assert {row.benchmark for row in rows} == {f"{MLP}.track_step_cpu"}
