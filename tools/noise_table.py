"""How much do sessions of the same program differ? Writes docs/reference/noise.md.

Runs real sessions of every workload and variant, one at a time, on this machine as it is (`idle`) and beside
processes that keep all cores busy (`loaded`). A run that was stopped goes on where it was:

    .venv/bin/python tools/noise_table.py measure idle      # nothing else should run
    .venv/bin/python tools/noise_table.py measure loaded
    .venv/bin/python tools/noise_table.py page
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from stepwatch.config import load_config
from stepwatch.measure.session import Finished, SessionRequest, run_sessions
from stepwatch.measure.store import open_store
from stepwatch.measure.suite import Group, discover
from stepwatch.releases.locks import lock_path
from stepwatch.releases.names import resolve_release
from stepwatch.releases.table import load_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stepwatch.measure.environments import BuiltEnvironment

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".stepwatch/noise"
PAGE = ROOT / "docs/reference/noise.md"
CONDITIONS = ("idle", "loaded")
MANY = ("mlp", "gpt", "embed", "convnet", "lstm")
"""Workloads with many sessions; the others get few."""
RELEASES = {"jax": "jax/0.7.2", "torch": "torch/2.13.0"}
CLOCKS = ("step_cpu", "step_wall")
STATISTICS = {"minimum": 0.0, "decile": 0.1, "quintile": 0.2, "quartile": 0.25, "median": 0.5}
"""Quantiles of one session's samples; `mean` comes beside them."""
DEFAULT = "quintile"
LOAD = """
import numpy as np
block = np.ones(4_000_000)
while True:
    block *= 1.0000001
    sum(range(300_000))
"""
"""Streams through memory and computes, by turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The samples of one session."""

    condition: str
    benchmark: str
    load: float
    """Load average of the last minute when it began."""
    samples: dict[str, list[float]]


def measure(condition: str, *, sessions: int, rest: int) -> None:
    """Run what is missing of `condition`, round by round: sessions of one program lie far apart."""
    with contextlib.ExitStack() as stack:
        environments = {
            track: stack.enter_context(contextlib.closing(environment(release)))
            for track, release in RELEASES.items()
        }
        suite = discover(ROOT / "suites", [environments["jax"].python])
        groups = [g for g in suite.groups().values() if not g.name.startswith("probes.")]
        done = defaultdict(int)
        for session in recorded(condition):
            done[session.benchmark] += 1
        if condition == "loaded":
            stack.enter_context(busy_machine(os.cpu_count() or 1))
        for number in range(max(sessions, rest)):
            for group in groups:
                wanted = sessions if group.name.partition(".")[0] in MANY else rest
                if done[group.name] <= number < wanted:
                    keep(condition, run(group, environments[group.track]))
            sys.stderr.write(f"{condition}: round {number + 1}\n")


def environment(name: str) -> BuiltEnvironment:
    """The environment of a release, by its committed lock."""
    config = load_config(ROOT)
    tables = load_tables(config.releases, [track.package for track in config.tracks])
    release = resolve_release(name, tables)
    return open_store(config).ensure(release, "cpu", lock_path(config.locks, "cpu", release))


@contextlib.contextmanager
def busy_machine(cores: int) -> Iterator[None]:
    """One process more than there are cores, all of them busy; a minute until the load shows it."""
    processes = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(cores + 1)]
    try:
        time.sleep(60)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(group: Group, place: BuiltEnvironment) -> dict[str, object]:
    """One session; a failed one stops the run, because a noise table with holes says little."""
    load = os.getloadavg()[0]
    request = SessionRequest(
        benchmark=group.name,
        benchmark_id=group.benchmarks[0].name,
        suite=ROOT / "suites",
        python=place.python,
        accelerator="cpu",
        size="cpu-smoke",
        timeout_seconds=group.timeout_seconds,
        cache_folder=place.cache_folder(group.name),
        asv_variables={},
    )
    (result,) = run_sessions([request])
    if not isinstance(result, Finished):
        sys.exit(f"noise: {group.name}: {result.reason}")
    metrics = result.record.metrics
    return {
        "benchmark": group.name,
        "load": load,
        "samples": {clock: metrics[clock].samples for clock in CLOCKS},
    }


def keep(condition: str, session: dict[str, object]) -> None:
    """Append one session to what is on disk."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{condition}.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(session) + "\n")


def recorded(condition: str) -> list[Session]:
    """What was measured so far; a line cut off by a kill is left out."""
    path = FOLDER / f"{condition}.jsonl"
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            found.append(Session(condition=condition, **json.loads(line)))
    return found


def value(samples: Sequence[float], statistic: str) -> float:
    """One session's number."""
    if statistic == "mean":
        return float(np.mean(samples))
    return float(np.quantile(samples, STATISTICS[statistic]))


def spread(sessions: Sequence[Session], clock: str, statistic: str) -> float:
    """Coefficient of variation between sessions: standard deviation / mean of their numbers."""
    values = [value(session.samples[clock], statistic) for session in sessions]
    return float(np.std(values, ddof=1) / np.mean(values))


def page() -> str:
    """The page, from what is on disk."""
    by_condition = {
        condition: grouped(recorded(condition)) for condition in CONDITIONS if recorded(condition)
    }
    blocks = [HEAD.format(releases=" and ".join(RELEASES.values()))]
    for condition, groups in by_condition.items():
        loads = [session.load for sessions in groups.values() for session in sessions]
        low, middle, high = np.quantile(loads, [0.05, 0.5, 0.95])
        blocks.append(
            f"## {condition.capitalize()}\n\nLoad average when a session began: median {middle:.1f} "
            f"(5 % to 95 %: {low:.1f} to {high:.1f}).\n\n{table(groups)}"
        )
    blocks.append(f"## The steadiest statistic\n\n{TAIL}\n\n{comparison(by_condition)}")
    return "\n\n".join(blocks) + "\n"


def grouped(sessions: Sequence[Session]) -> dict[str, list[Session]]:
    """Sessions by benchmark, in name order; those with fewer than three cannot show a spread."""
    found: dict[str, list[Session]] = defaultdict(list)
    for session in sessions:
        found[session.benchmark].append(session)
    return {name: found[name] for name in sorted(found) if len(found[name]) >= 3}


def table(groups: dict[str, list[Session]]) -> str:
    """Step time and spread of every benchmark."""
    lines = ["| benchmark | n | step, CPU | step, wall | CV, CPU | CV, wall |", "|---|--:|--:|--:|--:|--:|"]
    for name, sessions in groups.items():
        cells = [re.sub(r"\.bench\.", " ", name), str(len(sessions))]
        for clock in CLOCKS:
            typical = np.mean([value(session.samples[clock], DEFAULT) for session in sessions])
            cells.append(f"{1e3 * typical:.2f} ms")
        cells += [f"{100 * spread(sessions, clock, DEFAULT):.1f} %" for clock in CLOCKS]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def comparison(by_condition: dict[str, dict[str, list[Session]]]) -> str:
    """Spread of each statistic as a ratio to the default's, geometric mean over benchmarks, 95 % interval."""
    names = [*STATISTICS, "mean"]
    lines = [f"| | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    for condition, groups in by_condition.items():
        for clock in CLOCKS:
            cells = [ratio(groups, clock, statistic) for statistic in names]
            lines.append(f"| {condition}, {clock.removeprefix('step_')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio(groups: dict[str, list[Session]], clock: str, statistic: str) -> str:
    """One cell of `comparison`; a t interval over the logarithms of the benchmarks' ratios."""
    if statistic == DEFAULT:
        return "1"
    logs = [
        math.log(spread(sessions, clock, statistic) / spread(sessions, clock, DEFAULT))
        for sessions in groups.values()
    ]
    centre, half = np.mean(logs), stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)
    return f"{math.exp(centre):.2f} ({math.exp(centre - half):.2f}-{math.exp(centre + half):.2f})"


HEAD = """# Noise between sessions

Written by `tools/noise_table.py` from real sessions of {releases} at size cpu-smoke, one session at a time,
on a shared virtual machine with two cores and no GPU. CV is the coefficient of variation between sessions
(standard deviation over mean) of the better quintile of a session's samples. Sessions of one benchmark lie a
whole round apart, so drift of the machine is in it. Two sessions that take turns as a *pair* differ by about
a tenth of that ([why](../adr/0006-pairs-take-turns.md)); what a machine can detect is measured by
`stepwatch calibrate`."""

TAIL = """CV with each statistic of a session's samples, divided by the CV with the default (the better
quintile); geometric mean over the benchmarks above, with its 95 % interval. Below 1: steadier than the
default."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="run what is missing")
    measuring.add_argument("condition", choices=CONDITIONS)
    measuring.add_argument("--sessions", type=int, default=20, help="of the five workloads with many")
    measuring.add_argument("--rest", type=int, default=5, help="of the others")
    commands.add_parser("page", help="write the page")
    options = parser.parse_args()
    if options.command == "measure":
        measure(options.condition, sessions=options.sessions, rest=options.rest)
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
