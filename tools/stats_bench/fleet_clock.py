"""One timed run over a fleet's history, in a process of its own; prints one line of JSON.

    python -m stats_bench.fleet_clock asv FOLDER
    python -m stats_bench.fleet_clock ours FOLDER

Seconds: `imports`, and the parts of the work by name. asv's parts are the phases that publish announces.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time

STARTED = time.perf_counter()


def clock_asv(folder: str) -> dict[str, float]:
    """`asv publish --no-pull`, by its own phases."""
    from asv.commands import publish  # noqa: PLC0415  its import is timed
    from asv.config import Config  # noqa: PLC0415  the same
    from asv.console import log  # noqa: PLC0415  the same

    os.chdir(folder)
    phases = {"imports": time.perf_counter() - STARTED}
    begun: list[tuple[str, float]] = []

    def info(message: str, *_: object) -> None:
        now = time.perf_counter()
        if begun:
            phases[begun[-1][0]] = now - begun[-1][1]
        begun.append((message, now))

    log.info = info
    log.step = log.dot = lambda: None
    with contextlib.redirect_stdout(io.StringIO()):
        publish.Publish.run(Config.load("asv.conf.json"), pull=False)
        info("end")
    return phases


def clock_ours(folder: str) -> dict[str, float]:
    """`stepwatch changepoints results`: imports, loading the compiled detector, and the command itself."""
    from stepwatch.commands import changepoints, histories  # noqa: F401, PLC0415  its import is timed
    from stepwatch.render import changes_text  # noqa: F401, PLC0415  the same
    from stepwatch.stats.changepoint import warm_up  # noqa: PLC0415  the same

    imported = time.perf_counter()
    warm_up()
    ready = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        changepoints.command.main([f"{folder}/results"], standalone_mode=False)
    done = time.perf_counter()
    return {"imports": imported - STARTED, "kernels": ready - imported, "work": done - ready}


if __name__ == "__main__":
    _, who, where = sys.argv
    found = clock_asv(where) if who == "asv" else clock_ours(where)
    print(json.dumps(found))
