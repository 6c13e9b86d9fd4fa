"""Do the blame range, the ratio's interval and the p-value of a change point mean what they say?"""

from __future__ import annotations

import numpy as np

from stats_bench import generators, metrics
from stats_bench.plan import Goal, Piece, Plan, Section, Value, at_least, between, grid, rng
from stepwatch.stats import changepoint

NAME = "honesty"
TITLE = "History: blame ranges, intervals and p-values"
SIZES = (0.02, 0.03, 0.05)
LEVELS = (0.05, 0.01, 0.001)


def covered(*, kind: str, size: float, seed: int, series: int) -> list[list[float]]:
    """For every true step that is found: place covered, width in points, place exact, ratio covered."""
    rows = []
    for values, ratios in generators.signed_steps(kind, size, rng(seed, NAME, kind, size), series=series):
        for change in changepoint.detect(values).changes:
            near = [place for place in ratios if abs(place - change.index) <= metrics.MARGIN]
            if near:
                rows.append(_row(change, near[0], ratios[near[0]]))
    return rows


def _row(change: changepoint.ChangePoint, place: int, ratio: float) -> list[float]:
    low, high = change.ratio_low, change.ratio_high
    return [
        float(change.after < place <= change.through),
        float(change.through - change.after),
        float(change.index == place),
        float(low is not None and high is not None and low <= ratio <= high),
    ]


def smallest_p(*, kind: str, seed: int, series: int) -> list[float]:
    """The smallest p-value in each quiet series, 1 without a change point."""
    found = []
    for values in generators.no_change(kind, rng(seed, NAME, kind), series=series):
        changes = changepoint.detect(values).changes
        found.append(min((change.p_value for change in changes), default=1.0))
    return found


def pieces(plan: Plan) -> list[Piece]:
    """Coverage per kind and size, p-values per kind."""
    coverage = [
        Piece(
            key=f"covered/{kind}/{size}",
            subject="ours",
            function=covered,
            arguments={"kind": kind, "size": size, "seed": plan.seed, "series": plan.pick(500, 150)},
        )
        for kind in generators.STEP_KINDS
        for size in SIZES
    ]
    return coverage + [
        Piece(
            key=f"p/{kind}",
            subject="ours",
            function=smallest_p,
            arguments={"kind": kind, "seed": plan.seed, "series": plan.pick(1000, 200)},
        )
        for kind in generators.KINDS
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """Coverage of the two intervals, and how often quiet series show small p-values."""
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for kind in generators.STEP_KINDS:
        for size in SIZES:
            table = np.array(values[f"covered/{kind}/{size}"])
            if not table.size:
                continue
            hits, found = int(table[:, 0].sum()), len(table)
            interval = metrics.binomial_interval(hits, found)
            ratio_hits = int(table[:, 3].sum())
            ratio_interval = metrics.binomial_interval(ratio_hits, found)
            rows.append(
                [
                    f"{kind} {size:.0%}",
                    str(found),
                    f"{hits / found:.3f} ({between(interval, '.3f')})",
                    f"{np.median(table[:, 1]):.0f}, {np.quantile(table[:, 1], 0.9):.0f}",
                    f"{table[:, 2].mean():.2f}",
                    f"{ratio_hits / found:.3f} ({between(ratio_interval, '.3f')})",
                ]
            )
            if kind == "iid" and size == 0.02:
                goals.append(
                    at_least("blame range holds the place, step of 2 sd", 0.95, hits / found, interval, ".3f")
                )
    header = ["step", "found", "blame range holds the place", "width: median, 90 %", "place exact"]
    text = f"""\
Steps found in {plan.pick(500, 150)} series of 500 points per kind and size. The blame range is a 95 %
confidence set for the place, the interval of the ratio is a 95 % interval.

{grid([*header, "interval holds the ratio"], rows)}

Share of quiet series whose smallest p-value is at most x ({plan.pick(1000, 200)} series per kind). A
p-value is honest if the share is at most x.

"""
    shares = []
    for kind in generators.KINDS:
        smallest = np.array(values[f"p/{kind}"])
        row = [kind]
        for level in LEVELS:
            hits = int((smallest <= level).sum())
            interval = metrics.binomial_interval(hits, smallest.size)
            row.append(f"{hits / smallest.size:.4f} ({between(interval, '.4f')})")
        shares.append(row)
    return Section(text=text + grid(["kind", *(f"x = {level}" for level in LEVELS)], shares), goals=goals)
