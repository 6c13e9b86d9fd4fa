"""A session protocol in miniature: writes the record that the real harness would write."""

import json
import math
import os
import random
import sys
import time
from pathlib import Path

CONTROL = Path(__file__).with_name("control.json")


class Turns:
    """The least that the protocol asks: wait for the turn; what ends gives it on."""

    def __init__(self, pipes: str | None) -> None:
        self.pipes = [int(pipe) for pipe in pipes.split(",")] if pipes else []

    def take(self) -> None:
        if self.pipes:
            os.read(self.pipes[0], 1)


def session(benchmark: str) -> dict:
    """Do what the control file says for this benchmark (and release), then write and return a record."""
    import mini

    turns = Turns(os.environ.get("STEPWATCH_TURNS"))
    turns.take()
    control = json.loads(CONTROL.read_text()) if CONTROL.exists() else {}
    wanted = control.get(f"{benchmark}@{mini.__version__}", control.get(benchmark, {}))
    time.sleep(wanted.get("seconds", 0.0))
    mode = wanted.get("mode", "ok")
    if mode == "crash":
        raise RuntimeError("the step exploded")
    if mode == "skip":
        content = {"schema": 1, "skipped": "mini is not installed", "benchmark": benchmark}
    else:
        content = _record(benchmark, mini.__version__, wanted)
    path = os.environ.get("STEPWATCH_SESSION_FILE")
    if path and mode != "silent":
        text = json.dumps(content)
        Path(path).write_text(text[:40] if mode == "torn" else text)
    return content


def _record(benchmark: str, version: str, wanted: dict) -> dict:
    in_turns = "STEPWATCH_TURNS" in os.environ
    base = wanted.get("base", 0.002) * (1.2 if version == "2.0" else 1.0)
    factor = float(os.environ.get("STEPWATCH_PLANT", "x=1").partition("=")[2])
    samples = [base * factor * random.uniform(0.99, 1.01) for _ in range(30)]
    accelerator = (
        "cpu" if wanted.get("mode") == "fallback" else os.environ.get("STEPWATCH_ACCELERATOR", "cpu")
    )
    return {
        "schema": 1,
        "benchmark": benchmark,
        "workload": benchmark.partition(".")[0],
        "variant": "mini",
        "size": os.environ.get("STEPWATCH_SIZE", "cpu-smoke"),
        "accelerator": accelerator,
        "metrics": {
            "step_cpu": {
                "samples": [math.nan] if wanted.get("mode") == "nan" else samples,
                "unit": "seconds",
            },
            "loss": {"samples": [1.5], "unit": "1"},
        },
        "started_at": time.time(),
        "wall_seconds": 0.01,
        "versions": {"python": sys.version.split()[0], "mini": version},
        "packages": {"mini": version},
        "device": {"platform": "cpu", "kind": wanted.get("device", "mini processor")},
        "machine_before": {},
        "machine_after": {},
        "settings": {
            "planted_slowdown": factor,
            "cache": os.environ.get("STEPWATCH_CACHE_DIR", ""),
            **({} if wanted.get("mode") == "alone" and in_turns else {"turns": int(in_turns)}),
        },
        "parameters": 1,
    }


def read(metric: str, record: dict) -> object:
    """What a `track_*` method returns: the samples of a metric, or asv's "skipped"."""
    if "skipped" in record:
        raise NotImplementedError(record["skipped"])
    found = record["metrics"].get(metric)
    return {"samples": found["samples"], "number": 1} if found else math.nan
