"""The tables of the page, one module each (`stats_bench.plan.Table`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from stats_bench.tables import (
    command_time,
    detector_time,
    families,
    fleet_time,
    history_frontier,
    honesty,
    labelled,
    no_change,
    online,
    pairs_false_alarms,
    pairs_frontier,
    pairs_power,
    pairs_sessions,
    steps,
    tuning,
)

if TYPE_CHECKING:
    from stats_bench.plan import Table

PAIRS = [pairs_false_alarms, pairs_power, families, pairs_sessions, pairs_frontier]
HISTORY = [
    no_change,
    steps,
    online,
    history_frontier,
    labelled,
    honesty,
    detector_time,
    command_time,
    fleet_time,
    tuning,
]
ALL = cast("list[Table]", [*PAIRS, *HISTORY])
"""In the order of the page."""
