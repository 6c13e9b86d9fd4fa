"""asv results directories as asv itself writes them, for tests of histories."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from asv.results import Results
from asv.runner import BenchmarkResult

if TYPE_CHECKING:
    from pathlib import Path

DAY_MS = 86_400_000


def save_commit(  # noqa: PLR0913  each names one thing that makes a series
    results: Path,
    number: int,
    values: dict[str, Any],
    *,
    machine: str = "lab",
    python: str = "3.12",
    version: str = "1",
    params: dict[str, list[list[str]]] | None = None,
    **description: str,
) -> Path:
    """One commit's file, dated `number` days after 1970; None is failed, NaN skipped, a list parametrized."""
    folder = results / machine
    if not (folder / "machine.json").exists():
        folder.mkdir(parents=True)
        (folder / "machine.json").write_text(json.dumps({"machine": machine, "version": 1}))
    commit = f"{number:08x}" * 5
    described = {"machine": machine, "python": python, "cpu": "reference", **description}
    environment = f"virtualenv-py{python}"
    file = Results(described, {}, commit, number * DAY_MS, python, environment, {})
    for name, value in values.items():
        found = value if isinstance(value, list) else [value]
        nothing = [None] * len(found)
        outcome = BenchmarkResult(
            result=found, samples=nothing, number=nothing, errcode=0, stderr="", profile=None
        )
        choices = (params or {}).get(name, [])
        file.add_result({"name": name, "version": version, "params": choices}, outcome)
    file.save(str(results))
    return folder / f"{commit[:8]}-{environment}.json"


def step_values(count: int, at: int, *, size: float = 0.2, noise: float = 0.003) -> list[float]:
    """A series in seconds around 1 with a step; its noise repeats and is no random number."""
    wobble = [math.sin(i * 12.9898) * math.cos(i * 78.233) for i in range(count)]
    return [(1 + size * (i >= at)) * (1 + noise * wobble[i]) for i in range(count)]
