"""Series from JSON Lines: one object per point, with the keys that CSV has as columns (`series_csv`).

`samples` is a list, `null` a missing value.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import msgspec

from stepwatch.history.collector import Collector, Point, refuse

if TYPE_CHECKING:
    from typing import BinaryIO

    from stepwatch.history.collector import Progress
    from stepwatch.units import Direction
    from stepwatch.verdict.series import Series


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    series: str
    revision: str | int
    value: float | None
    samples: list[float] | None = None
    direction: str | None = None
    unit: str | None = None


def read_jsonl(
    stream: BinaryIO, label: str, *, better: Direction, progress: Progress | None = None
) -> list[Series]:
    """Read JSON Lines in one pass; arguments, result and errors as `series_csv.read_csv`.

    Raises:
        MalformedFile: with `label:line`.
    """
    decoder = msgspec.json.Decoder(_Line)
    collector = Collector(label, better, progress)
    for number, raw in enumerate(stream, start=1):
        line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
        if not line.strip():
            continue
        try:
            found = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            refuse(label, number, f"not a point: {error}")
        collector.add(
            Point(
                line=number,
                series=found.series,
                revision=str(found.revision),
                value=found.value,
                samples=found.samples,
                direction=found.direction or "",
                unit=found.unit or "",
            )
        )
    return collector.finish()
