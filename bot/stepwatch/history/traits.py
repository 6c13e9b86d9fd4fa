"""What a suite says of its metrics, as asv wrote it down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepwatch.history.asv_results import read_benchmarks
from stepwatch.units import Direction
from stepwatch.verdict import MetricTraits

if TYPE_CHECKING:
    from pathlib import Path


def read_traits(results: Path) -> dict[str, MetricTraits]:
    """Direction and exactness by benchmark id: attributes of the `track_` functions, from `benchmarks.json`.

    Raises:
        MalformedFile, UnsupportedSchema: that file cannot be read.
    """
    return {
        name: MetricTraits(better=Direction(info.better), exact=info.exact)
        for name, info in read_benchmarks(results).items()
    }
