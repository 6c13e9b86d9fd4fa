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
    line: str = "-"
    hollow: bool = False
    notes: tuple[str, ...] = ()
    """A word beside each point; empty for none."""


LINEAR_BELOW = {False: 0.005, True: 0.1}
"""Up to here the false-alarm axis is linear, so that zero has a place: shares, and rates per 1000 points."""


def frontier(
    path: Path,
    curves: list[Curve],
    *,
    x: str,
    y: str,
    title: str,
    goal: tuple[float, float],
) -> None:
    """Draw false alarms (x, logarithmic above a linear part) against power or delay (y).

    Args:
        path: the SVG file.
        curves: stepwatch's are lines in black, the others points.
        x: label of the false alarms.
        y: label of the other axis.
        title: above the plot.
        goal: dotted lines at this x and y.
    """
    from matplotlib import pyplot as plt  # noqa: PLC0415  the backend is chosen first

    figure, axes = plt.subplots(figsize=(7.4, 3.9), layout="constrained")
    for number, curve in enumerate(curves):
        style = {"color": "black", "zorder": 3} if curve.ours else {"color": f"C{number % 10}"}
        line = curve.line if curve.ours else "none"
        face = "white" if curve.hollow else style["color"]
        marker = "o" if curve.ours else "sD^vPX*<>hd"[number % 11]
        axes.plot(
            curve.x, curve.y, linestyle=line, marker=marker, markerfacecolor=face, label=curve.label, **style
        )
        for word, at_x, at_y in zip(curve.notes, curve.x, curve.y, strict=False):
            axes.annotate(word, (at_x, at_y), textcoords="offset points", xytext=(6, -9), fontsize=7)
    most = max(max(curve.x) for curve in curves)
    linear = LINEAR_BELOW[most > 1]
    axes.axvline(goal[0], linestyle=":", color="grey")
    axes.axhline(goal[1], linestyle=":", color="grey")
    axes.set_xscale("symlog", linthresh=linear)
    axes.set_xlim(-linear / 5, most * 1.3)
    ticks = [tick for tick in (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if tick <= most * 1.3]
    ticks = [tick for tick in ticks if tick == 0 or tick >= 2 * linear]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
