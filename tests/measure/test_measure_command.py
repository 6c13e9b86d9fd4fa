"""`stepwatch measure` as a user runs it, on a tiny library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Tracker

RANGE = "mini/1.0..mini/2.0"


def test_a_campaign_is_measured_in_adjacent_pairs_and_written_as_asv_results(ready_tracker: Tracker) -> None:
    done = ready_tracker.measure(RANGE, "--sessions", "3", "--seed", "7")
    sidecar = ready_tracker.sidecar()
    assert len(sidecar.sessions) == 3 * 3 * 2
    assert sidecar.header.seed == 7
    order = [(s.place.pair, s.record.benchmark, s.place.position) for s in sidecar.sessions]
    assert order == [(p, b, i) for (p, b, _), i in zip(order, [0, 1] * 9, strict=True)]
    assert [pair for pair, _, _ in order] == sorted(pair for pair, _, _ in order)
    assert "[18/18]" in done.stderr
    assert len(ready_tracker.results()) == 2
