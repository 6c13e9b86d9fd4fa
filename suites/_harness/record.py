"""The session record: plain JSON, checked to be finite, written whole or not at all.

The fields are those of `stepwatch.model.SessionRecord`; a contract test holds the two together.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from suites._harness.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA = 1

UNITS = {
    "import": "seconds",
    "trace_lower": "seconds",
    "compile_cold": "seconds",
    "compile_warm": "seconds",
    "first_step": "seconds",
    "step_wall": "seconds",
    "step_cpu": "seconds",
    "temp_bytes": "bytes",
    "peak_device_bytes": "bytes",
    "recompiles": "count",
    "loss": "1",
}
"""Every metric there is, in the order of a session, with its unit."""


class Metrics:
    """Collects samples; refuses what is not finite (asv's site generator dies of an Infinity)."""

    def __init__(self) -> None:
        self._samples: dict[str, list[float]] = {}

    def add(self, metric: str, samples: Iterable[float]) -> None:
        """Set the samples of `metric`.

        Raises:
            SessionError: a sample is NaN or infinite.
        """
        values = [float(sample) for sample in samples]
        for value in values:
            if not math.isfinite(value):
                raise SessionError(f"{metric} is {value}: not a measurement")
        self._samples[metric] = values

    def as_json(self) -> dict[str, Any]:
        """`{metric: {samples, unit}}` in the order of `UNITS`."""
        return {
            metric: {"samples": self._samples[metric], "unit": unit}
            for metric, unit in UNITS.items()
            if metric in self._samples
        }


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` as strict JSON: to a temporary file in the same folder, synced, then renamed."""
    text = json.dumps(content, allow_nan=False, indent=None, separators=(",", ":"))
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as temporary:
        try:
            temporary.write(text)
            temporary.flush()
            os.fsync(temporary.fileno())
            Path(temporary.name).replace(path)
        except BaseException:
            Path(temporary.name).unlink(missing_ok=True)
            raise
