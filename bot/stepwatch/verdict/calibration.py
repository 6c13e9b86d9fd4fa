"""What an A/A calibration of one benchmark says, and what it says it of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from stepwatch.stats.calibration import Detectable, FalseAlarms
from stepwatch.stats.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.model import SessionRecord
    from stepwatch.policy import Policy

CALIBRATION_SCHEMA = 1


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What must agree before a calibration says anything about a comparison."""

    machine: str
    accelerator: str
    size: str
    device: str
    turns: bool
    """Whether the two sessions of a pair took turns."""
    benchmark_version: str

    @classmethod
    def of(cls, machine: str, record: SessionRecord) -> Identity:
        """The identity of a session on this machine."""
        device = record.device
        return cls(
            machine=machine,
            accelerator=record.accelerator,
            size=record.size,
            device=str(device.get("kind") or device.get("platform") or ""),
            turns=bool(record.settings.get("turns")),
            benchmark_version=str(record.settings.get("benchmark_version", "?")),
        )


class Margins(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the policy that decides how often and what is called."""

    alpha: float
    floor: float
    min_effect: float

    @classmethod
    def of(cls, policy: Policy) -> Margins:
        """The margins of a policy."""
        return cls(alpha=policy.alpha, floor=policy.floor, min_effect=policy.min_effect)


class CalibrationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `calibration.jsonl`: one benchmark and metric, as found by one `stepwatch calibrate`."""

    schema: int
    benchmark: str
    """Public id with the metric: `mlp.bench.JaxJit.track_step_cpu`."""
    release: str
    """Measured against itself."""
    measured_at: float
    """Start of the newest session used, Unix seconds."""
    identity: Identity
    margins: Margins
    pairs: int
    """A/A pairs recorded."""
    exact: bool
    """The metric repeated to the last digit: there is no noise to speak of, and what follows is null."""
    noise: Noise | None
    budget_seconds: float
    """Of a comparison of all benchmarks calibrated together."""
    pair_seconds: float
    """What a pair of this benchmark takes."""
    budget_pairs: int
    """How many pairs of each benchmark that budget pays for."""
    family: int
    """Rows judged together: the MDE is that of a lone change among them."""
    false_alarms: FalseAlarms | None
    """Null: too few pairs to say."""
    detectable: Detectable | None
    largest_effect: float
    """The largest change tried for `detectable`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """All that was calibrated on a machine, oldest first, and the moment it is asked."""

    records: Sequence[CalibrationRecord]
    now: float
    """Unix seconds."""
