"""Where a series changed level, and by how much (docs/explanation/change-points.md)."""

from stepwatch.stats.changepoint.api import detect, warm_up
from stepwatch.stats.changepoint.results import ChangePoint, Detection, Drift
from stepwatch.stats.changepoint.settings import DEFAULT, Settings

__all__ = ["DEFAULT", "ChangePoint", "Detection", "Drift", "Settings", "detect", "warm_up"]
