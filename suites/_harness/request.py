"""What the caller asks of a session, read once from `STEPWATCH_*` variables and validated.

All are optional: plain `asv run` sets none and gets a CPU session.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from suites._harness.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCELERATORS = ("cpu", "cuda12", "cuda13")
SIZES = ("cpu-smoke", "gpu")


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One session, as asked for."""

    accelerator: str
    size: str
    session_file: Path | None
    """Where the session record goes; None writes none."""
    cache_dir: Path | None
    """Compile caches that outlive the session; None means a fresh, so cold, one."""
    plant: tuple[str, float] | None
    """A workload and the factor by which its steps are slowed down on purpose (self-test)."""
    samples: int | None
    """Overrides the number of timed samples (tests)."""
    core: int | None
    """The core to pin to; None means the highest allowed one."""
    turns: tuple[int, int] | None
    """Pipes to the other session of a pair, see `turns.Turns`; None: the session runs alone."""

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU must be used."""
        return self.accelerator != "cpu"

    def plant_factor(self, workload: str) -> float:
        """How much slower than itself each step of `workload` is to be made; 1.0 for not at all."""
        return self.plant[1] if self.plant and self.plant[0] == workload else 1.0

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Request:
        """Read the request from `environ`.

        Raises:
            SessionError: a variable holds something it cannot hold; names the variable.
        """
        accelerator = environ.get("STEPWATCH_ACCELERATOR") or "cpu"
        if accelerator not in ACCELERATORS:
            raise SessionError(f"STEPWATCH_ACCELERATOR={accelerator}: known are {', '.join(ACCELERATORS)}")
        size = environ.get("STEPWATCH_SIZE") or ("cpu-smoke" if accelerator == "cpu" else "gpu")
        if size not in SIZES:
            raise SessionError(f"STEPWATCH_SIZE={size}: known are {', '.join(SIZES)}")
        return cls(
            accelerator=accelerator,
            size=size,
            session_file=_path(environ.get("STEPWATCH_SESSION_FILE")),
            cache_dir=_path(environ.get("STEPWATCH_CACHE_DIR")),
            plant=_plant(environ.get("STEPWATCH_PLANT")),
            samples=_count(environ, "STEPWATCH_STEPS", least=1),
            core=_count(environ, "STEPWATCH_CORE", least=0),
            turns=_pipes(environ.get("STEPWATCH_TURNS")),
        )


def _path(text: str | None) -> Path | None:
    return Path(text).absolute() if text else None


def _count(environ: Mapping[str, str], name: str, *, least: int) -> int | None:
    text = environ.get(name)
    if not text:
        return None
    if not text.isdecimal() or int(text) < least:
        raise SessionError(f"{name}={text}: a whole number of at least {least} is needed")
    return int(text)


def _pipes(text: str | None) -> tuple[int, int] | None:
    if not text:
        return None
    numbers = text.split(",")
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise SessionError(f"STEPWATCH_TURNS={text}: needed are two file descriptors, like 3,4")
    return int(numbers[0]), int(numbers[1])


def _plant(text: str | None) -> tuple[str, float] | None:
    if not text:
        return None
    workload, _, factor_text = text.partition("=")
    try:
        factor = float(factor_text)
    except ValueError:
        factor = 0.0
    if not workload or not 1.0 <= factor < float("inf"):
        raise SessionError(f"STEPWATCH_PLANT={text}: needed is WORKLOAD=FACTOR with a factor of at least 1.0")
    return workload, factor
