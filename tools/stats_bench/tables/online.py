"""Run again after every new point: false alarms, steps found, delay."""

from __future__ import annotations

import numpy as np

from stats_bench import generators, methods, metrics
from stats_bench.plan import Goal, Piece, Plan, Section, Settings, Value, at_least, at_most, grid, rng
from stats_bench.tables.no_change import rate

NAME = "online"
TITLE = "History: alarms while the series grows"
AT = 110
CASES = [
    *(("quiet", kind, 0.0, 1.0) for kind in generators.ONLINE_KINDS),
    *(("+2 %", kind, 0.02, 1.0) for kind in generators.ONLINE_KINDS),
    *(("+5 %", kind, 0.05, 1.0) for kind in generators.ONLINE_KINDS),
    ("+5 %, noise 2 %", "iid", 0.05, 2.0),
    ("quiet, noise 2 %", "iid", 0.0, 2.0),
]


def outcomes(
    *, method: str, settings: Settings, kind: str, size: float, scale: float, seed: int, series: int
) -> list[tuple[int, int, int | None]]:
    """(alarms, spurious ones, delay) of each series."""
    detect = methods.build(method, settings)
    drawn = generators.online(
        kind, size, rng(seed, NAME, kind, size, scale), series=series, scale=scale, at=AT
    )
    at = AT if size else None
    replays = [metrics.replay(detect, values, at=at) for values in drawn]
    return [(r.alarms, r.spurious, r.delay) for r in replays]


def _series(plan: Plan, method: str, size: float) -> int:
    if method == methods.OURS:
        return plan.pick(300, 60) if size else plan.pick(1000, 200)
    if method.startswith("kernelcpd"):
        return plan.pick(60, 10)
    if method == "pelt" or method.startswith("asv"):
        return plan.pick(8, 3)
    return plan.pick(20, 3)


def pieces(plan: Plan) -> list[Piece]:
    """One piece per method and case."""
    return [
        Piece(
            key=f"{method}/{label}/{kind}",
            subject=method,
            function=outcomes,
            arguments={
                "method": method,
                "settings": settings,
                "kind": kind,
                "size": size,
                "scale": scale,
                "seed": plan.seed,
                "series": _series(plan, method, size),
            },
        )
        for method, settings in methods.known(plan).items()
        for label, kind, size, scale in CASES
    ]


def false_alarms(found: list[list[int]]) -> tuple[float, tuple[float, float]]:
    """Alarms per 1000 appended points of quiet series, with its interval."""
    return rate([alarms for alarms, _, _ in found], 160 - metrics.ONLINE_START)


def found_share(found: list[list[int | None]]) -> tuple[float, tuple[float, float], float]:
    """Share of steps found within 30 points, its interval, the median delay (missed ones count as late)."""
    delays = [delay if delay is not None else 10**6 for _, _, delay in found]
    hits = sum(delay <= metrics.FOUND_WITHIN for delay in delays)
    return hits / len(delays), metrics.binomial_interval(hits, len(delays)), float(np.median(delays))


def _delay_goal(what: str, limit: float, found: list[list[int | None]]) -> Goal:
    delays = np.array([delay if delay is not None else 10**6 for _, _, delay in found], dtype=float)
    interval = metrics.bootstrap_interval(
        lambda chosen: float(np.median(delays[chosen])), delays.size, np.random.default_rng(0)
    )
    return at_most(what, limit, float(np.median(delays)), interval, ".0f")


def _goals(values: dict[str, Value]) -> list[Goal]:
    goals = []
    for kind, limit in (("iid", 0.2), ("ar1", 1.0)):
        value, interval = false_alarms(values[f"ours/quiet/{kind}"])
        goals.append(at_most(f"online false alarms per 1000, {kind}", limit, value, interval, ".2f"))
    value, interval = false_alarms(values["ours/quiet, noise 2 %/iid"])
    goals.append(at_most("online false alarms per 1000, iid, noise 2 %", 1.0, value, interval, ".2f"))
    for label, least, latest in (("+2 %", 0.97, 6), ("+5 %", 1.0, 4)):
        share, bounds, _ = found_share(values[f"ours/{label}/iid"])
        goals.append(at_least(f"online {label} found, iid", least, round(share, 3), bounds, ".3f"))
        goals.append(_delay_goal(f"online {label} median delay, iid", latest, values[f"ours/{label}/iid"]))
    late = values["ours/+5 %, noise 2 %/iid"]
    goals.append(_delay_goal("online +5 % median delay, iid, noise 2 %", 4, late))
    return goals


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """False alarms per 1000 appended points, share found and delay."""
    rows = []
    for method in methods.known(plan):
        quiet = [
            f"{false_alarms(values[f'{method}/quiet/{kind}'])[0]:.1f}" for kind in generators.ONLINE_KINDS
        ]
        row = [methods.title(method), " / ".join(quiet)]
        for label, kind, size, _ in CASES:
            if size:
                share, _, delay = found_share(values[f"{method}/{label}/{kind}"])
                row.append(f"{share:.2f}, {'-' if delay > 10**5 else f'{delay:.0f}'}")
        rows.append([*row, f"{_series(plan, method, 0)} / {_series(plan, method, 1)}"])
    header = ["method", "false alarms per 1000: iid / t3 / ar1"]
    header += [f"{label} {kind}" for label, kind, size, _ in CASES if size]
    text = """\
A detector is run on every prefix of 61 to 160 points; what it finds at 60 points is known. A
detection more than 5 points from all raised ones is a new alarm and stays raised. Cells: share of
the steps found within 30 points, median delay in points (missed ones count as late). Last column:
series per kind without / with a step.

"""
    return Section(text=text + grid([*header, "series"], rows), goals=_goals(values))
