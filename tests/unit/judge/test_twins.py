"""The same workload in several frameworks."""

from __future__ import annotations

import pytest
from evidence_factory import NEW, TORCH, evidence, noisy, session

from stepwatch.model import Side
from stepwatch.policy import Policy
from stepwatch.verdict import CampaignSession, Evidence, Twin, compare_twins, judge


def round_of(
    pair: int, eager: float, *, side: Side = Side.BESIDE, campaign: str = "c"
) -> list[CampaignSession]:
    """One round: JAX on both sides, eager and compiled torch beside them."""
    wobble = 1 + 0.1 * (pair % 2)

    def metrics(factor: float) -> dict[str, float]:
        return {
            "step_cpu": 0.002 * wobble * factor,
            "step_wall": 0.003 * wobble * factor,
            "compile_cold": 1.5,
        }

    torch = {"side": side, "pair": pair, "campaign": campaign}
    warm = {"step_cpu": 0.0018 * wobble, "step_wall": 0.0019, "compile_warm": 1.1}
    return [
        session(Side.BASELINE, pair, metrics=metrics(0.1)),
        session(Side.CONTENDER, pair, campaign="c", metrics=metrics(1.0)),
        session(**torch, benchmark="mlp.bench.TorchEager", variant="torch-eager", metrics=metrics(eager)),
        session(**torch, benchmark="mlp.bench.TorchCompile", variant="torch-compile", metrics=warm),
    ]


def twin(found: Evidence) -> Twin:
    (only,) = compare_twins(found, Policy())
    return only


def rounds(count: int, **changes) -> list[CampaignSession]:  # noqa: ANN003  passed on
    return [
        found
        for number, ratio in enumerate(noisy(1.5, count, noise=0.005))
        for found in round_of(number, ratio, **changes)
    ]


def test_variants_of_a_workload_with_paired_ratios() -> None:
    found = twin(evidence(rounds(6)))
    assert [v.variant for v in found.variants] == ["jax-jit", "torch-eager", "torch-compile"]
    jax, eager, compiled = found.variants
    assert (jax.release, eager.release) == (NEW, TORCH)
    assert (jax.ratio_cpu, jax.ratio_wall) == (None, None)
    assert eager.ratio_cpu is not None
    assert eager.ratio_cpu.low is not None
    assert eager.ratio_cpu.high is not None
    assert eager.ratio_cpu.value == pytest.approx(1.5, rel=0.01)
    assert eager.ratio_cpu.high / eager.ratio_cpu.low < 1.1, "paired: the wobble of a round cancels"
    assert jax.step_cpu is not None
    assert jax.step_cpu.low is not None
    assert (compiled.compile_cold, compiled.compile_warm) == (None, pytest.approx(1.1))
    assert all(variant.notes == [] for variant in found.variants)


def test_below_the_minimum_it_says_so_instead_of_an_interval() -> None:
    found = twin(evidence(rounds(2)))
    assert found.variants[1].notes == ["an interval needs 4 sessions, has 2"]
    assert found.variants[1].ratio_cpu is not None
    assert found.variants[1].ratio_cpu.low is None


def test_sessions_measured_alone_give_a_ratio_without_interval() -> None:
    found = twin(evidence(rounds(6, side=Side.SINGLE, campaign="torch-2.13.0")))
    eager = found.variants[1]
    assert eager.ratio_cpu is not None
    assert eager.ratio_cpu.low is None
    assert "not measured in the same rounds as the reference: no interval for the ratio" in eager.notes


@pytest.mark.parametrize("more", [0, 2])
def test_the_ratio_is_the_quotient_of_the_shown_values(more: int) -> None:
    """JAX in two rounds more than its twins, as `--beside-sessions` makes it."""
    extra = [session(Side.CONTENDER, 10 + n, campaign="c", metrics={"step_cpu": 0.009}) for n in range(more)]
    jax, *twins = twin(evidence([*rounds(6), *extra])).variants
    note = "steps are those of the 6 rounds that all variants beside it share"
    assert (note in jax.notes) == bool(more)
    assert jax.step_cpu is not None
    for other in twins:
        assert other.step_cpu is not None
        assert other.ratio_cpu is not None
        assert other.ratio_cpu.low is not None
        assert other.ratio_cpu.value == pytest.approx(other.step_cpu.value / jax.step_cpu.value)


def test_a_verdict_and_a_twin_show_one_value() -> None:
    sessions = [
        found
        for number in range(6)
        for found in (
            session(Side.BASELINE, number, metrics={"step_cpu": 0.001 + number * 1e-4}),
            session(Side.CONTENDER, number, metrics={"step_cpu": 0.002 + number**2 * 1e-4}),
            session(Side.BESIDE, number, benchmark="mlp.bench.TorchEager", variant="torch-eager"),
        )
    ]
    (verdict,) = judge(evidence(sessions), Policy(metrics=("step_cpu",)))
    shown = twin(evidence(sessions)).variants[0].step_cpu
    assert shown is not None
    assert verdict.contender.value == pytest.approx(shown.value)


def test_without_the_reference_there_is_no_ratio() -> None:
    sessions = [s for s in rounds(6) if s.record.variant != "jax-jit"]
    found = twin(evidence(sessions))
    assert found.notes == ["no jax-jit session of this workload: no ratio"]
    assert all(variant.ratio_cpu is None for variant in found.variants)


def test_one_variant_alone_is_no_twin() -> None:
    assert compare_twins(evidence([session(Side.CONTENDER, 0)]), Policy()) == []


def test_other_sizes_accelerators_and_the_baseline_take_no_part() -> None:
    torch = {"benchmark": "mlp.bench.TorchEager", "variant": "torch-eager"}
    sessions = [
        session(Side.CONTENDER, 0),
        session(Side.BESIDE, 0, size="gpu", **torch),
        session(Side.BESIDE, 0, accelerator="cuda12", **torch),
        session(Side.BASELINE, 0, **torch),
        session(Side.SINGLE, 0, release="jax/0.4.30", **torch),
    ]
    assert compare_twins(evidence(sessions), Policy()) == []
    own = session(Side.SINGLE, 0, release=NEW, **torch)
    assert len(twin(evidence([*sessions, own])).variants) == 2


def test_foreign_variants_come_last() -> None:
    sessions = [
        session(Side.BESIDE, 0, benchmark="mlp.bench.Mlx", variant="mlx"),
        session(Side.CONTENDER, 0),
    ]
    assert [v.variant for v in twin(evidence(sessions)).variants] == ["jax-jit", "mlx"]


def test_values_of_zero_have_neither_interval_nor_ratio() -> None:
    torch = {"benchmark": "mlp.bench.TorchEager", "variant": "torch-eager", "metrics": {"step_cpu": 0.0}}
    found = twin(evidence([session(Side.CONTENDER, 0), session(Side.BESIDE, 0, campaign="other", **torch)]))
    assert found.variants[1].step_cpu is None
    assert found.variants[1].ratio_cpu is None


def test_a_planted_twin_says_so() -> None:
    planted = {"spec": "b64", "planted_slowdown": 1.1}
    sessions = [session(Side.CONTENDER, 0, settings=planted), session(Side.BESIDE, 0, variant="torch-eager")]
    assert twin(evidence(sessions)).variants[0].notes[0].startswith("SELF-TEST: a slowdown (mlp 1.1x)")
