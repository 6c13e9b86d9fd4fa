"""A report of 200 benchmarks of which ten became 3 % slower: false alarms per report, and power."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from stats_bench import generators, metrics, ours
from stats_bench.peers import pairwise
from stats_bench.plan import Goal, Piece, Plan, Section, Value, at_least, at_most, grid, rng

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

NAME = "families"
TITLE = "Pairs: 200 benchmarks in one report"
PAIRS = (6, 10, 16, 30)
BENCHMARKS, AFFECTED, EFFECT, ITERATIONS = 200, 10, 0.03, 10


def _p(differences: Floats) -> Floats:
    t = pairwise.t_values(differences)[:, -1]
    return 2 * stats.t.sf(np.abs(t), differences.shape[1] - 1)


def _sign_flip(differences: Floats) -> Flags:
    return pairwise.benjamini_hochberg(pairwise.sign_flip_p(differences, np.random.default_rng(0)))


def _relevant(differences: Floats) -> Flags:
    return pairwise.benjamini_hochberg(_p(differences)) & (np.abs(differences.mean(axis=1)) > 0.01)


RULES: dict[str, tuple[Callable[[Floats], Flags], str]] = {
    "ours": (ours.family, "**stepwatch**, e-BH"),
    "t": (lambda d: _p(d) < 0.05, "t-test, uncorrected"),
    "t-bh": (lambda d: pairwise.benjamini_hochberg(_p(d)), "t-test, BH"),
    "t-bh-1": (_relevant, "t-test, BH, effect > 1 %"),
    "sign-flip": (_sign_flip, "sign-flip, BH"),
}
"""On log ratios of pairs, noise C."""
SIDES: dict[str, tuple[Callable[[Floats, Floats], int], str]] = {
    "asv-compare": (pairwise.asv_compare, "`asv compare` (p < .002 and factor 1.1)"),
    "asv-different": (pairwise.asv_different, "asv `is_different` (factor 1)"),
    "benchstat": (pairwise.mann_whitney_sessions, "Mann-Whitney on session medians (as benchstat)"),
}
"""On the iterations of both sides, uncorrected as these tools are; the same noise iteration by iteration."""


def counts(flags: Flags, changed: Flags) -> list[int]:
    """False alarms, found, of one family."""
    return [int((flags & ~changed).sum()), int((flags & changed).sum())]


def by_ratio(*, rule: str, pairs: int, seed: int, families: int) -> list[list[int]]:
    """Per family: false alarms and benchmarks found."""
    rows = []
    for number in range(families):
        generator = rng(seed, NAME, number)
        ratios, changed = generators.family(
            generator, benchmarks=BENCHMARKS, affected=AFFECTED, effect=EFFECT, pairs=max(PAIRS)
        )
        rows.append(counts(RULES[rule][0](ratios[:, :pairs]), changed))
    return rows


def by_side(*, rule: str, pairs: int, seed: int, families: int) -> list[list[int]]:
    """The same from the iterations of both sides."""
    compare = SIDES[rule][0]
    changed = np.arange(BENCHMARKS) < AFFECTED
    rows = []
    for number in range(families):
        base, head = generators.process_pairs(
            "C",
            rng(seed, NAME, "sides", number),
            pairs,
            iterations=ITERATIONS,
            repetitions=BENCHMARKS,
        )
        head[changed] *= 1 + EFFECT
        flags = np.array([compare(b, h) != 0 for b, h in zip(base, head, strict=True)])
        rows.append(counts(flags, changed))
    return rows


def _families(plan: Plan, rule: str) -> int:
    if rule == "ours":
        return plan.pick(200, 20)
    return plan.pick(4, 1) if rule in SIDES else plan.pick(40, 10)


def pieces(plan: Plan) -> list[Piece]:
    """One piece per rule and number of pairs."""
    work = []
    for function, rules in ((by_ratio, RULES), (by_side, SIDES)):
        work += [
            Piece(
                key=f"{rule}/{pairs}",
                subject="ours-pairs" if rule == "ours" else "peer",
                function=function,
                arguments={
                    "rule": rule,
                    "pairs": pairs,
                    "seed": plan.seed,
                    "families": _families(plan, rule),
                },
            )
            for rule in rules
            for pairs in PAIRS
        ]
    return work


def _share(found: Floats, chosen: Floats) -> float:
    return float(found[chosen].mean())


def _goals(values: dict[str, Value]) -> list[Goal]:
    goals = []
    for pairs, least in ((10, 0.18), (16, 0.94), (30, 1.0)):
        table = np.array(values[f"ours/{pairs}"], dtype=float)
        generator = np.random.default_rng(0)
        false, found = table[:, 0], table[:, 1] / AFFECTED
        interval = metrics.bootstrap_interval(partial(_share, false), len(false), generator)
        if not false.any():
            interval = (0.0, 3.689 / len(false))
        what = f"200 benchmarks, {pairs} pairs"
        goals.append(at_most(f"{what}: false alarms per report", 0.05, float(false.mean()), interval, ".3f"))
        interval = metrics.bootstrap_interval(partial(_share, found), len(found), generator)
        power = round(float(found.mean()), 3 if least < 1 else 2)
        goals.append(at_least(f"{what}: power at +3 %", least, power, interval, ".3f"))
    return goals


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """False alarms per report / share of reports with any / power."""
    rows = []
    for rule, (_, title) in (RULES | SIDES).items():
        row = [title]
        for pairs in PAIRS:
            table = np.array(values[f"{rule}/{pairs}"])
            any_ = (table[:, 0] > 0).mean()
            row.append(f"{table[:, 0].mean():.2f} / {any_:.2f} / {table[:, 1].mean() / AFFECTED:.2f}")
        rows.append([*row, str(_families(plan, rule))])
    text = f"""\
{BENCHMARKS} benchmarks, {AFFECTED} of them truly {EFFECT:+.0%}, noise C, alpha 5 %. Cells: false alarms per
report / share of reports with any / share of the true changes reported. Last column: simulated reports.
The rules of the last three rows see the {ITERATIONS} iterations of every session, and correct for nothing, as
the tools do.

"""
    header = ["rule", *(f"{pairs} pairs" for pairs in PAIRS), "reports"]
    return Section(text=text + grid(header, rows), goals=_goals(values))
