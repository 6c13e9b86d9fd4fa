"""stepwatch's own speed: `make bench` measures it and writes docs/reference/bench.md.

Every figure stands beside a peer measured in the same run, taking turns, so that a slow machine slows both:

1. `stepwatch --help` against a bare interpreter and `asv --help`.
2. A jax environment from a warm package cache against the same lock by `python -m venv` and pip.
3. A whole `stepwatch measure`: the time outside the session processes, per session and as a share of a run
   with 20-second sessions.
4. The same sessions by plain `asv run`, which starts a process more for every metric.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stepwatch.config import load_config
from stepwatch.measure.environments import EnvironmentStore
from stepwatch.measure.store import open_store
from stepwatch.releases.locks import lock_path
from stepwatch.releases.table import load_tables

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/bench.md"
RELEASE = "jax/0.4.33"
BENCH = r"probes\.while_scalar\.JaxJit"
PAIRS = 6
LONG_SESSION_SECONDS = 20.0


def seconds(*command: str | Path, cwd: Path = ROOT) -> float:
    """Wall seconds of one run of `command`, which must succeed."""
    started = time.perf_counter()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"bench: {command}: exit {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - started


def bench_help() -> str:
    """Start-up, medians of eleven after one warm-up."""
    commands = {"ours": ("-m", "stepwatch"), "bare": ("-c", "pass"), "asv": ("-m", "asv")}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(12):
        for name, arguments in commands.items():
            taken[name].append(seconds(sys.executable, *arguments, "--help"))
    ours, bare, asv = (statistics.median(values[1:]) for values in taken.values())
    return row(
        "`stepwatch --help`",
        f"{ours:.3f} s",
        "< 0.3 s",
        f"{ours / asv:.2f} x `asv --help`, {ours / bare:.1f} x `python -c pass`",
    )


def bench_environment(scratch: Path) -> str:
    """A release environment from a warm cache, medians of three after one warm-up."""
    config = load_config(ROOT)
    release = next(r for r in load_tables(config.releases, ["jax"])["jax"] if r.name == RELEASE)
    lock = lock_path(config.locks, "cpu", release)
    ours, peers = [], []
    for number in range(4):
        store = EnvironmentStore(
            root=scratch / f"envs-{number}", keep=2, max_bytes=2**40, sources=open_store(config).sources
        )
        started = time.perf_counter()
        built = store.ensure(release, "cpu", lock)
        ours.append(time.perf_counter() - started)
        base = Path(os.path.realpath(built.python))
        built.close()
        venv = scratch / f"venv-{number}"
        taken = seconds(base, "-m", "venv", venv)
        taken += seconds(venv / "bin/python", "-m", "pip", "install", "-q", "-r", lock)
        peers.append(taken)
        shutil.rmtree(venv)
        shutil.rmtree(scratch / f"envs-{number}")
    mine, pip = statistics.median(ours[1:]), statistics.median(peers[1:])
    return row(
        f"the environment of {RELEASE}, warm package cache",
        f"{mine:.2f} s",
        "< 2 s",
        f"{mine / pip:.2f} x venv and pip ({pip:.1f} s)",
    )


TIMED_COMMAND_LINE = """
import sys, time
from stepwatch import cli
from stepwatch.measure import session
run_children, taken = session.run_children, []
def timed(commands, *arguments, **options):
    started = time.perf_counter()
    try:
        return run_children(commands, *arguments, **options)
    finally:
        taken.append((time.perf_counter() - started, len(commands)))
session.run_children = timed
try:
    cli.main()
finally:
    print(sum(seconds for seconds, _ in taken), sum(count for _, count in taken))
"""
"""The command line with a clock around the session processes; prints the seconds and the number of them."""


def bench_measure(scratch: Path) -> list[str]:
    """Time outside the session processes, from the start of the command to its end; plain asv beside it."""
    arguments = ["measure", "--a-a", RELEASE, "--bench", BENCH, "--results", str(scratch / "results")]
    seconds(sys.executable, "-m", "stepwatch", *arguments, "--sessions", "1", "--machine", "warm-up")
    command = [sys.executable, "-c", TIMED_COMMAND_LINE, *arguments]
    started = time.perf_counter()
    done = subprocess.run(
        [*command, "--sessions", str(PAIRS), "--machine", "bench"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - started
    children, sessions = float(done.stdout.split()[-2]), int(done.stdout.split()[-1])
    own = (wall - children) / sessions
    asv_seconds = bench_asv(scratch)
    here = f"{own * sessions / wall:.1%} of this run of {children / sessions:.1f} s sessions"
    peer = f"{wall / sessions / asv_seconds:.2f} x plain `asv run` ({asv_seconds:.2f} s)"
    return [
        row("own time beside the session processes", f"{own:.3f} s per session", "< 1 s", here),
        row("as a share of a run with 20 s sessions", f"{own / LONG_SESSION_SECONDS:.2%}", "< 5 %", "-"),
        row("one session with all its metrics, driver and all", f"{wall / sessions:.2f} s", "-", peer),
    ]


def bench_asv(scratch: Path) -> float:
    """Seconds that plain `asv run` adds for one more round of the same benchmark."""
    settings = json.loads((ROOT / "asv.conf.json").read_text())
    settings |= {key: str(ROOT / settings[key]) for key in ("repo", "benchmark_dir", "env_dir")}
    settings |= {"results_dir": str(scratch / "asv-results"), "html_dir": str(scratch / "asv-html")}
    path = scratch / "asv.conf.json"
    path.write_text(json.dumps(settings))
    environment = {**os.environ, "HOME": str(scratch)}
    machine = [sys.executable, "-m", "asv", "machine", "--yes", "--machine", "bench", "--config", str(path)]
    subprocess.run(machine, cwd=ROOT, env=environment, check=True, capture_output=True)
    command = [sys.executable, "-m", "asv", "run", f"{RELEASE}^!", "--bench", BENCH, "--machine", "bench"]
    command += ["--config", str(path), "--launch-method", "spawn"]
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def row(what: str, figure: str, goal: str, peer: str) -> str:
    """One line of the table."""
    return f"| {what} | {figure} | {goal} | {peer} |"


def main() -> None:
    """Measure everything and write the page."""
    with tempfile.TemporaryDirectory(prefix="stepwatch-bench-") as folder:
        scratch = Path(folder)
        rows = [bench_help(), bench_environment(scratch), *bench_measure(scratch)]
    text = "\n".join(
        [
            "# Speed of stepwatch itself",
            "",
            f"Written by `make bench` ({os.cpu_count()} cores). Ratios are against peers that took turns in",
            "the same run; no test asserts a time.",
            "",
            "| what | figure | goal | against |",
            "|---|---|---|---|",
            *rows,
        ]
    )
    PAGE.write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
