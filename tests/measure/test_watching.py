"""What a watcher shows: lines without a terminal, a bar on one."""

from __future__ import annotations

import io
import sys

import pytest

from stepwatch.commands.watching import describe, watch
from stepwatch.measure.campaign import PlannedSession, SessionKey
from stepwatch.measure.events import (
    EnvironmentBroken,
    EnvironmentReady,
    EnvironmentStarted,
    GroupClosed,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    quiet,
)
from stepwatch.model import Side

KEY = SessionKey(round=2, benchmark="mlp.bench.JaxJit", side=Side.BASELINE, release="jax/0.4.31")
SESSION = PlannedSession(key=KEY, position=0)
WHO = "mlp.bench.JaxJit on jax/0.4.31, round 3 (baseline)"
EVENTS = [
    (EnvironmentStarted(release="jax/0.4.31"), ""),
    (
        EnvironmentReady(release="jax/0.4.31", source="index", built_seconds=1.25),
        "jax/0.4.31: environment built in 1.2 s (index)",
    ),
    (
        EnvironmentReady(release="jax/0.4.31", source="index", built_seconds=None),
        "jax/0.4.31: environment is there (index)",
    ),
    (EnvironmentBroken(release="jax/0.4.31", reason="no [wheel]"), "no environment: no [wheel]"),
    (SessionStarted(session=SESSION, number=3, total=16, seconds_left=75.0), ""),
    (SessionFinished(session=SESSION, number=3, total=16, seconds=2.5), f"[3/16] {WHO}: 2.5 s"),
    (SessionFailed(session=SESSION, reason="died", retry=True), f"{WHO}: failed, trying again: died"),
    (SessionFailed(session=SESSION, reason="died", retry=False), f"{WHO}: failed: died"),
    (
        GroupClosed(benchmark=KEY.benchmark, release=KEY.release, reason="skipped"),
        "mlp.bench.JaxJit on jax/0.4.31: not measured any more: skipped",
    ),
]


@pytest.mark.parametrize(("event", "line"), EVENTS)
def test_each_event_is_one_line_or_none(event: object, line: str) -> None:
    assert describe(event) == line  # type: ignore[arg-type]  # every kind of event is in the table
    quiet(event)  # type: ignore[arg-type]  # as above


def test_without_a_terminal_there_are_lines_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with watch() as progress:
        for event, _ in EVENTS:
            progress(event)  # type: ignore[arg-type]  # as above
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [line for _, line in EVENTS if line]
    assert captured.out == ""


def test_on_a_terminal_there_is_a_bar_with_what_runs_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    with watch() as progress:
        for event, _ in EVENTS[:7]:
            progress(event)  # type: ignore[arg-type]  # as above
    shown = screen.getvalue()
    assert "no environment: no [wheel]" in shown
    assert "3/16" in shown
    assert "1 min 15 s left" in shown
