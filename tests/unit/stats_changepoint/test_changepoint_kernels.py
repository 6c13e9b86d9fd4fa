"""The compiled building blocks against SciPy, NumPy and brute force; and against themselves, interpreted."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import mannwhitneyu, norm

from stepwatch.stats.changepoint import elimination, evidence, noise, robust, segmentation
from stepwatch.stats.changepoint.location import limits_of
from stepwatch.stats.changepoint.settings import DEFAULT

numbers = st.floats(-1e6, 1e6, allow_nan=False)
series = st.integers(1, 40).flatmap(lambda n: arrays(float, n, elements=numbers))
few_values = st.integers(2, 12).flatmap(lambda n: arrays(float, n, elements=st.integers(0, 4).map(float)))


@settings(deadline=None)
@given(series)
def test_median_and_selection_are_numpys(values: np.ndarray) -> None:
    before = values.copy()
    assert robust.median(values) == pytest.approx(np.median(values))
    assert (values == before).all(), "the caller's array is left alone"
    ordered = np.sort(values)
    assert noise.middle(ordered) == pytest.approx(np.median(values))
    for rank in range(values.size):
        work = values.copy()
        assert robust.select_within(work, rank) == ordered[rank]
        assert (work[:rank] <= ordered[rank]).all()
        assert (np.sort(work) == ordered).all(), "reordered, nothing else"


@settings(deadline=None)
@given(series, st.integers(1, 120))
def test_quantiles_are_numpys_to_the_digit(values: np.ndarray, count: int) -> None:
    expected = np.quantile(values, (np.arange(count) + 0.5) / count)
    assert noise.quantiles(np.sort(values), count).tolist() == expected.tolist()


@settings(deadline=None)
@given(few_values, few_values)
def test_rank_sum_is_scipys_with_ties_and_continuity(left: np.ndarray, right: np.ndarray) -> None:
    z = robust.rank_sum_z(left, right)
    if np.unique(np.concatenate((left, right))).size == 1:
        assert z == 0.0
        return
    p = mannwhitneyu(left, right, method="asymptotic", use_continuity=True).pvalue
    assert min(1.0, 2 * norm.sf(z)) == pytest.approx(min(1.0, p), abs=1e-9)


def test_spread_is_a_standard_deviation_for_normal_noise() -> None:
    values = norm.ppf((np.arange(2000) + 0.5) / 2000, loc=3, scale=2)
    assert robust.spread(values, 3.0) == pytest.approx(2, rel=1e-3)


def _cheapest(z: np.ndarray, levels: np.ndarray, penalty: float, bound: float) -> float:
    """The least cost over every division, by trying all of them."""
    n = z.size
    best = np.inf
    for count in range(n):
        for cuts in itertools.combinations(range(1, n), count):
            edges = [0, *cuts, n]
            cost = penalty * count
            for low, high in itertools.pairwise(edges):
                away = np.minimum((z[low:high, None] - levels) ** 2, bound)
                cost += away.sum(axis=0).min()
            best = min(best, cost)
    return best


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: arrays(float, n, elements=st.floats(-8, 8))), st.floats(0.5, 9))
def test_the_partition_is_the_cheapest_of_all(z: np.ndarray, penalty: float) -> None:
    levels, bound = np.array([-6.0, -2.0, 0.0, 1.5, 5.0]), 6.0
    starts = segmentation.partition(z, np.ones(z.size, dtype=bool), levels, penalty, bound)
    cost = penalty * starts.size
    for low, high in itertools.pairwise([0, *starts, z.size]):
        cost += np.minimum((z[low:high, None] - levels) ** 2, bound).sum(axis=0).min()
    assert cost == pytest.approx(_cheapest(z, levels, penalty, bound))


def test_the_partition_cuts_only_where_it_may() -> None:
    z = np.repeat([0.0, 20.0], 10)
    may_cut = np.ones(20, dtype=bool)
    assert list(segmentation.partition(z, may_cut, np.array([0.0, 20.0]), 5.0, 9.0)) == [10]
    may_cut[10] = False
    assert list(segmentation.partition(z, may_cut, np.array([0.0, 20.0]), 5.0, 9.0)) in ([9], [11])


def test_autocorrelation_is_seen_and_absent_where_there_is_none() -> None:
    rng = np.random.default_rng(4)
    white = rng.normal(size=4000)
    slow = white.copy()
    for i in range(1, slow.size):
        slow[i] = 0.5 * slow[i - 1] + np.sqrt(0.75) * white[i]
    assert robust.block_correlation(white, 50) == pytest.approx(0, abs=0.06)
    assert robust.block_correlation(slow, 50) == pytest.approx(0.45, abs=0.06)
    assert robust.long_run_inflation(white, 10) < 1.1
    assert 2.3 < robust.long_run_inflation(slow, 10) < 3.1
    assert robust.long_run_inflation(np.zeros(9), 10) == 1.0
    assert robust.block_correlation(np.zeros(9), 50) == 0.0


def test_a_line_wins_over_a_step_on_a_ramp_and_loses_on_a_step() -> None:
    limits = limits_of(DEFAULT, 0.1, sampled=False)
    scatter = np.random.default_rng(5).normal(size=120)
    ramp = scatter + np.linspace(0, 6, 120)
    step = scatter + np.repeat([0.0, 3.0], 60)
    assert evidence.line_beats_step(ramp, 0, 60, 120, 1.0, limits)
    assert not evidence.line_beats_step(step, 0, 60, 120, 1.0, limits)
    assert not evidence.line_beats_step(ramp, 0, 114, 120, 1.0, limits), "too few points on a side to tell"


def test_trends_are_believed_only_beyond_doubt() -> None:
    limits = limits_of(DEFAULT, 0.1, sampled=False)
    scatter = np.random.default_rng(6).normal(size=200)
    mirrored = np.concatenate((scatter[:50], scatter[:50][::-1]))
    quiet = np.concatenate((mirrored, mirrored))
    assert evidence.trends(quiet, 0, 100, 200, 1.0, 1.0, limits) == (0.0, 0.0)
    assert evidence.trends(quiet, 96, 100, 104, 1.0, 1.0, limits) == (0.0, 0.0), "too few points"
    slopes = evidence.trends(scatter + 0.05 * np.arange(200), 0, 100, 200, 1.0, 1.0, limits)
    assert slopes == pytest.approx((0.05, 0.05), abs=0.01)
    bent = scatter + np.concatenate((np.zeros(100), 0.1 * np.arange(100)))
    left, right = evidence.trends(bent, 0, 100, 200, 1.0, 1.0, limits)
    assert abs(left) < 0.06 < right


def test_largest_move_is_the_largest_difference_of_adjacent_means() -> None:
    r = np.random.default_rng(7).normal(size=60)
    moves = [abs(r[i : i + 7].mean() - r[i - 7 : i].mean()) for i in range(17, 47)]
    assert evidence.largest_move(r, 10, 53, 7, 100.0) == pytest.approx(max(moves))
    assert evidence.largest_move(r, 0, 13, 7, 1.0) == 0.0, "no room for two windows"


def test_the_best_place_is_found_from_a_wrong_one() -> None:
    limits = limits_of(DEFAULT, 0.1, sampled=False)
    x = np.repeat([0.0, 6.0], 30) + np.random.default_rng(8).normal(size=60)
    may_cut = np.ones(60, dtype=bool)
    assert [elimination.best_place(x, may_cut, 0, k, 60, limits) for k in (22, 30, 41)] == [30, 30, 30]


def test_possible_places_are_those_as_likely_as_the_best_one_and_may_begin_a_level() -> None:
    limits = limits_of(DEFAULT, 0.1, sampled=False)
    x = np.repeat([0.0, 6.0], 30)
    x[28:32] = 3.0
    may_cut = np.ones(60, dtype=bool)
    assert elimination.possible_places(x, may_cut, (0, 30, 60), 1.0, 1.0, limits) == (28, 32)
    may_cut[[28, 32]] = False
    assert elimination.possible_places(x, may_cut, (0, 30, 60), 1.0, 1.0, limits) == (29, 31)
    x[28:32] = [0.0, 0.0, 6.0, 6.0]
    assert elimination.possible_places(x, may_cut, (0, 30, 60), 1.0, 1.0, limits) == (30, 30)


INTERPRETED = """
import json, sys
import numpy as np
from stepwatch.stats.changepoint import detect
cases = json.load(sys.stdin)
print(json.dumps([[repr(c) for c in detect(np.array(v, float)).changes] for v in cases]))
"""


def test_compiled_and_interpreted_kernels_agree() -> None:
    """The same source as plain Python: a compiler's surprise would show (and coverage sees the lines)."""
    from stepwatch.stats.changepoint import detect  # noqa: PLC0415  here, with the compiled kernels

    rng = np.random.default_rng(9)
    n = 150
    step = 1 + 0.01 * rng.normal(size=n)
    step[90:] *= 1.05
    busy = 1 + 0.01 * rng.standard_t(3, n) + 0.05 * (rng.random(n) < 0.3)
    busy[40:46] *= 1.4
    ramp = 1 + 0.002 * rng.normal(size=n) + 0.1 * np.arange(n) / n
    slow = 1 + 0.01 * np.cumsum(rng.normal(size=n))
    tied = np.round(step, 2)
    excursion = step.copy()
    excursion[40:46] *= 1.5
    cases = [step, busy, ramp, slow, tied, -step, excursion, np.tile([1.0, 2.0], 20)]
    run = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        input=json.dumps([list(map(float, case)) for case in cases]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == [[repr(change) for change in detect(case).changes] for case in cases]


def test_without_a_place_for_the_cache_the_kernels_still_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepwatch.stats.changepoint import compiling  # noqa: PLC0415  looked into

    def refuse(function: object = None, **options: object) -> object:
        if options:
            raise RuntimeError("cannot cache function: no locator available")
        return function

    monkeypatch.setattr(compiling, "njit", refuse)

    def twice(x: float) -> float:
        return 2 * x

    assert compiling.compiled(twice)(4.0) == 8.0


def test_a_change_of_any_source_begins_a_new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba alone would go on running old code that was compiled into a kernel of another file."""
    from stepwatch.stats.changepoint import compiling  # noqa: PLC0415  looked into

    for source in Path(compiling.__file__).parent.glob("*.py"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compiling.py"))
    monkeypatch.setattr(compiling._SETTINGS, "CACHE_DIR", "")
    before = compiling._cache_folder()
    (tmp_path / "evidence.py").write_text("HUBER = 1.6\n")
    assert before.startswith(str(tmp_path))
    assert compiling._cache_folder() != before
    monkeypatch.setattr(compiling._SETTINGS, "CACHE_DIR", "elsewhere")
    assert compiling._cache_folder() == "elsewhere"


def test_corners_of_the_kernels() -> None:
    """Run as plain Python, as coverage sees it: nothing to compare, no noise at all, too few points."""
    flat = np.ones(5)
    limits = limits_of(DEFAULT, 0.1, sampled=False)
    assert robust.rank_sum_z.py_func(flat, flat) == 0.0  # type: ignore[attr-defined]  numba's handle
    assert robust.long_run_inflation.py_func(np.zeros(9), 10) == 1.0  # type: ignore[attr-defined]  the same
    assert robust.long_run_inflation.py_func(np.ones(16), 1) > 1.0  # type: ignore[attr-defined]  the same
    assert evidence.local_noise.py_func(flat, np.zeros(5), 0, 2, 5, 60) == 1.0  # type: ignore[attr-defined]  the same
    strength = evidence.strength.py_func  # type: ignore[attr-defined]  the same
    clear = evidence.Evidence(30.0, 9.0, 1.0, 9.0, 9.0, 0.0)
    assert strength(clear, limits) > 1.0
    assert strength(clear._replace(shorter=2.0), limits) == 0.0
    assert strength(clear._replace(movement=9.0 / DEFAULT.movement), limits) == pytest.approx(1.0)


def test_strength_is_monotone_in_every_kind_of_evidence() -> None:
    limits = limits_of(DEFAULT, 0.1, sampled=False)
    base = evidence.Evidence(20.0, 2.0, 1.0, 4.0, 3.0, 1.5)
    for field in ("step", "mean_z", "rank_z"):
        more = base._replace(**{field: 2 * getattr(base, field)})
        assert evidence.strength(more, limits) >= evidence.strength(base, limits)
    for field in ("noise", "movement"):
        more = base._replace(**{field: 2 * getattr(base, field)})
        assert evidence.strength(more, limits) <= evidence.strength(base, limits)
