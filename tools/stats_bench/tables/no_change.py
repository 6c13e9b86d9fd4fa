"""False positives on histories without a change."""

from __future__ import annotations

import numpy as np

from stats_bench import generators, methods, metrics
from stats_bench.plan import Goal, Piece, Plan, Section, Settings, Value, at_most, grid, rng

NAME = "no-change"
TITLE = "History: false positives without a change"
LIMITS = {"iid": 0.0, "t3": 0.0, "spikes": 0.0, "ar1": 0.05, "bimodal": 0.05, "variance": 0.05, "drift": 0.05}
POINTS = 500
SERIES = 200


def count(*, method: str, settings: Settings, kind: str, seed: int, number: int, series: int) -> list[int]:
    """Detections in each series; seed `number` of the kind."""
    detect = methods.build(method, settings)
    drawn = generators.no_change(kind, rng(seed, NAME, kind, number), n=POINTS, series=series)
    return [len(detect(values)) for values in drawn]


def _seeds(plan: Plan, method: str) -> int:
    return plan.pick(5, 2) if method == methods.OURS else 1


def _series(plan: Plan, method: str) -> int:
    slow = method not in {methods.OURS, "kernelcpd", "kernelcpd tuned"}
    return plan.pick(100, 10) if slow else plan.pick(SERIES, 40)


def pieces(plan: Plan) -> list[Piece]:
    """One piece per method, kind and seed."""
    return [
        Piece(
            key=f"{method}/{kind}/{number}",
            subject=method,
            function=count,
            arguments={
                "method": method,
                "settings": settings,
                "kind": kind,
                "seed": plan.seed,
                "number": number,
                "series": _series(plan, method),
            },
        )
        for method, settings in methods.known(plan).items()
        for kind in generators.KINDS
        for number in range(_seeds(plan, method))
    ]


def rate(counts: list[int], points: int) -> tuple[float, tuple[float, float]]:
    """Detections per 1000 points, with a 95 % interval over series (Poisson where there is none)."""
    total = 1000 / (points * len(counts))
    observed = np.array(counts)
    if not observed.any():
        return 0.0, (0.0, 3.689 * total)
    drawn = np.random.default_rng(0)
    low, high = metrics.bootstrap_interval(
        lambda chosen: float(observed[chosen].sum()) * total, observed.size, drawn
    )
    return float(observed.sum()) * total, (low, high)


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """False positives per 1000 points (share of series with any)."""
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for method in methods.known(plan):
        row = [methods.title(method)]
        for kind in generators.KINDS:
            found = [n for i in range(_seeds(plan, method)) for n in values[f"{method}/{kind}/{i}"]]
            value, interval = rate(found, POINTS)
            share = np.mean(np.array(found) > 0)
            row.append(f"{value:.2f} ({share:.2f})")
            if method == methods.OURS:
                goals.append(
                    at_most(f"false positives per 1000, {kind}", LIMITS[kind], value, interval, ".3f")
                )
        rows.append([*row, str(len(found))])
    text = f"""\
Series of {POINTS} points without a level change; false positives per 1000 points (share of series
with any). stepwatch: {_seeds(plan, methods.OURS)} fresh seeds of {_series(plan, methods.OURS)}
series per kind; the last column says how many series a method saw per kind.

"""
    return Section(text=text + grid(["method", *generators.KINDS, "series"], rows), goals=goals)
