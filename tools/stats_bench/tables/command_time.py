"""`stepwatch changepoints FILE`: CSV in, text out, per series."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from stats_bench import generators, ours
from stats_bench.plan import Goal, Piece, Plan, Section, Value, at_most, grid, rng
from stepwatch.cli import stepwatch

NAME = "command-time"
TITLE = "History: reading, detecting and printing"
LIMITS_MS = {1000: 4.0, 5000: 20.0}
SERIES = {1000: 100, 5000: 20}


def _write(path: Path, n: int, seed: int) -> None:
    rows = ["series,revision,value"]
    for number, (values, _) in enumerate(
        generators.steps("iid", 0.02, rng(seed, NAME, n), n=n, series=SERIES[n])
    ):
        rows += [f"suite.time_{number:03d},{place:07x},{value:.6e}" for place, value in enumerate(values)]
    path.write_text("\n".join(rows) + "\n")


def clock(*, n: int, rounds: int, seed: int) -> dict[str, list[float]]:
    """CPU milliseconds per series: the whole command in this process, and of that the detection alone."""
    taken: dict[str, list[float]] = {"command": [], "detect": []}
    ours.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.csv"
        _write(path, n, seed)
        series = [v for v, _ in generators.steps("iid", 0.02, rng(seed, NAME, n), n=n, series=SERIES[n])]
        for number in range(rounds + 1):
            started = time.process_time()
            done = CliRunner().invoke(stepwatch, ["changepoints", str(path), "--executor", "serial"])
            between = time.process_time()
            for values in series:
                ours.detect(values)
            ended = time.process_time()
            if done.exit_code:
                raise RuntimeError(done.output) from done.exception
            if number:  # the first one imports and warms the file cache
                taken["command"].append(1000 * (between - started) / SERIES[n])
                taken["detect"].append(1000 * (ended - between) / SERIES[n])
    return taken


def pieces(plan: Plan) -> list[Piece]:
    """One piece per length."""
    return [
        Piece(
            key=str(n),
            subject="ours-commands",
            function=clock,
            arguments={"n": n, "rounds": plan.pick(9, 3), "seed": plan.seed},
            alone=True,
        )
        for n in LIMITS_MS
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """Milliseconds per series of the command, and how much of it is detection."""
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for n, limit in LIMITS_MS.items():
        whole, detect = (np.array(values[str(n)][part]) for part in ("command", "detect"))
        middle = float(np.median(whole))
        interval = (float(whole.min()), float(whole.max()))
        goals.append(at_most(f"CSV to text, CPU ms per series of {n} points", limit, middle, interval, ".1f"))
        span = f"{middle:.2f} ({interval[0]:.2f} to {interval[1]:.2f})"
        rows.append(
            [str(n), str(SERIES[n]), span, f"{np.median(detect):.2f}", f"{np.median(detect / whole):.0%}"]
        )
    text = f"""\
One CSV file with many series, `stepwatch changepoints FILE --executor serial` in a warm process: reading,
detecting and printing, CPU time divided by the number of series; medians and ranges of
{plan.pick(9, 3)} rounds.

"""
    header = ["points", "series in the file", "ms per series", "of that detection", "share"]
    return Section(text=text + grid(header, rows), goals=goals)
