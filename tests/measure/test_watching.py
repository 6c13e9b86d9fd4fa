"""What a watcher shows: lines without a terminal, a bar on one."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from stepwatch.commands import progress_bar
from stepwatch.commands.watching import describe, watch
from stepwatch.measure.campaign import PlannedSession, SessionKey
from stepwatch.measure.events import (
    EnvironmentBroken,
    EnvironmentReady,
    EnvironmentStarted,
    GroupClosed,
    Noted,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    quiet,
)
from stepwatch.model import Side

A = "jax/0.4.31"
KEY = SessionKey(round=2, benchmark="mlp.bench.JaxJit", side=Side.BASELINE, release="jax/0.4.31")
SESSION = PlannedSession(key=KEY, position=0)
WHO = "mlp.bench.JaxJit on jax/0.4.31, round 3 (baseline)"
EVENTS = [
    (Noted(text="twice"), "note: twice"),
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


class Terminal(io.StringIO):
    """A terminal that remembers what was drawn."""

    def isatty(self) -> bool:
        return True


def test_on_80_columns_the_time_left_comes_first_and_ticks_down(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress_bar._Left, "max_refresh", None)
    console = Console(file=io.StringIO(), width=80)
    bar, task = progress_bar.new_bar(console)
    show = progress_bar.watcher(bar, task, describe)

    def drawn() -> str:
        with console.capture() as captured:
            console.print(bar.get_renderable())
        return captured.get().rstrip()

    show(EnvironmentStarted(release="jax/0.4.31"))
    assert drawn().endswith("  environment of jax/0.4.31")
    assert "?" not in drawn()
    key = SessionKey(round=2, benchmark="probes.scan_small_matrix.JaxJit", side=Side.BASELINE, release=A)
    session = PlannedSession(key=key, position=0)
    show(SessionStarted(session=session, number=103, total=160, seconds_left=3599.0))
    assert drawn().endswith(" 102/160 59 min 59 s left scan_small_matrix JaxJit jax/0.4.31")
    now[0] += 61.0
    assert " 102/160 58 min 58 s left " in drawn()
    show(SessionFinished(session=session, number=103, total=160, seconds=2.5))
    assert " 103/160 " in drawn()
    assert max(map(len, drawn().splitlines())) <= 80
    assert drawn().count("\n") == 0


def test_a_terminal_gets_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with watch() as progress:
        for event, _ in EVENTS:
            progress(event)  # type: ignore[arg-type]  # as above
    assert "note: twice" in screen.getvalue()
