"""Every change-point method under one kind of name: "ours", "otava", "otava tuned"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stats_bench import ours
from stats_bench.peers import history

if TYPE_CHECKING:
    from stats_bench.peers.history import Detector
    from stats_bench.plan import Plan, Settings

OURS = "ours"
TUNED = " tuned"
TITLES = {
    OURS: "**stepwatch**",
    "asv": "asv `step_detect`",
    "asv-regressions": "asv regressions rule, both directions",
    "otava": "apache-otava",
    "kernelcpd": "ruptures KernelCPD rbf",
    "pelt": "ruptures Pelt rbf",
    "binseg": "ruptures Binseg l2",
    "perfherder": "Perfherder-style t-test",
    "nothing": "predicting nothing",
}


def title(method: str) -> str:
    """The name in a table."""
    return TITLES[method.removesuffix(TUNED)] + (TUNED if method.endswith(TUNED) else "")


def known(plan: Plan, *, slow: bool = True) -> dict[str, Settings]:
    """Methods and their settings, stepwatch first; each tuned peer directly after its defaults."""
    found: dict[str, Settings] = {OURS: {}}
    for peer, settings in history.DEFAULTS.items():
        if peer == "pelt" and not slow:
            continue
        found[peer] = settings
        if peer in plan.tuned:
            found[peer + TUNED] = plan.tuned[peer]
    return found


def build(method: str, settings: Settings) -> Detector:
    """The detector behind a name."""
    if method == OURS:
        return ours.detector(settings)
    return history.detector(method.removesuffix(TUNED), settings)


def words(settings: Settings) -> str:
    """Settings as they are printed."""
    return ", ".join(f"{name} {value:g}" for name, value in settings.items()) or "none"
