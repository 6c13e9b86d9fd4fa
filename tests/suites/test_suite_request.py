"""`STEPWATCH_*` variables are read once and validated."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites._harness.errors import SessionError
from suites._harness.request import Request


def test_plain_asv_sets_nothing_and_gets_a_cpu_session() -> None:
    request = Request.from_environ({})
    assert (request.accelerator, request.size, request.on_gpu) == ("cpu", "cpu-smoke", False)
    assert (request.session_file, request.cache_dir, request.samples, request.core) == (None,) * 4
    assert request.plant_factor("mlp") == 1.0


@pytest.mark.parametrize("accelerator", ["cuda12", "cuda13"])
def test_an_accelerator_brings_its_size(accelerator: str) -> None:
    request = Request.from_environ({"STEPWATCH_ACCELERATOR": accelerator})
    assert (request.size, request.on_gpu) == ("gpu", True)


def test_everything_can_be_asked_for() -> None:
    request = Request.from_environ(
        {
            "STEPWATCH_ACCELERATOR": "cuda12",
            "STEPWATCH_SIZE": "cpu-smoke",
            "STEPWATCH_SESSION_FILE": "session.json",
            "STEPWATCH_CACHE_DIR": "/caches",
            "STEPWATCH_PLANT": "mlp=1.10",
            "STEPWATCH_STEPS": "7",
            "STEPWATCH_CORE": "0",
        }
    )
    assert request.size == "cpu-smoke"
    assert request.session_file == Path("session.json").absolute()  # a session may change its folder
    assert request.cache_dir == Path("/caches")
    assert (request.plant_factor("mlp"), request.plant_factor("gpt")) == (1.10, 1.0)
    assert (request.samples, request.core) == (7, 0)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STEPWATCH_ACCELERATOR", "tpu"),
        ("STEPWATCH_SIZE", "huge"),
        ("STEPWATCH_PLANT", "mlp"),
        ("STEPWATCH_PLANT", "mlp=fast"),
        ("STEPWATCH_PLANT", "mlp=0.9"),
        ("STEPWATCH_PLANT", "mlp=inf"),
        ("STEPWATCH_PLANT", "mlp=nan"),
        ("STEPWATCH_PLANT", "=1.1"),
        ("STEPWATCH_STEPS", "0"),
        ("STEPWATCH_STEPS", "-3"),
        ("STEPWATCH_CORE", "one"),
    ],
)
def test_nonsense_names_its_variable(variable: str, value: float) -> None:
    with pytest.raises(SessionError, match=f"^{variable}={value}: "):
        Request.from_environ({variable: value})
