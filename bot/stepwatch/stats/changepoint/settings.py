"""The detector's knobs: one frozen set, so that a bench can sweep them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How clear, how large and how lasting a step must be. The reasons are in docs/explanation/change-points.md."""

    penalty: float = 4.0
    """Cost of one more segment is `penalty * ln n`, in squared noise units."""
    bound: float = 3.0
    """No point costs more than one this many noise units away from its level."""
    levels: int = 100
    """Size of the grid of levels."""
    window: int = 30
    """Points looked at on either side when a step is verified."""
    noise_window: int = 60
    """Points on either side from which the local noise is estimated."""
    rank_z: float = 3.29
    """Least rank-sum z between the two windows."""
    contrast: float = 1.0
    """Least step in units of the local noise."""
    min_effect: float = 0.01
    """Least relative step."""
    min_run: int = 3
    """Least number of observations on either side."""
    excursion: int = 0
    """A level that returns to the old one within this many points is no change."""


DEFAULT = Settings()
