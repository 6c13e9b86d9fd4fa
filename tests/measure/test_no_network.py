"""Without a network: what is cached is measured, what is not is one line that says so."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tracker

ALONE = ["unshare", "--user", "--map-root-user", "--net"]

pytestmark = pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0,
    reason="no right to make a network namespace here",
)


def measure_alone(tracker: Tracker, spec: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in tracker.environ().items() if key != "UV_OFFLINE"}
    return subprocess.run(
        [*ALONE, *tracker.command("stepwatch", "measure", spec, "--sessions", "1", "--machine", "m")],
        cwd=tracker.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_what_is_at_hand_is_measured(tracker: Tracker) -> None:
    done = measure_alone(tracker, "mini/1.0..mini/2.0")
    assert done.returncode == 0, done.stderr
    assert len(tracker.sidecar().sessions) >= 2


def test_what_is_not_is_one_line_with_the_next_step(tracker: Tracker) -> None:
    lock = tracker.config.locks / "cpu" / "mini-2.0.txt"
    lock.write_text(lock.read_text() + "six==1.16.0\n")
    done = measure_alone(tracker, "mini/2.0")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "mini/2.0: install failed: " in last
    assert "once it is back, run the same command again" in last


def test_a_release_without_an_environment_is_broken_in_the_report(tracker: Tracker) -> None:
    lock = tracker.config.locks / "cpu" / "mini-2.0.txt"
    lock.write_text(lock.read_text() + "six==1.16.0\n")
    measure_alone(tracker, "mini/1.0..mini/2.0")
    shown = tracker.run("stepwatch", "analyse", "mini/1.0..mini/2.0", "--fail-on", "broken", code=1)
    assert "BROKEN" in shown.stdout
    assert "install failed" in shown.stdout
