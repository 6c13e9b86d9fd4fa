"""stepwatch enters the bench through the functions of its commands, and outcomes are counted rightly."""

from __future__ import annotations

import numpy as np
import pytest
from stats_bench import generators, ours, sequential

from stepwatch import stats
from stepwatch.stats import changepoint


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_detector_is_the_packages_own() -> None:
    values = generators.online("iid", 0.05, rng(), series=1)[0]
    expected = [change.index for change in changepoint.detect(values).changes]
    assert ours.detector()(values) == expected == [110]


def test_settings_can_be_swept() -> None:
    values = generators.online("iid", 0.05, rng(), series=1)[0]
    assert ours.detector({"min_effect": 0.2})(values) == []


def test_sessions_become_one_log_ratio_per_pair() -> None:
    base, head = generators.process_pairs("gpu", rng(), 3, 0.1, repetitions=2)
    ratios = ours.log_ratios(base, head)
    assert ratios.shape == (2, 3)
    assert ratios[1, 2] == pytest.approx(
        np.log(stats.session_value(head[1, 2]) / stats.session_value(base[1, 2]))
    )


def test_pairs_are_judged_as_the_commands_judge_them() -> None:
    differences = rng().normal(0.03, 0.01, (5, 30))
    codes, used = ours.sequential(differences, floor=0.0025, min_effect=0.02)
    decided = stats.sequential_outcomes(differences, stats.Margins(floor=0.0025, min_effect=0.02, alpha=0.05))
    assert codes.tolist() == decided.codes.tolist() == [1] * 5
    assert used.tolist() == decided.pairs.tolist()


def test_a_family_is_called_by_e_bh_beyond_the_floor() -> None:
    ratios, changed = generators.family(rng(), noise="G", effect=0.05, pairs=20)
    assert np.array_equal(ours.family(ratios), changed)


@pytest.mark.parametrize("noise", ["normal", "C", "sessions:gpu"])
def test_every_noise_is_drawn_with_the_effect_asked_for(noise: str) -> None:
    drawn = sequential.draw(noise, rng(), 300, effect=0.05, pairs=8)
    assert drawn.shape == (300, 8)
    assert np.median(drawn) == pytest.approx(np.log(1.05), abs=2e-3)


@pytest.mark.parametrize("method", sequential.TITLES)
def test_every_judge_sees_a_large_slowdown(method: str) -> None:
    judge = sequential.judge(method, floor=0.0025, min_effect=0.02)
    tally = sequential.tally(*judge(sequential.draw("normal", rng(), 40, effect=0.2)))
    assert tally["runs"] == tally["slower"] == 40
    assert tally["faster"] == tally["same"] == 0


def test_outcomes_are_counted() -> None:
    tally = sequential.tally(np.array([1, -1, 2, 0, 1]), np.array([4, 5, 6, 30, 5]))
    assert tally == {
        "runs": 5,
        "slower": 2,
        "faster": 1,
        "same": 1,
        "pairs": 10.0,
        "pairs_sd": pytest.approx(np.std([4, 5, 6, 30, 5], ddof=1)),
    }
