"""Outcomes of values that repeat exactly, and of values that are zero now and then."""

from __future__ import annotations

import numpy as np
import pytest
from evidence_factory import evidence, session

from stepwatch.model import Outcome, Side
from stepwatch.policy import Policy
from stepwatch.verdict import Verdict, judge


def one(found, policy: Policy) -> Verdict:  # noqa: ANN001  Evidence
    (verdict,) = judge(found, policy)
    return verdict


def zeros(old: list[float], new: list[float], *, metric: str) -> Verdict:
    sessions = [
        session(side, number, metrics={metric: value})
        for side, values in ((Side.BASELINE, old), (Side.CONTENDER, new))
        for number, value in enumerate(values)
    ]
    return one(evidence(sessions), Policy(metrics=(metric,)))


@pytest.mark.parametrize("metric", ["recompiles", "step_cpu"])
def test_from_zero_a_side_wholly_above_the_other_is_called_from_six_pairs_on(metric: str) -> None:
    none, some = [0.0] * 6, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    worse, better = zeros(none, some, metric=metric), zeros(some, none, metric=metric)
    assert (worse.outcome, better.outcome) == (Outcome.REGRESSED, Outcome.IMPROVED)
    assert (worse.method, worse.ratio, worse.ratio_low) == ("exact", None, None)
    assert (better.ratio, better.ratio_low) == (0.0, None)
    assert worse.proven_beyond_min_effect
    early = zeros(none[:5], some[:5], metric=metric)
    assert (early.outcome, early.reason) == (
        Outcome.INCONCLUSIVE,
        "needs 6 sessions on each side, has 5",
    )


def test_zeros_on_both_sides_that_overlap_stay_undecided() -> None:
    verdict = zeros([0.0, 1.0] * 6, [1.0, 2.0] * 6, metric="recompiles")
    assert (verdict.outcome, verdict.method) == (Outcome.INCONCLUSIVE, "none")
    assert "no ratio can be tested" in verdict.reason


def test_zero_in_every_session_is_unchanged_for_every_metric() -> None:
    verdict = zeros([0.0] * 6, [0.0] * 6, metric="step_cpu")
    assert (verdict.outcome, verdict.ratio) == (Outcome.UNCHANGED, 1.0)
    assert verdict.reason == "equal in every session"
    assert zeros([0.0] * 5, [0.0] * 5, metric="step_cpu").outcome is Outcome.INCONCLUSIVE


def test_separation_is_rare_without_a_change_however_often_one_looks() -> None:
    """2 / C(12, 6) = 0.2 % at six pairs, and never more later: what is separated was so before."""
    rng = np.random.default_rng(3)
    called = 0
    for _ in range(300):
        old, new = rng.integers(0, 1000, (2, 8)).astype(float)
        old[0] = 0.0
        looks = [zeros(list(old[:n]), list(new[:n]), metric="recompiles") for n in range(6, 9)]
        called += any(v.outcome in (Outcome.REGRESSED, Outcome.IMPROVED) for v in looks)
    assert called <= 3


EXACT = Policy(metrics=("temp_bytes",))


@pytest.mark.parametrize(
    ("old", "new", "outcome", "ratio"),
    [
        (4096, 4096, Outcome.UNCHANGED, 1.0),
        (4096, 8192, Outcome.REGRESSED, 2.0),
        (8192, 4096, Outcome.IMPROVED, 0.5),
        (0, 0, Outcome.UNCHANGED, 1.0),
        (0, 64, Outcome.REGRESSED, None),
        (64, 0, Outcome.IMPROVED, 0.0),
        (1_000_000, 1_000_256, Outcome.UNCHANGED, 1.000256),
    ],
)
def test_exact_metrics_are_compared_exactly(
    old: float, new: float, outcome: Outcome, ratio: float | None
) -> None:
    sessions = []
    for number in range(2):
        sessions.append(session(Side.BASELINE, number, metrics={"temp_bytes": float(old)}))
        sessions.append(session(Side.CONTENDER, number, metrics={"temp_bytes": float(new)}))
    verdict = one(evidence(sessions), EXACT)
    assert (verdict.outcome, verdict.method, verdict.e_value) == (outcome, "exact", None)
    assert verdict.ratio == (None if ratio is None else pytest.approx(ratio))
    assert verdict.ratio_low == verdict.ratio_high == verdict.ratio
    assert (verdict.baseline.value, verdict.contender.value) == (old, new)
    assert verdict.proven_beyond_min_effect == (outcome in (Outcome.REGRESSED, Outcome.IMPROVED))
    assert verdict.unit == "bytes"
