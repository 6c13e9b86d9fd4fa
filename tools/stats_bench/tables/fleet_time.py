"""A fleet's asv results: `stepwatch changepoints DIR` beside `asv publish`."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

from stats_bench import fleet
from stats_bench.plan import Goal, Piece, Plan, Section, Value, grid

NAME = "fleet"
TITLE = "History: 200 benchmarks x 1000 commits of asv results"
AHEAD = {"stepwatch changepoints, cold": 10.0, "stepwatch changepoints, one new commit": 50.0}


def race(*, repetitions: int, benchmarks: int, commits: int) -> list[dict[str, float | str | None]]:
    """The rows of `fleet.compare`."""
    with tempfile.TemporaryDirectory() as folder:
        rows = fleet.compare(
            Path(folder) / "fleet", repetitions=repetitions, benchmarks=benchmarks, commits=commits
        )
    return [asdict(row) for row in rows]


def _size(plan: Plan) -> tuple[int, int]:
    return plan.pick(200, 40), plan.pick(1000, 200)


def pieces(plan: Plan) -> list[Piece]:
    """One race."""
    benchmarks, commits = _size(plan)
    return [
        Piece(
            key="race",
            subject="ours-commands",
            function=race,
            arguments={"repetitions": plan.pick(3, 1), "benchmarks": benchmarks, "commits": commits},
            alone=True,
        )
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """Seconds of work, start-up apart, and how many times faster."""
    benchmarks, commits = _size(plan)
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for row in values["race"]:
        faster = row["times_faster"]
        times = "-" if faster is None else f"{faster:.0f}x"
        span = f"{row['work']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
        rows.append([row["what"], span, f"{row['apart']:.2f}", times])
        if row["what"] in AHEAD:
            least = AHEAD[row["what"]]
            name = row["what"].removeprefix("stepwatch changepoints, ")
            goals.append(
                Goal(
                    what=f"{benchmarks} benchmarks x {commits} commits, {name}, against asv publish",
                    goal=f">= {least:.0f}x",
                    measured=f"{faster:.0f}x",
                    interval="-",
                    holds=faster >= least,
                    short="" if faster >= least else f"{least - faster:.0f}x too few",
                )
            )
    text = f"""\
{benchmarks} benchmarks, {commits} commits, result files made by asv's own code; both sides in processes of
their own, taking turns, medians (ranges) of {plan.pick(3, 1)} repetitions after a warm-up. Work is what the
process does after its imports; start-up and imports are the third column.

"""
    header = ["run", "work, s", "start and imports, s", "asv's reading and detecting / this"]
    return Section(text=text + grid(header, rows), goals=goals)
