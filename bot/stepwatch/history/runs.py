"""From runs of a benchmark tool, one file each, to series in the order of time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from stepwatch.errors import HistoryNotFound, MalformedFile
from stepwatch.history.building import parse_unit
from stepwatch.verdict.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from stepwatch.units import Direction

_NEXT_STEP = "mend it, or leave it out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One file: everything one run of a tool measured."""

    revision: str
    when: float
    """Unix time, seconds."""
    machine: str
    """What must be the same for values to be comparable: hardware and interpreter, in any form."""
    values: Mapping[str, float | None]
    """Benchmark -> seconds; None where it failed."""


def load_json(path: Path) -> Any:  # noqa: ANN401  foreign JSON; the readers convert it
    """A tool's JSON file, NaN and Infinity allowed as Python writes them.

    Raises:
        HistoryNotFound: no such file.
        MalformedFile: not JSON; names the line.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise HistoryNotFound(path, "give a file that exists") from error
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise MalformedFile(path, reason, next_step=_NEXT_STEP) from error
    except json.JSONDecodeError as error:
        place = f"{error.lineno}:{error.colno}"
        reason = f"not JSON, perhaps truncated: {error.msg}"
        raise MalformedFile(path, reason, place=place, next_step=_NEXT_STEP) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, an integer of thousands of digits, too deep
        raise MalformedFile(path, "not a JSON file", next_step=_NEXT_STEP) from error


def parse_time(path: Path, text: str, place: str) -> float:
    """An ISO 8601 time as Unix time in seconds; without a zone it is UTC.

    Raises:
        MalformedFile: it is none; the order of the runs would be unknown.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        reason = f"{text[:40]!r} is no ISO 8601 time"
        raise MalformedFile(path, reason, place=place, next_step=_NEXT_STEP) from error
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def build_series(runs: Iterable[Run], *, better: Direction) -> list[Series]:
    """Sort the values of runs into series, by name.

    A run in which a benchmark failed is a missing point of it; a run without it is none. Another machine is
    another series: the newest machine's has the benchmark's name, the others end with `#` and a digest.
    """
    ordered = sorted(runs, key=lambda run: run.when)
    points: dict[str, dict[str, list[tuple[Run, float | None]]]] = {}
    for run in ordered:
        for name, value in run.values.items():
            points.setdefault(name, {}).setdefault(run.machine, []).append((run, value))
    series = []
    for name in sorted(points):
        newest_last = sorted(points[name].items(), key=lambda item: item[1][-1][0].when)
        for place, (machine, taken) in enumerate(reversed(newest_last)):
            label = name if place == 0 else f"{name}#{digest(machine)}"
            series.append(_series(label, taken, better))
    return series


def digest(text: str) -> str:
    """Eight hex digits that stand for a machine or an environment."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _series(name: str, taken: Sequence[tuple[Run, float | None]], better: Direction) -> Series:
    unit = parse_unit("s")
    found = np.array([np.nan if value is None else value for _, value in taken])
    impossible = ~np.isnan(found) & ~((found > unit.above) & np.isfinite(found))
    odd = int(np.count_nonzero(impossible))
    return Series(
        name=name,
        revisions=[run.revision for run, _ in taken],
        values=np.where(impossible, np.nan, found),
        dates=np.array([run.when for run, _ in taken]),
        unit=unit.name,
        better=better,
        notes=(f"{odd} of {len(found)} values are no times and count as missing",) if odd else (),
    )
