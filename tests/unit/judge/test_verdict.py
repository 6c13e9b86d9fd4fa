"""Outcomes and their evidence: every way a row can end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evidence_factory import (
    CAMPAIGN,
    MLP,
    NEW,
    OLD,
    evidence,
    failure,
    noisy,
    pairs,
    session,
)
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.model import MetricSamples, Outcome, Side
from stepwatch.policy import Policy
from stepwatch.units import Direction
from stepwatch.verdict import MetricTraits, Verdict, judge

POLICY = Policy(metrics=("step_cpu",))


def one(found, policy: Policy = POLICY) -> Verdict:  # noqa: ANN001  Evidence
    (verdict,) = judge(found, policy)
    return verdict


def test_a_slower_release_is_regressed_with_all_its_evidence() -> None:
    verdict = one(evidence(pairs(noisy(1.4, 8))))
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.benchmark == f"{MLP}.track_step_cpu"
    assert verdict.method == "paired-e-process"
    assert verdict.ratio == pytest.approx(1.4, rel=0.02)
    assert verdict.ratio_low is not None
    assert verdict.ratio_high is not None
    assert 1.3 < verdict.ratio_low < verdict.ratio < verdict.ratio_high < 1.5
    assert verdict.e_value is not None
    assert verdict.e_value > 20
    assert verdict.proven_beyond_min_effect
    assert verdict.blame_range is not None
    assert (verdict.blame_range.after, verdict.blame_range.through) == (OLD, NEW)
    assert verdict.sessions == verdict.baseline.sessions == verdict.contender.sessions == 8
    assert "floor of 0.25%" in verdict.reason


def test_a_faster_release_is_improved() -> None:
    verdict = one(evidence(pairs(noisy(0.7, 8))))
    assert verdict.outcome is Outcome.IMPROVED
    assert verdict.blame_range is not None


def test_where_higher_is_better_the_same_ratio_is_an_improvement() -> None:
    traits = {f"{MLP}.track_step_cpu": MetricTraits(better=Direction.HIGHER, exact=False)}
    verdict = one(evidence(pairs(noisy(1.4, 8)), traits=traits))
    assert (verdict.outcome, verdict.better) == (Outcome.IMPROVED, "higher")


def test_equal_sides_with_little_noise_are_unchanged() -> None:
    verdict = one(evidence(pairs(noisy(1.0, 10, noise=0.003))))
    assert verdict.outcome is Outcome.UNCHANGED
    assert verdict.blame_range is None
    assert not verdict.proven_beyond_min_effect


def test_noise_too_large_to_tell_is_inconclusive_not_unchanged() -> None:
    verdict = one(evidence(pairs(noisy(1.0, 10, noise=0.1))))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "more sessions decide it" in verdict.reason


@pytest.mark.parametrize("count", [1, 3, 5])
def test_below_the_minimum_the_reason_is_needs_n(count: int) -> None:
    verdict = one(evidence(pairs([40.0] * count)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == f"needs 6 sessions on each side, has {count}"
    assert verdict.ratio == pytest.approx(40)
    assert ((verdict.ratio_low, verdict.ratio_high) == (None, None)) == (count < 4)


def test_needs_n_is_the_least_that_could_ever_be_enough() -> None:
    sessions = [
        found
        for number in range(30)
        for found in pairs(noisy(1.0, 4, noise=0.1, seed=number), benchmark=f"w{number:02d}.bench.JaxJit")
    ]
    reasons = {verdict.reason for verdict in judge(evidence(sessions), POLICY)}
    assert reasons == {"needs 6 sessions on each side, has 4"}


def test_six_pairs_of_many_changed_rows_are_called_and_a_lone_change_is_told_what_it_needs() -> None:
    """e-BH asks M / (k alpha): 20 where every row changed, 240 for one of twelve, which needs 7 pairs."""

    def crowd(changed: int) -> list[Verdict]:
        return judge(
            evidence(
                [
                    found
                    for number in range(12)
                    for found in pairs(
                        noisy(1.4 if number < changed else 1.0, 6, noise=0.02, seed=number),
                        benchmark=f"w{number:02d}.bench.JaxJit",
                    )
                ]
            ),
            POLICY,
        )

    assert {verdict.outcome for verdict in crowd(12)} == {Outcome.REGRESSED}
    (lone,) = (verdict for verdict in crowd(1) if verdict.benchmark.startswith("w00"))
    assert lone.outcome is Outcome.INCONCLUSIVE
    assert lone.reason.endswith("(a lone change among 12 rows needs 7 on each side)")


def test_a_change_between_floor_and_minimal_effect_is_called_but_not_proven_relevant() -> None:
    verdict = one(evidence(pairs(noisy(1.016, 20, noise=0.002))))
    assert verdict.outcome is Outcome.REGRESSED
    assert not verdict.proven_beyond_min_effect


def test_a_change_below_the_floor_is_no_regression_however_certain() -> None:
    verdict = one(evidence(pairs(noisy(1.001, 20, noise=0.0005))))
    assert verdict.outcome is Outcome.UNCHANGED


def test_pairs_are_matched_by_campaign_and_round_and_halves_are_left_out() -> None:
    sessions = pairs(noisy(1.4, 8))
    sessions += [session(Side.BASELINE, 99, metrics={"step_cpu": 9.0})]
    sessions += [
        session(Side.CONTENDER, 99, campaign="another", metrics={"step_cpu": 1.0}),
    ]
    verdict = one(evidence(sessions))
    assert (verdict.sessions, verdict.baseline.sessions, verdict.contender.sessions) == (8, 9, 9)
    assert "2 sessions without a partner left out" in verdict.notes


def test_one_half_pair_is_said_in_the_singular() -> None:
    sessions = [*pairs(noisy(1.4, 8)), session(Side.BASELINE, 99)]
    assert "1 session without a partner left out" in one(evidence(sessions)).notes


def test_no_complete_pair() -> None:
    sessions = [session(Side.BASELINE, 0), session(Side.CONTENDER, 1)]
    verdict = one(evidence(sessions))
    assert (verdict.outcome, verdict.reason) == (
        Outcome.INCONCLUSIVE,
        "no complete pair of sessions yet",
    )
    assert verdict.method == "none"
    assert verdict.ratio == pytest.approx(1.0)


@pytest.mark.parametrize(("side", "name"), [(Side.BASELINE, "baseline"), (Side.CONTENDER, "contender")])
def test_a_side_that_only_failed_is_broken(side: Side, name: str) -> None:
    other = Side.CONTENDER if side is Side.BASELINE else Side.BASELINE
    release = OLD if side is Side.BASELINE else NEW
    sessions = [session(other, number) for number in range(6)]
    verdict = one(evidence(sessions, [failure(side, release=release)]))
    assert verdict.outcome is Outcome.BROKEN
    assert verdict.reason.startswith(
        f"{name} {release}: no finished session; the last one failed: ImportError"
    )
    assert (verdict.blame_range is not None) == (side is Side.CONTENDER)


def test_an_environment_that_cannot_be_built_breaks_every_benchmark_of_its_side() -> None:
    sessions = [session(Side.BASELINE, 0), session(Side.BASELINE, 0, benchmark="gpt.bench.JaxJit")]
    broken = failure(None, benchmark=None, stage="environment", reason="no wheel for this Python")
    verdicts = judge(evidence(sessions, [broken]), POLICY)
    assert [verdict.outcome for verdict in verdicts] == [Outcome.BROKEN] * 2
    assert all("its environment could not be built: no wheel" in verdict.reason for verdict in verdicts)


def test_a_failure_of_another_release_concerns_nobody() -> None:
    sessions = pairs(noisy(1.0, 6, noise=0.001))
    failures = [
        failure(None, benchmark=None, release="torch/2.13.0", stage="environment"),
        failure(Side.BESIDE, release="torch/2.13.0", benchmark="mlp.bench.TorchEager"),
    ]
    verdict = one(evidence(sessions, failures))
    assert (verdict.outcome, verdict.notes) == (Outcome.UNCHANGED, [])


def test_nothing_measured_on_either_side_is_one_broken_row() -> None:
    failures = [failure(Side.BASELINE, release=OLD), failure(Side.CONTENDER)]
    verdicts = judge(evidence([], failures), Policy())
    assert [(verdict.outcome, verdict.metric) for verdict in verdicts] == [(Outcome.BROKEN, "step_cpu")]


def test_single_failures_beside_finished_sessions_are_a_note() -> None:
    verdict = one(evidence(pairs(noisy(1.4, 8)), [failure(Side.CONTENDER, reason="killed")]))
    assert verdict.outcome is Outcome.REGRESSED
    assert "1 failed on the contender: killed" in verdict.notes


def test_a_side_not_reached_yet_is_inconclusive() -> None:
    verdict = one(evidence([session(Side.BASELINE, 0)]))
    assert verdict.reason == f"no session of the contender {NEW} yet"
    assert verdict.ratio is None


def test_a_metric_measured_on_one_side_only() -> None:
    sessions = [session(Side.BASELINE, 0), session(Side.CONTENDER, 0, metrics={"first_step": 1.0})]
    verdict = one(evidence(sessions))
    assert verdict.reason == f"step_cpu was not measured on the contender {NEW}"
    assert verdict.ratio is None


def test_a_metric_measured_nowhere_has_no_row() -> None:
    assert judge(evidence(pairs([1.0] * 5)), Policy(metrics=("first_step",))) == []


def test_samples_that_are_not_finite_are_no_measurement() -> None:
    sessions = [
        session(Side.BASELINE, 0, metrics={"step_cpu": math.nan}),
        session(Side.CONTENDER, 0, metrics={"step_cpu": math.inf}),
    ]
    assert one(evidence(sessions)).outcome is Outcome.INCONCLUSIVE


def test_zeros_that_vary_cannot_be_a_ratio() -> None:
    sessions = [
        *pairs([1.0] * 6),
        session(Side.BASELINE, 9, metrics={"step_cpu": 0.0}),
        session(Side.CONTENDER, 9, metrics={"step_cpu": 1.0}),
    ]
    verdict = one(evidence(sessions))
    assert "no ratio can be tested" in verdict.reason


def test_negative_values_have_no_ratio() -> None:
    sessions = pairs([1.0] * 6, base=-1.0)
    assert one(evidence(sessions)).ratio is None


@given(st.lists(st.floats(0.2, 5), min_size=1, max_size=12), st.booleans())
def test_the_ratio_is_the_quotient_of_the_shown_values(ratios: list[float], half: bool) -> None:  # noqa: FBT001
    """Over the paired sessions: a session without a partner moves neither."""
    extra = [session(Side.BASELINE, 99, metrics={"step_cpu": 9.0})] if half else []
    verdict = one(evidence([*pairs(ratios), *extra]))
    assert verdict.baseline.value is not None
    assert verdict.contender.value is not None
    assert verdict.ratio == pytest.approx(verdict.contender.value / verdict.baseline.value, rel=1e-9)


def test_sides_in_different_units_are_incomparable() -> None:
    sessions = pairs([1.4] * 8)
    for found in sessions[::2]:
        found.record.metrics["step_cpu"] = MetricSamples(samples=[1.0], unit="bytes")
    verdict = one(evidence(sessions))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == "incomparable: unit bytes on the baseline, seconds on the contender"
    assert (verdict.ratio, verdict.baseline.value, verdict.contender.value) == (None, None, None)


EXACT = Policy(metrics=("temp_bytes",))


def test_one_session_of_an_exact_metric_is_not_enough() -> None:
    verdict = one(evidence(pairs([2.0], metric="temp_bytes", base=64.0)), EXACT)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == "needs 2 sessions on each side, has 1"


def test_an_exact_metric_that_varies_is_tested_like_any_other() -> None:
    verdict = one(evidence(pairs(noisy(1.5, 8), metric="temp_bytes", base=1e6)), EXACT)
    assert (verdict.outcome, verdict.method) == (Outcome.REGRESSED, "paired-e-process")


def test_units_that_nobody_knows_are_pure_numbers() -> None:
    verdict = one(evidence(pairs(noisy(1.5, 8), metric="loss")), Policy(metrics=("loss",)))
    assert verdict.unit == "1"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"parameters": 5}, "parameters 399370 on the baseline, 5 on the contender"),
        ({"size": "gpu"}, "size"),
        ({"settings": {"spec": "b128"}}, "specification b64"),
        ({"settings": {"spec": "b64", "benchmark_version": "2"}}, "benchmark version ?"),
    ],
)
def test_different_work_is_incomparable(change: dict[str, object], what: str) -> None:
    sessions = [session(Side.BASELINE, number) for number in range(6)]
    sessions += [session(Side.CONTENDER, number, **change) for number in range(6)]
    verdict = one(evidence(sessions))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("incomparable: ")
    assert what in verdict.reason


def test_a_different_loss_is_a_doubt() -> None:
    sessions = [session(Side.BASELINE, n, losses=[2.0, 1.0]) for n in range(6)]
    sessions += [session(Side.CONTENDER, n, losses=[2.0, 1.1]) for n in range(6)]
    assert any("loss differs (1 against 1.1)" in note for note in one(evidence(sessions)).notes)
    sessions = [
        session(side, n, losses=[2.0, 1.0]) for n in range(6) for side in (Side.BASELINE, Side.CONTENDER)
    ]
    assert one(evidence(sessions)).notes == []


def test_a_planted_slowdown_can_never_be_mistaken() -> None:
    sessions = [session(Side.BASELINE, n) for n in range(6)]
    sessions += [
        session(Side.CONTENDER, n, settings={"spec": "b64", "planted_slowdown": 1.1}) for n in range(6)
    ]
    assert any(note.startswith("SELF-TEST") for note in one(evidence(sessions)).notes)


def test_a_release_against_itself_has_no_blame_range() -> None:
    sessions = [
        session(Side(found.place.side), found.place.pair, release=NEW, metrics={"step_cpu": value})
        for found, value in zip(pairs([1.0] * 8), [1.0, 1.5] * 8, strict=True)
    ]
    verdict = one(evidence(sessions, baseline=NEW))
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.blame_range is None


def test_a_release_alone_has_no_verdicts() -> None:
    assert judge(evidence(pairs([1.4] * 8), baseline=None), POLICY) == []


def test_beside_sessions_are_not_judged() -> None:
    sessions = [*pairs(noisy(1.0, 6, noise=0.001)), session(Side.BESIDE, 0, benchmark="mlp.bench.TorchEager")]
    assert len(judge(evidence(sessions), POLICY)) == 1


def test_rows_come_regressed_first_worst_first() -> None:
    def bench(name: str, ratio: float, noise: float = 0.01) -> list:
        return pairs(noisy(ratio, 9, noise=noise), benchmark=f"{name}.bench.JaxJit")

    sessions = [
        *bench("calm", 1.0, 0.001),
        *bench("loud", 1.0, 0.2),
        *bench("slow", 1.3),
        *bench("worst", 9.0),
        *bench("fast", 0.9),
        *bench("fastest", 0.4),
        session(Side.BASELINE, 0, benchmark="broken.bench.JaxJit"),
    ]
    failures = [failure(Side.CONTENDER, benchmark="broken.bench.JaxJit")]
    names = [verdict.benchmark.split(".")[0] for verdict in judge(evidence(sessions, failures), POLICY)]
    assert names == ["worst", "slow", "broken", "fastest", "fast", "loud", "calm"]


def test_an_undefined_ratio_is_the_worst_of_all() -> None:
    def both(name: str, old: float, new: float) -> list:
        return [
            session(side, n, benchmark=f"{name}.bench.JaxJit", metrics={"temp_bytes": value})
            for n in range(2)
            for side, value in ((Side.BASELINE, old), (Side.CONTENDER, new))
        ]

    verdicts = judge(evidence([*both("some", 1.0, 9.0), *both("zero", 0.0, 9.0)]), EXACT)
    assert [verdict.ratio for verdict in verdicts] == [None, pytest.approx(9)]


def test_multiplicity_a_lone_weak_signal_in_a_large_family_is_not_called() -> None:
    weak = pairs(noisy(1.3, 6, noise=0.04, seed=3), benchmark="weak.bench.JaxJit")
    alone = judge(evidence(weak), POLICY)[0]
    crowd = [
        found
        for number in range(60)
        for found in pairs(noisy(1.0, 6, noise=0.04, seed=100 + number), benchmark=f"c{number}.bench.JaxJit")
    ]
    among = next(v for v in judge(evidence([*weak, *crowd]), POLICY) if v.benchmark.startswith("weak"))
    assert alone.outcome is Outcome.REGRESSED
    assert among.outcome is Outcome.INCONCLUSIVE
    assert among.e_value == alone.e_value


def test_aa_reports_raise_no_alarm() -> None:
    """60 reports of 12 unchanged benchmarks with 8 noisy pairs each: not one false regression."""
    rng = np.random.default_rng(20)
    alarms = 0
    for _ in range(60):
        sessions = [
            found
            for number in range(12)
            for found in pairs(
                [float(r) for r in np.exp(rng.standard_t(4, 8) * 0.04)], benchmark=f"w{number}.bench.JaxJit"
            )
        ]
        verdicts = judge(evidence(sessions), POLICY)
        alarms += any(v.outcome in (Outcome.REGRESSED, Outcome.IMPROVED) for v in verdicts)
    assert alarms <= 2


@given(
    st.lists(st.floats(0.2, 5), min_size=1, max_size=12),
    st.floats(1e-9, 1e6),
    st.sampled_from([0.001, 1.0, 1000.0]),
)
def test_outcomes_depend_on_neither_the_unit_nor_a_name(
    ratios: list[float], base: float, factor: float
) -> None:
    ours = one(evidence(pairs(ratios, base=base)))
    scaled = one(evidence(pairs(ratios, base=base * factor)))
    assert scaled.outcome is ours.outcome
    assert scaled.ratio == pytest.approx(ours.ratio, rel=1e-6)


@given(st.lists(st.floats(0.2, 5), min_size=1, max_size=12))
def test_swapping_the_releases_swaps_the_outcome(ratios: list[float]) -> None:
    mirror = {Outcome.REGRESSED: Outcome.IMPROVED, Outcome.IMPROVED: Outcome.REGRESSED}
    there = one(evidence(pairs(ratios)))
    back = one(evidence(pairs([1 / ratio for ratio in ratios])))
    assert back.outcome is mirror.get(there.outcome, there.outcome)


@given(st.lists(st.floats(0, 1e300), min_size=2, max_size=16), st.sampled_from(["step_cpu", "temp_bytes"]))
def test_no_data_crashes_the_judge(values: list[float], metric: str) -> None:
    sessions = [
        session(Side.BASELINE if place % 2 else Side.CONTENDER, place // 2, metrics={metric: value})
        for place, value in enumerate(values)
    ]
    verdict = one(evidence(sessions), Policy(metrics=(metric,)))
    for number in (verdict.ratio, verdict.ratio_low, verdict.ratio_high, verdict.e_value):
        assert number is None or math.isfinite(number)


def test_campaign_name_is_part_of_a_pair() -> None:
    assert session(Side.BASELINE, 3).key == (CAMPAIGN, 3)


def test_a_large_change_is_found_at_the_minimum_even_with_a_disturbed_pair() -> None:
    """Six pairs, one of them twice as far out: nothing is clipped away below ten."""
    verdict = one(evidence(pairs([39.0, 40.0, 38.5, 39.5, 41.0, 60.0])))
    assert verdict.outcome is Outcome.REGRESSED


def test_a_benchmark_skipped_on_both_sides_has_no_row_and_on_one_side_is_broken() -> None:
    skipped = [
        failure(side, release=release, stage="skipped", reason="jax is not installed")
        for side, release in ((Side.BASELINE, OLD), (Side.CONTENDER, NEW))
    ]
    assert judge(evidence([], skipped), POLICY) == []
    verdict = one(evidence([session(Side.BASELINE, 0)], skipped[1:]))
    assert verdict.outcome is Outcome.BROKEN
    assert verdict.reason.endswith("skipped: jax is not installed")
