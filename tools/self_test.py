"""Does the whole path raise false alarms, and does it find what is there? Writes docs/reference/self-test.md.

Runs `stepwatch measure` and `stepwatch analyse`, as a user would, many times over: one release against itself
(A/A), and the same with a slowdown of 10 % planted in one workload of one side. About half an hour on a quiet
machine:

    .venv/bin/python tools/self_test.py --runs 10
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/self-test.md"
RELEASE = "jax/0.4.33"
BENCH = r"(mlp\.bench|embed\.bench|probes\.while_scalar)\.JaxJit"
PLANT = "mlp=1.10"
PLANTED_ROW = "mlp.bench.JaxJit.track_step_cpu"
OUTCOMES = ("regressed", "improved", "unchanged", "inconclusive", "broken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run of the path said."""

    kind: str
    seed: int
    verdicts: list[dict[str, object]]

    def count(self, outcome: str) -> int:
        """How many verdicts have this outcome."""
        return sum(row["outcome"] == outcome for row in self.verdicts)

    @property
    def planted(self) -> dict[str, object]:
        """The row into which the slowdown was planted (or would be)."""
        return next(row for row in self.verdicts if row["benchmark"] == PLANTED_ROW)

    @property
    def as_hoped(self) -> bool:
        """A/A: nothing regressed. Planted: that row regressed, and no other."""
        if self.kind == "A/A":
            return self.count("regressed") == 0
        return self.planted["outcome"] == "regressed" and self.count("regressed") == 1


def stepwatch(*arguments: str) -> None:
    """Run one command; stop with what it said if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "stepwatch", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"self-test: stepwatch {' '.join(arguments)}: exit {done.returncode}\n{done.stderr[-2000:]}")


def run_path(kind: str, seed: int, sessions: int, folder: Path) -> Run:
    """Measure and analyse once, into a folder of its own."""
    plant = [] if kind == "A/A" else ["--plant", PLANT]
    place = ["--results", str(folder / "results"), "--machine", "self-test"]
    stepwatch(
        "measure",
        "--a-a",
        RELEASE,
        "--bench",
        BENCH,
        "--sessions",
        str(sessions),
        "--seed",
        str(seed),
        *plant,
        *place,
    )
    stepwatch("analyse", "--a-a", RELEASE, "--output", str(folder / "report.json"), *plant, *place)
    report = json.loads((folder / "report.json").read_text())
    return Run(kind=kind, seed=seed, verdicts=report["verdicts"])


def page(runs: list[Run], sessions: int) -> str:
    """The table of all runs."""
    lines = [
        "# Self-test: false alarms and power of the whole path",
        "",
        f"Written by `tools/self_test.py` from {len(runs)} real runs of `stepwatch measure` and",
        f"`stepwatch analyse` on one machine ({platform.machine()}, CPU, size `cpu-smoke`): {RELEASE}",
        f"against itself, {sessions} sessions a side, the default policy. In the planted runs one side of",
        "`mlp` burns CPU after each timed step until the step took 1.10 times its own CPU time",
        f"(`--plant {PLANT}`). A run may be extended and judged again: the test is valid at any",
        "stopping time.",
        "",
    ]
    for kind in ("A/A", "planted 10 %"):
        chosen = [run for run in runs if run.kind == kind]
        good = sum(run.as_hoped for run in chosen)
        hope = "no regression" if kind == "A/A" else "`mlp` step regressed, and nothing else"
        lines.append(f"- **{kind}**: {hope} in **{good} of {len(chosen)}** runs.")
    lines += [
        "",
        f"| run | seed | {' | '.join(OUTCOMES)} | `mlp` step: ratio (interval), e-value | as hoped |",
        f"|---|---|{'---|' * len(OUTCOMES)}---|---|",
    ]
    for run in runs:
        row = run.planted
        interval = (
            f"{row['ratio_low']:.3f} to {row['ratio_high']:.3f}"
            if row["ratio_low"] is not None
            else "no interval"
        )
        counts = " | ".join(str(run.count(outcome)) for outcome in OUTCOMES)
        lines.append(
            f"| {run.kind} | {run.seed} | {counts} | {row['ratio']:.3f} ({interval}), {row['e_value']:.3g} "
            f"| {'yes' if run.as_hoped else '**no**'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run everything; exit 1 if one run did not end as hoped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="of each kind")
    parser.add_argument("--sessions", type=int, default=8, help="a side")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".stepwatch/self-test",
        help="where the runs are kept; those that are there are judged again, not measured again",
    )
    asked = parser.parse_args()
    runs = []
    for number in range(asked.runs):
        for kind in ("A/A", "planted 10 %"):
            folder = asked.folder / f"{number + 1}-{'a-a' if kind == 'A/A' else 'planted'}"
            folder.mkdir(parents=True, exist_ok=True)
            runs.append(run_path(kind, number + 1, asked.sessions, folder))
            sys.stderr.write(f"{kind} {number + 1}: {'as hoped' if runs[-1].as_hoped else 'NOT AS HOPED'}\n")
    runs.sort(key=lambda run: run.kind)
    PAGE.write_text(page(runs, asked.sessions))
    return 0 if all(run.as_hoped for run in runs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
