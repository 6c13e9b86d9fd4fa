"""For every test: workers that measure at the same time do not share a core."""

from __future__ import annotations

import os

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
if WORKER.removeprefix("gw").isdecimal():
    cores = sorted(os.sched_getaffinity(0))
    os.environ["STEPWATCH_CORE"] = str(cores[int(WORKER.removeprefix("gw")) % len(cores)])
