"""CPU time per series of every detector, taking turns in one process."""

from __future__ import annotations

import time

import numpy as np

from stats_bench import generators, methods, ours
from stats_bench.plan import Goal, Piece, Plan, Section, Settings, Value, at_most, grid, rng

NAME = "detector-time"
TITLE = "History: time per series"
LIMITS_MS = {1000: 1.0, 5000: 5.0}
SPENT_ENOUGH_S = 20.0
AHEAD = 10.0


def race(*, known: dict[str, Settings], n: int, rounds: int, seed: int) -> dict[str, list[float]]:
    """CPU milliseconds per series of each method, one value per round; slow ones leave after 20 s.

    Every round has its own series with up to three steps of 2 %; ours does 20 of them per round.
    """
    detectors = {method: methods.build(method, settings) for method, settings in known.items()}
    ours.warm_up()
    taken: dict[str, list[float]] = {method: [] for method in known}
    drawn = rng(seed, NAME, n)
    for _ in range(rounds):
        many = [values for values, _ in generators.steps("iid", 0.02, drawn, n=n, series=20)]
        for method, detect in detectors.items():
            if sum(taken[method]) > SPENT_ENOUGH_S * 1000:
                continue
            series = many if method == methods.OURS else many[:1]
            started = time.process_time()
            for values in series:
                detect(values)
            taken[method].append(1000 * (time.process_time() - started) / len(series))
    return taken


def pieces(plan: Plan) -> list[Piece]:
    """One race per length."""
    return [
        Piece(
            key=str(n),
            subject="ours",
            function=race,
            arguments={
                "known": methods.known(plan, slow=n < 5000),
                "n": n,
                "rounds": plan.pick(15, 5),
                "seed": plan.seed,
            },
            alone=True,
        )
        for n in LIMITS_MS
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """Medians with ranges, and how many times longer than ours."""
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for n, limit in LIMITS_MS.items():
        taken = {method: np.array(times) for method, times in values[str(n)].items()}
        mine = taken[methods.OURS]
        goals.append(
            at_most(
                f"CPU ms per series of {n} points",
                limit,
                float(np.median(mine)),
                (float(mine.min()), float(mine.max())),
                ".2f",
            )
        )
        ratios = {m: np.median(t[:] / mine[: t.size]) for m, t in taken.items() if m != methods.OURS}
        nearest = min(ratios, key=lambda method: ratios[method])
        least = taken[nearest] / mine[: taken[nearest].size]
        goals.append(
            Goal(
                what=f"ahead of every peer at {n} points (nearest: {methods.title(nearest)})",
                goal=f">= {AHEAD:.0f}x",
                measured=f"{ratios[nearest]:.1f}x",
                interval=f"{least.min():.1f} to {least.max():.1f}",
                holds=bool(ratios[nearest] >= AHEAD),
                short="" if ratios[nearest] >= AHEAD else f"{AHEAD - ratios[nearest]:.1f}x too few",
            )
        )
    for method in methods.known(plan):
        row = [methods.title(method)]
        for n in LIMITS_MS:
            times = np.array(values[str(n)].get(method, []))
            if not times.size:
                row += ["not measured", "-"]
                continue
            mine = np.array(values[str(n)][methods.OURS])[: times.size]
            span = f"{np.median(times):.2f} ({times.min():.2f} to {times.max():.2f}; {times.size})"
            row += [span, "1" if method == methods.OURS else f"{np.median(times / mine):.0f}x"]
        rows.append(row)
    header = ["method"]
    for n in LIMITS_MS:
        header += [f"ms, {n} points: median (range; rounds)", "ratio"]
    text = f"""\
CPU time of one process with one thread, after warm-up; in every round all methods see the same
series. Ratios are medians over rounds, so that a busy machine slows both sides. Intervals are ranges
over rounds. A method leaves the race once it has used {SPENT_ENOUGH_S:.0f} s; Pelt with the rbf cost needs
minutes for one series of 5000 points and is left out there.

"""
    return Section(text=text + grid(header, rows), goals=goals)
