"""Pinning, and what a reading of the machine holds."""

from __future__ import annotations

import math
import os
import subprocess

import pytest
from suites._harness import machine
from suites._harness.errors import SessionError


@pytest.fixture
def affinity(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """Cores that this process may run on; setting them is only noted."""
    noted: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4, 2})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: noted.append(cores))
    monkeypatch.setattr(os, "environ", {})
    return noted


def test_pin_takes_the_highest_allowed_core_and_one_thread(affinity: list[set[int]]) -> None:
    settings = machine.pin(None)
    assert affinity == [{4}]
    assert (settings["affinity"], settings["cores_allowed"], settings["threads"]) == ([4], [1, 2, 4], 1)
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert os.environ["OMP_WAIT_POLICY"] == "passive"


def test_pin_takes_the_core_asked_for_if_allowed(affinity: list[set[int]]) -> None:
    machine.pin(2)
    assert affinity == [{2}]
    with pytest.raises(SessionError, match=r"STEPWATCH_CORE=3: .*\[1, 2, 4\]"):
        machine.pin(3)


def test_a_reading_holds_load_times_and_memory() -> None:
    state = machine.read_state(gpu=False)
    assert len(state["load"]) == 3
    assert {"user", "idle", "steal"} <= set(state["cpu_seconds"])
    assert all(math.isfinite(seconds) and seconds >= 0 for seconds in state["cpu_seconds"].values())
    assert state["memory_available_bytes"] > 0
    assert "gpus" not in state
    assert machine.processor_name()


def test_processor_times_advance() -> None:
    first = machine.read_state(gpu=False)
    sum(range(3_000_000))
    second = machine.read_state(gpu=False)
    assert second["at"] > first["at"]
    assert sum(second["cpu_seconds"].values()) > sum(first["cpu_seconds"].values())


def test_what_the_machine_does_not_offer_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_text", lambda _: "")
    state = machine.read_state(gpu=False)
    assert {"governor", "frequency_hz", "memory_available_bytes"}.isdisjoint(state)
    assert state["cpu_seconds"] == {}
    assert machine.processor_name()


def test_frequency_is_recorded_where_it_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"scaling_governor": "performance\n", "scaling_cur_freq": "2400000\n"}
    monkeypatch.setattr(machine, "_text", lambda path: values.get(str(path).rpartition("/")[2], ""))
    state = machine.read_state(gpu=False)
    assert (state["governor"], state["frequency_hz"]) == ("performance", 2_400_000_000)


def test_gpu_clocks_are_read_with_the_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    row = "NVIDIA H200, 550.90, P0, 1980, 3201, 35, 120.5, 0x0000000000000000, Disabled, Enabled\n"
    done = subprocess.CompletedProcess([], 0, stdout=row * 2)
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_kwargs: done)
    gpus = machine.read_state(gpu=True)["gpus"]
    assert len(gpus) == 2
    assert (gpus[0]["name"], gpus[0]["clocks.sm"]) == ("NVIDIA H200", "1980")


def test_a_gpu_without_clocks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_args: object, **_kwargs: object) -> None:
        raise FileNotFoundError(2, "No such file", "nvidia-smi")

    monkeypatch.setattr(subprocess, "run", absent)
    with pytest.raises(SessionError, match="nvidia-smi does not answer"):
        machine.read_state(gpu=True)


def test_versions_are_those_really_imported() -> None:
    versions = machine.imported_versions("pytest", "jax")
    assert versions["pytest"] == pytest.__version__
    assert "python" in versions
    assert "jax" not in versions
    assert "pytest" in machine.installed_packages()
