"""Units and directions: base units inside, scaled only when shown.

Seconds and bytes are the base units of everything stepwatch stores. `Direction` travels with a metric, so
that nothing downstream has to guess which side of a ratio is worse.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum

_SI = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_IEC = ("B", "KiB", "MiB", "GiB", "TiB")
_LONG = 1e6
"""From here on digits are counted, not shown."""
_MINUTE, _HOUR, _YEAR = 60.0, 3600.0, 365 * 86_400.0
DURATION = r"(?=[0-9])(?:([0-9]{1,3})h)?(?:([0-9]{1,5})m)?(?:([0-9]{1,6})s)?"
"""How a duration is written: `90s`, `20m`, `1h`, `1h30m`."""


class Direction(StrEnum):
    """Which way a metric gets better."""

    LOWER = "lower"
    HIGHER = "higher"

    def is_worse(self, ratio: float) -> bool:
        """Whether a contender / baseline ratio (raw, 1.0 = same) is on the worse side."""
        return ratio > 1.0 if self is Direction.LOWER else ratio < 1.0


def format_value(value: float | None, unit: str) -> str:
    """A value of base unit `unit` (`seconds`, `bytes`, `count` or `1`) with three significant digits."""
    if value is None or not math.isfinite(value):
        return "-"
    if unit == "seconds":
        return format_seconds(value)
    if unit == "bytes":
        return format_bytes(value)
    if unit == "count":
        return f"{value:g}" if float(value).is_integer() else f"{value:.3g}"
    return f"{value:.4g}"


def format_seconds(value: float) -> str:
    """Seconds as `1.23 ms`; three significant digits."""
    if value == 0:
        return "0 s"
    for scale, prefix in _SI:
        if abs(value) >= scale * 0.9995:
            return f"{_three_digits(value / scale)} {prefix}s"
    return f"{_three_digits(value * 1e9)} ns"


def format_bytes(value: float) -> str:
    """Bytes as `1.5 MiB`; whole bytes below 1 KiB."""
    power = 0
    while abs(value) >= 1024 and power < len(_IEC) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.0f} B" if power == 0 else f"{_three_digits(value)} {_IEC[power]}"


def format_ratio(ratio: float | None) -> str:
    """A contender / baseline ratio: `1.39x`."""
    if ratio is None or not math.isfinite(ratio):
        return "-"
    return format_ratios(ratio)[0] + "x"


def format_ratios(*ratios: float) -> tuple[str, ...]:
    """Ratios with the decimals that fit the first (three near 1, fewer the larger it is), never long."""
    first = ratios[0]
    decimals = 3 if 0.9 < first < 1.1 else 2 if first < 10 else 1 if first < 100 else 0
    return tuple(
        f"{ratio:.{decimals}f}" if ratio < _LONG and (ratio == 0 or ratio >= 0.01) else f"{ratio:.2g}"
        for ratio in ratios
    )


def format_percent(fraction: float) -> str:
    """A fraction as `1.3%`, `0.25%`, `12%`: two significant digits, whole from 99.5 % on."""
    percent = fraction * 100
    if abs(percent) >= _LONG:
        return f"{fraction:.2g} times"
    return f"{percent:.0f}%" if abs(percent) >= 99.5 else f"{percent:.2g}%"


def format_duration(seconds: float) -> str:
    """A waiting time for people: `45 s`, `3 min 20 s`, `1 h 05 min`; beyond a year nobody waits."""
    if seconds >= _YEAR:
        return "over a year"
    seconds = max(0.0, seconds)
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"


def parse_duration(text: str) -> float:
    """Seconds of a duration as people write it: `90s`, `20m`, `1h`, `1h30m`.

    Raises:
        ValueError: not written like that, or no time at all; the message says how to write it.
    """
    found = re.fullmatch(DURATION, text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no duration; write it like 90s, 20m, 1h or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    total = hours * _HOUR + minutes * _MINUTE + seconds
    if not total:
        raise ValueError(f"{text!r} is no time at all")
    return total


def _three_digits(value: float) -> str:
    if abs(value) >= _LONG:
        return f"{value:.3g}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"
