"""The tables of the page, one module each (`stats_bench.plan.Table`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from stats_bench.tables import detector_time, honesty, labelled, no_change, online, steps, tuning

if TYPE_CHECKING:
    from stats_bench.plan import Table

ALL = cast("list[Table]", [no_change, steps, online, labelled, honesty, detector_time, tuning])
"""In the order of the page."""
