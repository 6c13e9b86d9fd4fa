"""Judged histories made by hand, for golden files: every section a reader can meet."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats.changepoint import ChangePoint, Detection, Drift
from stepwatch.units import Direction
from stepwatch.verdict.backtest import judge_alerts, total
from stepwatch.verdict.changes import describe_changes
from stepwatch.verdict.replay import Raised
from stepwatch.verdict.series import Series

if TYPE_CHECKING:
    from stepwatch.verdict.backtest import Alert, Totals
    from stepwatch.verdict.changes import SeriesChanges

DAY = 86_400.0
HASHES = [f"{number:02x}" * 20 for number in range(120)]
SLOWER = ChangePoint(
    index=60,
    after=58,
    through=61,
    ratio=1.1,
    ratio_low=1.08,
    ratio_high=1.12,
    p_value=3.2e-7,
    before=0.001,
    level=0.0011,
)
FASTER = dataclasses.replace(
    SLOWER,
    index=90,
    after=89,
    through=90,
    ratio=0.91,
    ratio_low=0.9,
    ratio_high=0.92,
    p_value=0.0,
    before=0.0011,
    level=0.001001,
)
ONE_BYTE = dataclasses.replace(
    SLOWER,
    ratio=1.000001,
    ratio_low=1.000001,
    ratio_high=1.000001,
    p_value=0.0,
    before=1_000_000.0,
    level=1_000_001.0,
)
BELOW_ZERO = dataclasses.replace(SLOWER, ratio=None, ratio_low=None, ratio_high=None, before=-2.0, level=-5.0)


def series(name: str, points: int = 120, **changes: object) -> Series:
    """A series whose values do not matter here."""
    made = Series(
        name=name,
        revisions=HASHES[:points],
        values=np.full(points, 0.001),
        dates=1.7e9 + DAY * np.arange(points),
        unit="seconds",
    )
    return dataclasses.replace(made, **changes)


def judged() -> list[SeriesChanges]:
    """Changes both ways, a drift, a short series, gaps, names from elsewhere."""
    gaps = np.where(np.arange(120) % 40 == 7, np.nan, 0.001)
    drift = Drift(since=12, ratio=1.031, ratio_low=1.02, ratio_high=1.042)
    slowed, healed = Detection(changes=(SLOWER,)), Detection(changes=(SLOWER, FASTER))
    odd = "throughput \x1b[31m\u202ered " + "very_long_name_" * 6
    parts = [
        (series("fft.time_forward", values=gaps), healed),
        (series("fft.time_rate", better=Direction.HIGHER, unit="", notes=("3 values are odd",)), slowed),
        (series(odd, revisions=[f"release/{i}" for i in range(120)]), slowed),
        (series("balance", unit=""), Detection(changes=(BELOW_ZERO,))),
        (series("fft.peak_memory", unit="bytes"), Detection(changes=(ONE_BYTE,))),
        (series("solve.time_slow_creep"), Detection(drift=drift)),
        (series("new.time_first", points=1), Detection()),
        *((series(f"quiet.time_number_{i:03d}"), Detection()) for i in range(70)),
    ]
    return [describe_changes(one, found) for one, found in parts]


def replayed() -> tuple[list[Alert], Totals]:
    """An alert that recovers, a late one for the better, a false alarm, one without a date."""
    dated, dateless = series("fft.time_forward"), series("other.time_undated", dates=None)
    seen = Detection(changes=(SLOWER, FASTER))
    false = dataclasses.replace(
        SLOWER, index=20, after=19, through=20, ratio=1.04, ratio_low=1.02, ratio_high=1.06
    )
    alerts = judge_alerts(
        dated,
        [Raised(at=26, change=false), Raised(at=64, change=SLOWER), Raised(at=95, change=FASTER)],
        seen,
        min_effect=0.02,
    )
    alerts += judge_alerts(
        dateless, [Raised(at=62, change=SLOWER)], Detection(changes=(SLOWER,)), min_effect=0.02
    )
    return alerts, total([dated, dateless], alerts, [0, 0])
