"""The two frontiers as small SVG files with fixed bytes for fixed numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl

if TYPE_CHECKING:
    from pathlib import Path

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "stepwatch", "svg.fonttype": "none", "font.size": 9})


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One method at several settings, or a lone point."""

    label: str
    x: list[float]
    y: list[float]
    ours: bool = False
    notes: tuple[str, ...] = ()
    """A word beside each point; empty for none."""


def frontier(
    path: Path, curves: list[Curve], *, x: str, y: str, title: str, goal: tuple[float, float]
) -> None:
    """Draw false alarms (x, a symmetric log scale that shows zero) against power or delay (y)."""
    from matplotlib import pyplot as plt  # noqa: PLC0415  the backend is chosen first

    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    for number, curve in enumerate(curves):
        style = {"color": "black", "linewidth": 2, "zorder": 3} if curve.ours else {"linewidth": 1}
        axes.plot(
            curve.x, curve.y, marker="osD^vPX*<>hd"[number % 12], markersize=5, label=curve.label, **style
        )
        for word, at_x, at_y in zip(curve.notes, curve.x, curve.y, strict=bool(curve.notes)):
            axes.annotate(word, (at_x, at_y), textcoords="offset points", xytext=(5, 5), fontsize=7)
    axes.axvline(goal[0], linestyle=":", color="grey")
    axes.axhline(goal[1], linestyle=":", color="grey")
    axes.set_xscale("symlog", linthresh=0.1 if max(max(c.x) for c in curves) > 1 else 0.005)
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
