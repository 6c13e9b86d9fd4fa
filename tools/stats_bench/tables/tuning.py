"""Which setting of each peer is best on synthetic series: the "tuned" rows of the other tables.

The best has the highest mean F1 over steps of 2 and 5 %, less 0.1 for every false positive per 1000 quiet
points (mean over the kinds of histories). The seeds are not the reported ones.
"""

from __future__ import annotations

import numpy as np

from stats_bench import generators, methods, metrics
from stats_bench.peers import history
from stats_bench.plan import Piece, Plan, Section, Settings, Value, grid, rng

NAME = "tuning"
TITLE = "How the peers were tuned"
PRICE = 0.1
"""What one false positive per 1000 points costs, in F1."""


def _score(peer: str, settings: Settings, seed: int, series: int) -> list[float]:
    """[false positives per 1000 quiet points, mean F1 of the steps]."""
    detect = history.detector(peer, settings)
    false = []
    for kind in generators.KINDS:
        quiet = generators.no_change(kind, rng(seed, NAME, kind), series=series)
        false.append(1000 * sum(len(detect(values)) for values in quiet) / quiet.size)
    scores = []
    for kind in generators.STEP_KINDS:
        for size in (0.02, 0.05):
            drawn = generators.steps(kind, size, rng(seed, NAME, kind, size), series=series)
            total = sum((metrics.Score.of(at, detect(values)) for values, at in drawn), metrics.Score())
            scores.append(total.f1)
    return [float(np.mean(false)), float(np.mean(scores))]


def pieces(plan: Plan) -> list[Piece]:
    """One piece per peer and setting."""
    series = plan.pick(12, 6)
    return [
        Piece(
            key=f"{peer}/{methods.words(settings)}",
            subject=peer,
            function=_score,
            arguments={"peer": peer, "settings": settings, "seed": plan.seed, "series": series},
        )
        for peer in history.GRIDS
        for settings in history.combinations(peer)
    ]


def choose(values: dict[str, Value]) -> dict[str, Settings]:
    """The best setting of each peer."""
    chosen = {}
    for peer in history.GRIDS:
        scored = [(values[f"{peer}/{methods.words(s)}"], s) for s in history.combinations(peer)]
        chosen[peer] = max(scored, key=lambda entry: entry[0][1] - PRICE * entry[0][0])[1]
    return chosen


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """Settings at their defaults and tuned, with the scores that chose them."""
    rows = []
    for peer, settings in choose(values).items():
        false, f1 = values[f"{peer}/{methods.words(settings)}"]
        span = "; ".join(
            f"{name} {', '.join(f'{value:g}' for value in choices)}"
            for name, choices in history.GRIDS[peer].items()
        )
        rows.append(
            [
                methods.title(peer),
                methods.words(history.DEFAULTS[peer]),
                span,
                methods.words(settings),
                f"{false:.2f}",
                f"{f1:.2f}",
            ]
        )
    rows += [
        [methods.title(peer), methods.words(history.DEFAULTS[peer]), "not tuned", "-", "-", "-"]
        for peer in ("asv", "pelt", "binseg")
    ]
    note = f"""\
{plan.pick(12, 6)} series per kind and size. asv's step detection has no setting; Pelt with the rbf
cost finds what KernelCPD finds, slower; Binseg stands for the simplest way to use ruptures.

"""
    header = ["method", "defaults", "grid", "chosen", "FP/1000", "F1 of 2 and 5 % steps"]
    return Section(text=(__doc__ or "").split("\n\n", 1)[1] + note + grid(header, rows))
