"""Power, pairs needed, and the share called unchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats_bench import metrics, sequential
from stats_bench.plan import Goal, Piece, Plan, Section, Value, at_least, at_most, grid, rng

NAME = "pairs-power"
TITLE = "Pairs: power, pairs used, unchanged"
METHODS = ("ours", "plain", "plain-equivalence", "peeking", "obrien-fleming", "fixed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One truth and the margins it is judged with."""

    noise: str
    effect: float
    floor: float = 0.0025
    min_effect: float = 0.02
    cap: int = sequential.CAP

    @property
    def key(self) -> str:
        """Its name in the results."""
        return f"{self.noise}/{self.effect}/{self.floor}/{self.min_effect}/{self.cap}"


DEFAULT_CASES = [
    Case(noise=noise, effect=effect)
    for noise, effect in (
        *(("normal", effect) for effect in (0.0, 0.01, 0.02, 0.05)),
        *(
            (noise, effect)
            for noise in ("t4", "t3", "spikes", "wild", "humps")
            for effect in (0.0, 0.02, 0.05)
        ),
        *(("G", effect) for effect in (0.0, 0.01, 0.02)),
        *(("C", effect) for effect in (0.0, 0.02)),
        *(("H", effect) for effect in (0.0, 0.05)),
    )
]
BARE_CASES = [
    Case(noise="G", effect=0.01, floor=0.0, min_effect=0.0),
    Case(noise="G", effect=0.01, floor=0.0, min_effect=0.0, cap=10),
    Case(noise="normal", effect=0.02, floor=0.0, min_effect=0.0),
]


def outcomes(*, method: str, case: Case, seed: int, repetitions: int) -> dict[str, float]:
    """Outcomes of comparisons with one true effect."""
    words = (NAME, case.noise, case.effect)
    differences = sequential.draw(
        case.noise, rng(seed, *words), repetitions, effect=case.effect, pairs=sequential.CAP
    )
    judge = sequential.judge(method, floor=case.floor, min_effect=case.min_effect)
    return sequential.tally(*judge(differences[:, : case.cap]))


def pieces(plan: Plan) -> list[Piece]:
    """One piece per method and case; peers see the default cases."""
    work = [(method, case) for method in METHODS for case in DEFAULT_CASES]
    work += [("ours", case) for case in BARE_CASES]
    return [
        Piece(
            key=f"{method}/{case.key}",
            subject="ours-pairs",
            function=outcomes,
            arguments={
                "method": method,
                "case": case,
                "seed": plan.seed,
                "repetitions": plan.pick(4000, 1000),
            },
        )
        for method, case in work
    ]


def _power(value: dict[str, float]) -> tuple[float, tuple[float, float]]:
    runs, right = int(value["runs"]), int(value["slower"])
    return right / runs, metrics.binomial_interval(right, runs)


def _pairs(what: str, limit: float, value: dict[str, float]) -> Goal:
    half = 1.96 * value["pairs_sd"] / np.sqrt(value["runs"])
    return at_most(what, limit, value["pairs"], (value["pairs"] - half, value["pairs"] + half), ".2f")


def _same(what: str, limit: float, value: dict[str, float]) -> Goal:
    runs, same = int(value["runs"]), int(value["same"])
    return at_least(what, limit, same / runs, metrics.binomial_interval(same, runs), ".3f")


def _goals(values: dict[str, Value]) -> list[Goal]:
    two, none = values[f"ours/{DEFAULT_CASES[2].key}"], values[f"ours/{DEFAULT_CASES[0].key}"]
    bare, fixed = values[f"ours/{BARE_CASES[0].key}"], values[f"ours/{BARE_CASES[1].key}"]
    quiet = values[f"ours/{Case(noise='G', effect=0.0).key}"]
    return [
        at_least("power at +2 %, session sd 1 %", 0.95, *_power(two), ".3f"),
        _pairs("pairs at +2 %, session sd 1 %", 10.0, two),
        _pairs("pairs to a verdict without change, session sd 1 %", 10.0, none),
        _same("of these unchanged", 0.95, none),
        at_least("power at +1 %, G, floor 0, min effect 0", 0.97, *_power(bare), ".3f"),
        _pairs("pairs at +1 %, G, floor 0, min effect 0", 7.4, bare),
        at_least("power at +1 %, G, at most 10 pairs, floor 0, min effect 0", 0.95, *_power(fixed), ".3f"),
        _same("unchanged without change, G", 0.98, quiet),
        _pairs("pairs without change, G", 5.5, quiet),
    ]


def _cell(value: dict[str, float], *, effect: float) -> str:
    right, same = value["slower"] / value["runs"], value["same"] / value["runs"]
    shown = f"{right:.3f}" if effect else f"{(value['slower'] + value['faster']) / value['runs']:.3f}"
    return f"{shown} ({value['pairs']:.1f}{f', = {same:.2f}' if same else ''})"


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """Power (mean pairs, share called equivalent)."""
    rows = [
        [
            f"{case.noise} {case.effect:+.0%}" if case.effect else f"{case.noise}, no change",
            *(_cell(values[f"{method}/{case.key}"], effect=case.effect) for method in METHODS),
        ]
        for case in DEFAULT_CASES
    ]
    rows += [
        [
            f"{case.noise} {case.effect:+.0%}, floor 0, min effect 0, cap {case.cap}",
            _cell(values[f"ours/{case.key}"], effect=case.effect),
            *[""] * (len(METHODS) - 1),
        ]
        for case in BARE_CASES
    ]
    text = f"""\
{plan.pick(4000, 1000)} comparisons per cell, at most {sequential.CAP} pairs. Cells: share called slower (any
call in rows without change), in brackets the mean number of pairs and, after "=", the share called unchanged.
stepwatch at its defaults (floor 0.25 %, minimal effect 2 %) unless the row says otherwise.

"""
    header = ["noise and truth", *(sequential.TITLES[method] for method in METHODS)]
    return Section(text=text + grid(header, rows), goals=_goals(values))
