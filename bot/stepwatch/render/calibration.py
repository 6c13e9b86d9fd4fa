"""What `stepwatch calibrate` found, for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from stepwatch.render.escape import plain
from stepwatch.units import format_duration, format_percent

if TYPE_CHECKING:
    from stepwatch.verdict.calibration import CalibrationRecord

_INDENT = "    "


def render_calibration(record: CalibrationRecord, *, width: int = 80) -> str:
    """One benchmark and metric: its noise, and what a comparison detects in it."""
    pairs = f"{record.pairs} {'pair' if record.pairs == 1 else 'pairs'}"
    lines = [f"{plain(record.benchmark)}: {pairs}"]
    if record.exact:
        lines.append("repeats exactly: nothing to calibrate")
    elif record.noise is None:
        lines.append("no noise can be told: one pair alone, or values that are not positive")
    else:
        lines += [_noise(record), _detection(record)]
    return "\n".join(
        line
        for place, text in enumerate(lines)
        for line in textwrap.wrap(
            text,
            width,
            initial_indent=_INDENT if place else "",
            subsequent_indent=_INDENT * 2,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _noise(record: CalibrationRecord) -> str:
    noise = record.noise
    if noise is None:
        raise AssertionError(record.benchmark)
    parts = [
        f"noise: pairs {format_percent(noise.pair_sd)} (robust {format_percent(noise.pair_sd_robust)})",
        f"between sessions {format_percent(noise.between_sd)}",
    ]
    if noise.within_sd is not None:
        parts.append(f"within {format_percent(noise.within_sd)}")
    lags = [
        f"{name} {value:.2f}"
        for name, value in (
            ("pairs", noise.pair_autocorrelation),
            ("samples", noise.within_autocorrelation),
        )
        if value is not None
    ]
    return ", ".join(parts) + (f"; autocorrelation: {', '.join(lags)}" if lags else "")


def _detection(record: CalibrationRecord) -> str:
    found, alarms = record.detectable, record.false_alarms
    if found is None or alarms is None:
        return "too few pairs to say what is detected: calibrate with more --pairs"
    budget = format_duration(record.budget_seconds).removesuffix(" 00 s")
    if found.effect is None:
        what = f"nothing up to {format_percent(record.largest_effect)}"
    else:
        low = format_percent(found.low or 0.0)
        interval = f"{low} or more" if found.high is None else f"{low} to {format_percent(found.high)}"
        what = f"{format_percent(found.effect)} ({interval})"
    return (
        f"in {record.budget_pairs} pairs ({budget}) detects {what}; A/A {format_percent(alarms.rate)} "
        f"({format_percent(alarms.low)} to {format_percent(alarms.high)}); proven unchanged "
        f"{format_percent(alarms.unchanged)}, {alarms.mean_pairs:.1f} pairs on average"
    )
