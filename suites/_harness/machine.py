"""The machine around a session: pinning, and a reading of its state before and after.

A reading answers one question afterwards: was this machine doing something else? What a machine does not
offer (clock frequencies inside a virtual machine, say) is left out of the reading, never guessed.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from suites._harness.errors import SessionError

_STAT_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_GPU_FIELDS = (
    "name",
    "driver_version",
    "pstate",
    "clocks.sm",
    "clocks.mem",
    "temperature.gpu",
    "power.draw",
    "clocks_throttle_reasons.active",
    "mig.mode.current",
    "ecc.mode.current",
)

THREAD_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Spinning OpenMP workers on a busy core made steps 5-30 times slower.
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
}
"""Set before a framework is imported: their libraries read them once, when they load."""


def pin(core: int | None) -> dict[str, Any]:
    """Bind this process to one core and one thread; returns what was set, for the record.

    Args:
        core: the core to use; None takes the highest allowed one (interrupts prefer the low ones).

    Raises:
        SessionError: this process may not run on `core`.
    """
    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed[-1] if core is None else core
    if chosen not in allowed:
        raise SessionError(f"STEPWATCH_CORE={chosen}: this process may run on cores {allowed}")
    os.sched_setaffinity(0, {chosen})
    return {"affinity": [chosen], "cores_allowed": allowed, "threads": 1, **limit_threads()}


def limit_threads() -> dict[str, str]:
    """One thread for every library loaded from now on; returns the variables that say so."""
    os.environ.update(THREAD_VARIABLES)
    return THREAD_VARIABLES


def read_state(*, gpu: bool) -> dict[str, Any]:
    """The state of the machine now: load, processor times (with steal), frequency, memory, GPU clocks."""
    state: dict[str, Any] = {"at": time.time(), "load": list(os.getloadavg()), "affinity": _affinity()}
    state.update(_processor_times())
    state.update(_frequency())
    state.update(_memory())
    if gpu:
        state["gpus"] = _gpu_state()
    return state


def processor_name() -> str:
    """The processor's own name, as the kernel reports it."""
    for line in _text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def installed_packages() -> dict[str, str]:
    """Every distribution of this environment: normalised name (`ml-dtypes`) -> version."""
    found = {dist.metadata["Name"]: dist.version for dist in metadata.distributions()}
    return dict(sorted((re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in found.items()))


def imported_versions(*modules: str) -> dict[str, str]:
    """`python`, and the `__version__` of those of `modules` that were really imported."""
    versions = {"python": platform.python_version()}
    for name in modules:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return versions


def _affinity() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def _processor_times() -> dict[str, Any]:
    """Seconds since boot over all cores, by kind; `steal` is what other virtual machines took."""
    first = _text("/proc/stat").partition("\n")[0].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return {"cpu_seconds": {n: int(v) / ticks for n, v in zip(_STAT_FIELDS, first[1:], strict=False)}}


def _frequency() -> dict[str, Any]:
    folder = Path(f"/sys/devices/system/cpu/cpu{_affinity()[-1]}/cpufreq")
    found: dict[str, Any] = {}
    if governor := _text(folder / "scaling_governor").strip():
        found["governor"] = governor
    if kilohertz := _text(folder / "scaling_cur_freq").strip():
        found["frequency_hz"] = int(kilohertz) * 1000
    return found


def _memory() -> dict[str, Any]:
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return {"memory_available_bytes": int(line.split()[1]) * 1024}
    return {}


def _gpu_state() -> list[dict[str, str]]:
    """One dictionary per GPU, as `nvidia-smi` prints it.

    Raises:
        SessionError: `nvidia-smi` is missing or fails; a GPU number without clocks cannot be judged.
    """
    command = ["nvidia-smi", f"--query-gpu={','.join(_GPU_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise SessionError(
            f"nvidia-smi does not answer ({error}): the GPU's clocks cannot be recorded"
        ) from error
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    return [dict(zip(_GPU_FIELDS, row, strict=True)) for row in rows]


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
