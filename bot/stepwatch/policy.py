"""The policy: how sure stepwatch must be, and how large a change must be, before it says so.

One margin cannot do both jobs (docs/adr/0007): with a detection margin of 2 % a true +2 % is hardly ever
called, with an equivalence margin of 0.25 % hardly anything is ever proven unchanged.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Fraction = Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)]
Level = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[policy]` table of `stepwatch.toml`. Effects are fractions: 0.02 is 2 %."""

    alpha: Level = 0.05
    """False discovery rate over one report, and 1 - coverage of every interval shown."""
    floor: Fraction = 0.0025
    """Detection: a change must be proven beyond this to be called regressed or improved."""
    min_effect: Fraction = 0.02
    """Equivalence: `unchanged` means that the change is proven to be smaller than this; 0: never said."""
    metrics: tuple[str, ...] = ()
    """Metrics that are judged; empty means the default set of the accelerator (`judged_metrics`)."""

    @property
    def contradiction(self) -> str | None:
        """Why the two margins cannot both hold; None: they can.

        Between them every change would be called and proven unchanged at the same time.
        """
        if self.min_effect and self.floor >= self.min_effect:
            return f"must be less than the minimal effect (found {self.floor:g} and {self.min_effect:g})"
        return None


class HistoryPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[history]` table: which steps of a series are told (`changepoints`, `backtest`)."""

    min_effect: Level | None = None
    """Least relative step; none means the detector's own."""
    min_points: Annotated[int, msgspec.Meta(ge=2, le=1000)] | None = None
    """Least number of points at a new level; none means the detector's own. More: later, and surer."""


CPU_METRICS = ("step_cpu", "compile_cold", "temp_bytes")
GPU_METRICS = ("step_wall", "compile_cold", "temp_bytes", "peak_device_bytes")


def judged_metrics(policy: Policy, accelerator: str) -> tuple[str, ...]:
    """The metrics that get a verdict; the others are only shown.

    On a shared CPU wall time varies 20-30 % between sessions while process CPU time varies 3-6 %, so the
    CPU default judges CPU time.
    """
    return policy.metrics or (CPU_METRICS if accelerator == "cpu" else GPU_METRICS)


EXACT_METRICS = frozenset({"temp_bytes", "recompiles"})
"""Metrics that repeat to the last digit unless the program changed (the suite may name others)."""
