"""Print the parameter count and the first losses of one workload x variant, for the parity test.

Run from the repository root by a release environment's Python:
    python -m suites._harness.parity mlp jax-jit --size cpu-smoke
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from suites._harness.benchmarks import AbstractSession
from suites._harness.request import SIZES, Request
from suites._harness.session import first_losses

if TYPE_CHECKING:
    from collections.abc import Sequence

LOSSES = 5


def benchmark_class(workload: str, variant: str) -> type[AbstractSession]:
    """The benchmark of `suites/<workload>/bench.py`, or of the one-file workload `suites/<workload>.py`.

    Raises:
        SystemExit: no such workload or variant; names those that there are.
    """
    module = importlib.import_module(f"suites.{workload}")
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"suites.{workload}.bench")
    classes = [
        found
        for found in vars(module).values()
        if inspect.isclass(found) and issubclass(found, AbstractSession) and not inspect.isabstract(found)
    ]
    for found in classes:
        if found.variant == variant:
            return found
    raise SystemExit(f"{workload} has no variant {variant!r}: it has {', '.join(c.variant for c in classes)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse `arguments` and print `{"parameters": int, "losses": [float]}` as one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m suites._harness.parity", description=__doc__)
    parser.add_argument("workload")
    parser.add_argument("variant", choices=("jax-jit", "torch-eager", "torch-compile"))
    parser.add_argument("--size", choices=SIZES, default="cpu-smoke")
    options = parser.parse_args(arguments)
    request = Request.from_environ({**os.environ, "STEPWATCH_SIZE": options.size})
    benchmark = benchmark_class(options.workload, options.variant)()
    problem = benchmark.workload.problem(request.size)
    # One batch again and again: on fresh batches the first losses hardly depend on the optimizer.
    problem = replace(problem, batches=problem.batches[:1])
    losses = first_losses(benchmark.runtime(), problem, request, steps=LOSSES)
    sys.stdout.write(json.dumps({"parameters": problem.parameters, "losses": losses}) + "\n")


if __name__ == "__main__":
    main()
