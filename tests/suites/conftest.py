"""Ways to run the suite as asv and the driver do: in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stepwatch.config import load_config
from stepwatch.measure.store import open_store
from stepwatch.releases.locks import lock_path
from stepwatch.releases.names import resolve_release
from stepwatch.releases.table import load_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `suites` is found from the checkout, wherever pytest was started

Completed = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def run_python() -> Callable[..., Completed]:
    """Run `python` from the repository root; STEPWATCH_* variables only as given."""

    def run(*arguments: str, python: str = sys.executable, path: str = "", **variables: str) -> Completed:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("STEPWATCH_", "COV_CORE"))}
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (path, str(ROOT))))
        return subprocess.run(
            [python, *arguments],
            cwd=ROOT,
            env=kept | variables,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def release_python() -> Iterator[Callable[[str], str]]:
    """The interpreter of a release's real environment, built from its lock if it is not there yet."""
    config = load_config(ROOT)
    store = open_store(config)
    tables = load_tables(config.releases, [track.package for track in config.tracks])
    held = {}

    def python(name: str) -> str:
        if name not in held:
            release = resolve_release(name, tables)
            held[name] = store.ensure(release, "cpu", lock_path(config.locks, "cpu", release))
        return str(held[name].python)

    yield python
    for environment in held.values():
        environment.close()
