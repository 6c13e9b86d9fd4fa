"""The fleet's history of `make stats-bench`: real asv results of a real repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from stats_bench import fleet

from stepwatch.history.asv_files import CACHE_KIND, AsvFiles
from stepwatch.history.asv_history import read_history
from stepwatch.history.cache import Cache

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.verdict.series import Series


def read(made: fleet.Fleet) -> list[Series]:
    return read_history(made.results, Cache(None, CACHE_KIND, AsvFiles))[0]


def test_a_fleet_has_every_commit_but_the_newest(tmp_path: Path) -> None:
    made = fleet.build(tmp_path / "fleet", benchmarks=6, commits=10, seed=3)
    series = read(made)
    assert len(series) == 6
    assert all(list(one.revisions) == list(made.commits[:10]) for one in series)
    assert (series[0].unit, series[0].measured) == ("seconds", 10)
    fleet.add_commit(made)
    assert read(made)[0].revisions[-1] == made.commits[10]
    fleet.remove_commit(made)
    assert [one.values.tolist() for one in read(made)] == [one.values.tolist() for one in series]


@pytest.mark.e2e
def test_both_sides_are_timed(tmp_path: Path) -> None:
    rows = fleet.compare(tmp_path / "fleet", repetitions=1, benchmarks=5, commits=20)
    assert [row.times_faster is None for row in rows] == [True, True, False, False, False]
    assert all(0 < row.low <= row.work <= row.high and row.apart > 0 for row in rows)
    assert rows[0].work < rows[1].work
