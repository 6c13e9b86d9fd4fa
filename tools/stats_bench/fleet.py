"""A fleet's history, 200 benchmarks x 1000 commits: `stepwatch changepoints DIR` beside `asv publish`.

The results are real files of asv's format 2, saved by asv's own `Results`; the repository is real too. asv's
side is the real `asv publish`, with the clock read at its own phases, because publish does more than read
and detect: the phases that do are summed. Ours is the command itself, cold, warm, and after one new commit.
The interpreter's start and the imports are measured apart, in both.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from asv.results import Results
from asv.runner import BenchmarkResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MACHINE = {
    "machine": "lab",
    "arch": "x86_64",
    "cpu": "reference",
    "num_cpu": "8",
    "os": "Linux",
    "ram": "16 GiB",
    "version": 1,
}
PYTHON = "3.12"
ENVIRONMENT = "virtualenv-py3.12"
FIRST_COMMIT = 1_600_000_000
"""Unix time of the oldest commit, seconds; the others follow day by day."""
DAY = 86_400
SAMPLES = 10
"""Samples behind each value; asv keeps their statistics, not the samples."""
STEPS_IN = 5
"""Every fifth benchmark has a step of +5 % half-way."""


READS_AND_DETECTS = (
    "Getting params, commits, tags and branches",
    "Loading results",
    "Detecting steps",
    "Generating output for Regressions",
)
"""The phases of `asv publish` that read the results and look for regressions in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """One kind of run: medians over the repetitions, in seconds, with the smallest and the largest."""

    what: str
    work: float
    low: float
    high: float
    apart: float
    """Interpreter start, imports, and for ours the compiled detector: not part of `work`."""
    times_faster: float | None
    """Median over the repetitions of asv's work / this work; None for asv itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A tracker's folder as asv sees it."""

    folder: Path
    benchmarks: tuple[str, ...]
    commits: tuple[str, ...]
    """Oldest first; the last one has no results yet."""
    seed: int

    @property
    def results(self) -> Path:
        """The results folder, above all machines."""
        return self.folder / "results"


def build(folder: Path, *, benchmarks: int = 200, commits: int = 1000, seed: int = 1) -> Fleet:
    """Make the repository, the configuration and the results of all commits but the newest.

    `add_commit` gives the newest its results.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fleet = Fleet(
        folder=folder,
        benchmarks=tuple(f"suite_{i // 20:02d}.Case{i // 4 % 5}.time_{i:03d}" for i in range(benchmarks)),
        commits=_make_repository(folder / "repo", commits + 1),
        seed=seed,
    )
    _write_settings(fleet)
    values = _history(fleet)
    for number in range(commits):
        _save(fleet, number, values[:, number])
    return fleet


def add_commit(fleet: Fleet) -> None:
    """One more commit is measured: its file appears."""
    _save(fleet, len(fleet.commits) - 1, _history(fleet)[:, -1])


def remove_commit(fleet: Fleet) -> None:
    """Take the newest commit's results away again."""
    for path in fleet.results.glob(f"*/{fleet.commits[-1][:8]}-*.json"):
        path.unlink()


def _make_repository(repo: Path, commits: int) -> tuple[str, ...]:
    """A repository with one commit a day on `main`; returns the hashes, oldest first."""
    lines = []
    for number in range(commits):
        date = FIRST_COMMIT + number * DAY
        lines += [
            "commit refs/heads/main",
            f"committer Fleet <fleet@example.invalid> {date} +0000",
            "data 1",
            "c",
            "M 644 inline number",
            f"data {len(str(number))}",
            str(number),
        ]
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repo, input="\n".join(lines), text=True, check=True)
    log = subprocess.run(
        ["git", "rev-list", "--reverse", "main"], cwd=repo, capture_output=True, text=True, check=True
    )
    return tuple(log.stdout.split())


def _write_settings(fleet: Fleet) -> None:
    settings = {
        "version": 1,
        "project": "fleet",
        "repo": "repo",
        "dvcs": "git",
        "branches": ["main"],
        "environment_type": "virtualenv",
        "pythons": [PYTHON],
        "results_dir": "results",
        "html_dir": "html",
    }
    (fleet.folder / "asv.conf.json").write_text(json.dumps(settings))
    (fleet.results / MACHINE["machine"]).mkdir(parents=True)
    (fleet.results / MACHINE["machine"] / "machine.json").write_text(json.dumps(MACHINE))
    known = {name: _benchmark(name) for name in fleet.benchmarks}
    (fleet.results / "benchmarks.json").write_text(json.dumps({"version": 2, **known}))


def _benchmark(name: str) -> dict[str, object]:
    return {
        "name": name,
        "code": "def time(): pass",
        "type": "time",
        "unit": "seconds",
        "params": [],
        "param_names": [],
        "version": "1",
        "timeout": 60.0,
    }


def _history(fleet: Fleet) -> Floats:
    """Values in seconds, shape (benchmarks, commits): 1 % noise, a step in every fifth."""
    rng = np.random.default_rng(fleet.seed)
    shape = (len(fleet.benchmarks), len(fleet.commits))
    values = 1e-3 * (1 + 0.01 * rng.standard_normal(shape))
    values[::STEPS_IN, shape[1] // 2 :] *= 1.05
    return values


def _save(fleet: Fleet, number: int, values: Floats) -> None:
    """The results of one commit, as `asv run` leaves them."""
    rng = np.random.default_rng([fleet.seed, number])
    date = FIRST_COMMIT + number * DAY
    results = Results(
        {key: value for key, value in MACHINE.items() if key != "version"} | {"python": PYTHON},
        {},
        fleet.commits[number],
        date * 1000,
        PYTHON,
        ENVIRONMENT,
        {},
    )
    started = dt.datetime.fromtimestamp(date, dt.UTC)
    for name, value in zip(fleet.benchmarks, values, strict=True):
        samples = value * (1 + 0.005 * rng.standard_normal(SAMPLES))
        outcome = BenchmarkResult(
            result=[True], samples=[samples.tolist()], number=[1], errcode=0, stderr="", profile=None
        )
        results.add_result(_benchmark(name), outcome, started_at=started, duration=1.0)
    results.save(str(fleet.results))


def compare(
    folder: Path, *, repetitions: int = 5, benchmarks: int = 200, commits: int = 1000
) -> list[FleetRow]:
    """Build the fleet and time both sides, taking turns; the first repetition warms the disk and is dropped.

    Args:
        folder: is emptied.
        repetitions: that count.
        benchmarks: how many there are.
        commits: how many have results before the new one.

    Returns:
        asv's row (what it reads and detects), asv's whole publish, then ours: cold, warm, after one commit.
    """
    fleet = build(folder, benchmarks=benchmarks, commits=commits)
    runs = [_round(fleet) for _ in range(repetitions + 1)][1:]
    peer = [one["asv"][0] for one in runs]
    return [
        _row("asv publish, its reading and detecting", [one["asv"] for one in runs], None),
        _row("asv publish, all of it", [one["asv, all"] for one in runs], None),
        _row("stepwatch changepoints, cold", [one["cold"] for one in runs], peer),
        _row("stepwatch changepoints, nothing new", [one["warm"] for one in runs], peer),
        _row("stepwatch changepoints, one new commit", [one["new"] for one in runs], peer),
    ]


def _round(fleet: Fleet) -> dict[str, tuple[float, float]]:
    """Everything once: name -> (work, apart), in seconds."""
    cache, kept = fleet.folder / "cache", fleet.folder / "kept"
    for old in (cache, kept):
        shutil.rmtree(old, ignore_errors=True)
    taken = _clock("asv", fleet, cache)
    reading = sum(taken[phase] for phase in READS_AND_DETECTS)
    everything = sum(taken.values()) - taken["imports"] - taken["start"]
    apart = taken["imports"] + taken["start"]
    found = {"asv": (reading, apart), "asv, all": (everything, apart), "cold": _ours(fleet, cache)}
    shutil.copytree(cache, kept)
    found["warm"] = _ours(fleet, cache)
    shutil.rmtree(cache)
    shutil.copytree(kept, cache)
    add_commit(fleet)
    found["new"] = _ours(fleet, cache)
    remove_commit(fleet)
    return found


def _ours(fleet: Fleet, cache: Path) -> tuple[float, float]:
    taken = _clock("ours", fleet, cache)
    return taken["work"], taken["start"] + taken["imports"] + taken["kernels"]


def _clock(who: str, fleet: Fleet, cache: Path) -> dict[str, float]:
    """One run in a process of its own; `start` is what the process took beyond what it timed itself."""
    tools = str(Path(__file__).resolve().parent.parent)
    environment = os.environ | {"PYTHONPATH": tools, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-m", "stats_bench.fleet_clock", who, str(fleet.folder)]
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    whole = time.perf_counter() - begun
    if done.returncode:
        sys.exit(f"stats-bench: {' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    taken: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return taken | {"start": whole - sum(taken.values())}


def _row(what: str, runs: list[tuple[float, float]], peer: list[float] | None) -> FleetRow:
    work = [one[0] for one in runs]
    faster = None if peer is None else [theirs / ours for theirs, ours in zip(peer, work, strict=True)]
    return FleetRow(
        what=what,
        work=statistics.median(work),
        low=min(work),
        high=max(work),
        apart=statistics.median(one[1] for one in runs),
        times_faster=None if faster is None else statistics.median(faster),
    )
