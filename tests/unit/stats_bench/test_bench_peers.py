"""The peers that are written here: against SciPy, asv, and steps whose answer is plain."""

from __future__ import annotations

import numpy as np
import pytest
from asv._stats import is_different
from scipy import stats
from stats_bench import generators
from stats_bench.peers import pairwise, perfherder


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_perfherder_finds_a_clear_step_where_it_is() -> None:
    values = generators.online("iid", 0.2, rng(), series=1)[0]
    assert perfherder.detect(values.tolist()) == [110]


def test_perfherder_waits_for_a_full_window_after_the_step() -> None:
    values = generators.online("iid", 0.2, rng(), series=1)[0].tolist()
    assert perfherder.detect(values[: 110 + 8]) == []
    assert perfherder.detect(values[: 110 + 12]) == [110]


def test_perfherder_ignores_small_and_unclear_differences() -> None:
    values = generators.online("iid", 0.01, rng(), series=1)[0].tolist()
    assert perfherder.detect(values) == []
    assert perfherder.detect([1.0] * 40) == []
    assert perfherder.detect([1.0] * 20 + [1.5] * 20) == [20]
    assert perfherder.detect([0.0] * 20 + [1.5] * 20) == [20]
    assert perfherder.detect([1.0, 2.0]) == []


def test_perfherders_statistic_with_flat_weights_would_be_welchs() -> None:
    left, right = rng().normal(1, 0.1, 12), rng(4).normal(1.1, 0.2, 12)
    weighted = perfherder.statistic(left.tolist(), right.tolist())
    assert np.sign(weighted) == np.sign(stats.ttest_ind(right, left, equal_var=False).statistic)
    assert perfherder.statistic([1.0] * 3, [1.0] * 3) == 0.0
    assert perfherder.weights(4) == [1.0, 0.75, 0.5, 0.25]


def test_t_after_each_pair_is_scipys() -> None:
    differences = rng().normal(0.01, 0.02, (5, 12))
    ours = pairwise.t_values(differences, 0.004)
    for n in range(2, 13):
        assert ours[:, n - 1] == pytest.approx(stats.ttest_1samp(differences[:, :n], 0.004, axis=1).statistic)


def test_e_values_are_the_integral_they_stand_for() -> None:
    """E = integral of noncentral over central t density, effect ~ normal(0, 1): by quadrature."""
    n, t = 6, 2.5
    differences = rng().normal(0, 1, n)
    differences = differences - differences.mean()
    differences += t * differences.std(ddof=1) / np.sqrt(n)
    effects = np.linspace(-8, 8, 4001)
    likelihood = stats.nct.pdf(t, n - 1, effects * np.sqrt(n)) / stats.t.pdf(t, n - 1)
    expected = np.trapezoid(likelihood * stats.norm.pdf(effects), effects)
    assert pairwise.log_e_values(differences[None, :], 0.0)[0, -1] == pytest.approx(
        np.log(expected), rel=1e-3
    )


def test_sequential_peers_stop_at_a_clear_effect_and_call_its_direction() -> None:
    differences = rng().normal(-0.05, 0.005, (20, 30))
    for judge in (pairwise.peeking_t, pairwise.plain_e_process, pairwise.obrien_fleming, pairwise.fixed_t):
        codes, used = judge(differences)
        assert set(codes) == {-1}
        assert used.max() <= 10 or judge is pairwise.obrien_fleming


def test_peeking_calls_far_more_than_its_alpha_and_the_others_do_not() -> None:
    differences = rng().normal(0, 0.01, (2000, 30))
    rates = {
        judge.__name__: np.mean(np.abs(judge(differences)[0]) == 1)
        for judge in (pairwise.peeking_t, pairwise.plain_e_process, pairwise.obrien_fleming, pairwise.fixed_t)
    }
    assert rates["peeking_t"] > 0.15
    assert max(rate for name, rate in rates.items() if name != "peeking_t") < 0.065


def test_the_equivalence_stop_says_same() -> None:
    codes, used = pairwise.plain_e_process(rng().normal(0, 0.002, (50, 30)), margin=0.02)
    assert set(codes) == {pairwise.SAME}
    assert used.mean() < 6


def test_sign_flip_p_is_exact_for_few_pairs() -> None:
    p = pairwise.sign_flip_p(np.full((1, 6), 0.01) + 1e-4 * np.arange(6), rng())
    assert p[0] == pytest.approx(2 / 2**6)
    null = rng().normal(0, 0.01, (400, 10))
    assert np.mean(pairwise.sign_flip_p(null, rng()) < 0.05) == pytest.approx(0.05, abs=0.03)
    assert pairwise.sign_flip_p(np.full((1, 20), 0.01), rng())[0] < 1e-3


def test_benjamini_hochberg_is_scipys() -> None:
    p = np.concatenate([rng().uniform(0, 0.002, 5), rng(5).uniform(0, 1, 45)])
    assert np.array_equal(pairwise.benjamini_hochberg(p), stats.false_discovery_control(p) <= 0.05)
    assert not pairwise.benjamini_hochberg(np.ones(3)).any()


def test_asvs_rules_are_asvs() -> None:
    base, head = generators.process_pairs("gpu", rng(), 10, 0.03)
    assert is_different(base.ravel().tolist(), head.ravel().tolist(), {}, {})
    assert pairwise.asv_different(base, head) == 1
    assert pairwise.asv_different(head, base) == -1
    assert pairwise.asv_compare(base, head) == 0
    assert pairwise.asv_compare(base, head * 1.2) == 1
    assert pairwise.asv_different(base, base) == 0


@pytest.mark.parametrize(
    "compare",
    [
        pairwise.mann_whitney_pooled,
        pairwise.mann_whitney_sessions,
        pairwise.welch_sessions,
        pairwise.sign_flip_sessions,
    ],
)
def test_two_sided_rules_see_a_large_effect_and_its_direction(compare: object) -> None:
    base, head = generators.process_pairs("gpu", rng(), 10, 0.05)
    assert callable(compare)
    assert compare(base, head) == 1
    assert compare(head, base) == -1
    assert compare(base, base) == 0
