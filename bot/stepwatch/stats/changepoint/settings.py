"""The detector's knobs: one frozen set, so that a bench can sweep them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How clear, how large and how lasting a step must be (docs/explanation/change-points.md says why).

    Windows and runs count points; with `samples`, sessions. "Noise" is the local standard deviation of one
    point, estimated robustly.
    """

    penalty: float = 3.5
    """A change costs `penalty * ln n` squared noise units in the first partition."""
    bound: float = 3.0
    """No point costs more than one this many noise units away from its level."""
    levels: int = 100
    """Size of the grid of levels."""
    window: int = 30
    """Points on either side whose medians are the levels of a step."""
    reach: int = 100
    """Points on either side that the tests may use."""
    noise_window: int = 60
    """Points on either side from which the local noise is estimated."""
    contrast: float = 1.0
    """Least step, in noise."""
    min_effect: float = 0.01
    """Least relative step."""
    mean_z: float = 4.1
    """Least z of the robust means of a short level..."""
    long_discount: float = 0.1
    """... and by what share less for a level of 30 points or more."""
    rank_z: float = 3.1
    """Least rank-sum z of a level of six points or more..."""
    brief_discount: float = 0.1
    """... and by what share less for one of four or fewer, half of it for five."""
    rank_inflation: float = 0.25
    """The rank-sum z is divided by the autocorrelation inflation to this power."""
    inflation_limit: float = 5.0
    """Autocorrelation counts as inflating a variance by at most this."""
    inflation_doubt: float = 8.0
    """... and by (1 + this / sqrt n) of what was estimated, because short series underestimate it."""
    movement: float = 0.9
    """Least step, relative to the largest move between adjacent windows elsewhere nearby."""
    movement_window: int = 25
    """Length of those windows, at most."""
    movement_reach: int = 200
    """How far around a candidate they lie."""
    trend_t: float = 2.5
    """From this t on a slope inside the stretches is believed, and its share of the step subtracted."""
    trend_window: int = 150
    """Points on either side from which a slope is estimated."""
    line_window: int = 60
    """Points on either side in which a straight line competes with the step."""
    line_margin: float = 2.0
    """By how many squared noise units the line must win."""
    min_run: int = 3
    """Least number of points of a level."""
    excursion: int = 8
    """A level shorter than this that came back to the old one is no change; 0 keeps all."""
    position_reach: int = 20
    """How far from the partition's place the best one is searched."""
    confidence: float = 0.95
    """Level of the blame range and of the interval of the ratio."""


DEFAULT = Settings()
