"""Online false alarms against delay: the points that each method can reach."""

from __future__ import annotations

from stats_bench import methods
from stats_bench.page import IMAGES
from stats_bench.peers import history
from stats_bench.plan import Piece, Plan, Section, Settings, Value, grid
from stats_bench.plots import Curve, frontier
from stats_bench.tables import online
from stepwatch.stats.changepoint import DEFAULT

NAME = "history-frontier"
TITLE = "History: the frontier of false alarms and delay"
IMAGE = "history-frontier.svg"
QUIET = ("iid", "t3", "ar1")
SWEPT = ("rank_z", "mean_z")
FACTORS = (0.8, 0.9, 1.0, 1.1, 1.25, 1.5)
OURS = [{name: round(getattr(DEFAULT, name) * factor, 3) for name in SWEPT} for factor in FACTORS]
"""How much evidence is asked for: the thresholds of both tests, times a factor; 1 is the default."""
PEERS: dict[str, list[Settings]] = {
    "asv": [{}],
    "otava": [
        {"window_len": 50, "max_pvalue": p, "min_magnitude": 0.01} for p in (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
    ],
    "kernelcpd": [{"pen": pen} for pen in history.GRIDS["kernelcpd"]["pen"]],
    "perfherder": [
        {"back": 12, "fore": fore, "threshold": t, "least": 0.01} for fore in (8, 12) for t in (4.5, 5.5, 7.0)
    ],
}


def _points() -> list[tuple[str, Settings]]:
    return [(methods.OURS, settings) for settings in OURS] + [
        (peer, settings) for peer, grid_ in PEERS.items() for settings in grid_
    ]


def _series(plan: Plan, method: str, size: float) -> int:
    if method == methods.OURS:
        return plan.pick(100, 30) if size else plan.pick(200, 60)
    return plan.pick(20, 3) if method in {"kernelcpd", "otava"} else plan.pick(8, 2)


def pieces(plan: Plan) -> list[Piece]:
    """Quiet series and two steps for every setting; other seeds than the online table."""
    return [
        Piece(
            key=f"{method}/{methods.words(settings)}/{kind}/{size}",
            subject=method,
            function=online.outcomes,
            arguments={
                "method": method,
                "settings": settings,
                "kind": kind,
                "size": size,
                "scale": 1.0,
                "seed": plan.seed + 1,
                "series": _series(plan, method, size),
            },
        )
        for method, settings in _points()
        for kind, size in (*((kind, 0.0) for kind in QUIET), ("iid", 0.02), ("iid", 0.05))
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """False alarms per kind, found and delay at both sizes."""
    rows: list[list[str]] = []
    reached: dict[str, list[tuple[float, float]]] = {}
    for method, settings in _points():
        cells = {
            (kind, size): values[f"{method}/{methods.words(settings)}/{kind}/{size}"]
            for kind, size in (*((kind, 0.0) for kind in QUIET), ("iid", 0.02), ("iid", 0.05))
        }
        alarms = [online.false_alarms(cells[kind, 0.0])[0] for kind in QUIET]
        row = [methods.title(method), methods.words(settings), " / ".join(f"{rate:.1f}" for rate in alarms)]
        for size in (0.02, 0.05):
            share, _, delay = online.found_share(cells["iid", size])
            row.append(f"{share:.2f}, {'-' if delay > 10**5 else f'{delay:.0f}'}")
        _, _, late = online.found_share(cells["iid", 0.02])
        reached.setdefault(method, []).append((sum(alarms) / len(alarms), min(late, 35.0)))
        rows.append([*row, f"{_series(plan, method, 0)} / {_series(plan, method, 1)}"])
    curves = [
        Curve(
            label=methods.title(method).replace("*", "").replace("`", ""),
            x=[point[0] for point in points],
            y=[point[1] for point in points],
            ours=method == methods.OURS,
            notes=tuple(f"x {factor:g}" for factor in FACTORS) if method == methods.OURS else (),
        )
        for method, points in reached.items()
    ]
    frontier(
        IMAGES / IMAGE,
        curves,
        x="false alarms per 1000 points, mean of iid, t3, AR(1) 0.5",
        y="median delay of +2 % (points; 35 = missed)",
        title="Run again after every new point; every method over its settings",
        goal=(1.0, 6.0),
    )
    text = f"""\
As in the table of growing series, over the settings of each method, with other seeds. stepwatch is swept
over the evidence it asks for: its two thresholds times {FACTORS[0]:g} to {FACTORS[-1]:g} (1 is the default).
Cells of the steps: share found within 30 points, median delay.

![False alarms against delay](img/{IMAGE})

"""
    header = ["method", "settings", "false alarms per 1000: iid / t3 / ar1", "+2 % iid", "+5 % iid", "series"]
    return Section(text=text + grid(header, rows))
