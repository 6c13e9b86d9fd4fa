"""What a running comparison shows: a board on a terminal, lines elsewhere."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from evidence_factory import evidence, noisy, pairs
from rich.console import Console

from stepwatch.commands import comparing
from stepwatch.commands.comparing import describe_pair, lines, watch_comparison
from stepwatch.commands.comparison_board import Board, estimate, outcome
from stepwatch.measure.events import EnvironmentStarted, Noted, PairJudged, PairStarted
from stepwatch.model import Outcome
from stepwatch.policy import Policy
from stepwatch.verdict import Confirmation, Verdict, judge

if TYPE_CHECKING:
    from stepwatch.model import Stage

POLICY = Policy(metrics=("step_cpu",))
(ROW,) = judge(evidence(pairs(noisy(1.0, 8, noise=0.1))), POLICY)


def row(group: str, **changes: Any) -> Verdict:
    fields = {"ratio": 1.02, "ratio_low": 0.98, "ratio_high": 1.06, "sessions": 8, **changes}
    return msgspec.structs.replace(ROW, benchmark=f"{group}.track_step_cpu", **fields)


def started(group: str = "mlp.bench.JaxJit", *, stage: Stage = "search", number: int = 7) -> PairStarted:
    return PairStarted(
        group=group, stage=stage, number=number, seconds=10.0, spent_seconds=60.0, budget_seconds=1200.0
    )


def judged(*rows: Verdict, groups: tuple[str, ...] = (), undecided: tuple[str, ...] = ()) -> PairJudged:
    return PairJudged(
        rows=rows, groups=groups, undecided=frozenset(undecided), spent_seconds=72.0, budget_seconds=1200.0
    )


def drawn(board: Board, width: int = 90) -> str:
    out = io.StringIO()
    Console(file=out, width=width, height=board.console.height).print(board)
    return out.getvalue()


def board(now: list[float], *, height: int = 24, width: int = 90) -> Board:
    return Board(Console(file=io.StringIO(), width=width, height=height), clock=lambda: now[0])


def test_the_board_says_what_runs_and_how_much_time_is_left_while_it_ticks() -> None:
    now = [100.0]
    shown = board(now)
    shown.show(EnvironmentStarted(release="jax/0.4.31"))
    assert drawn(shown) == "environment of jax/0.4.31\n"
    shown.show(judged(row("mlp.bench.JaxJit"), groups=("mlp.bench.JaxJit",), undecided=("mlp.bench.JaxJit",)))
    shown.show(started())
    now[0] = 105.0
    headline = drawn(shown).splitlines()[0]
    assert headline == "1 min 05 s spent, 18 min 55 s left · 1 undecided · mlp JaxJit pair 7"
    shown.show(started(stage="confirm", number=2))
    assert "mlp JaxJit pair 2 (confirming)" in drawn(shown)
    shown.show(Noted(text="something"))
    shown.show(judged())
    assert drawn(shown).startswith("judging")


def test_undecided_benchmarks_come_first_then_unmeasured_ones_then_the_decided() -> None:
    shown = board([0.0])
    suspect = Confirmation(outcome="inconclusive", sessions=2)
    shown.show(
        judged(
            row("done.bench.JaxJit", outcome=Outcome.UNCHANGED, ratio=1.0, ratio_low=0.99, ratio_high=1.01),
            row("open.bench.JaxJit", confirmation=suspect),
            row("given_up.bench.JaxJit"),
            groups=("done.bench.JaxJit", "open.bench.JaxJit", "later.bench.JaxJit", "given_up.bench.JaxJit"),
            undecided=("open.bench.JaxJit", "later.bench.JaxJit"),
        )
    )
    text = [line.split("  ")[0].strip() for line in drawn(shown).splitlines()[2:]]
    assert text == [
        "open JaxJit step_cpu",
        "later JaxJit",
        "done JaxJit step_cpu",
        "given_up JaxJit step_cpu",
    ]
    assert "suspected (2 fresh)…" in drawn(shown)
    assert "not measured yet" in drawn(shown)


def test_the_board_fits_the_terminal() -> None:
    narrow = board([0.0], width=80)
    long = "a_benchmark_with_a_name_of_its_own.bench.JaxJit"
    narrow.show(judged(row(long), groups=(long,), undecided=(long,)))
    text = drawn(narrow, width=80)
    assert "JaxJit step_cpu" in text
    assert "1.020x (0.980 to 1.060)      8" in text
    shown = board([0.0], height=12)
    groups = tuple(f"b{number}.bench.JaxJit" for number in range(200))
    shown.show(judged(*map(row, groups), groups=groups, undecided=groups))
    text = drawn(shown)
    assert len(text.splitlines()) <= 10
    assert "and 194 more" in text


def test_a_line_per_pair_without_a_terminal() -> None:
    written: list[str] = []
    show = lines(written.append)
    group = "mlp.bench.JaxJit"
    before = judged(groups=(group,), undecided=(group,))
    show(before)
    show(Noted(text="something odd"))
    show(started())
    show(judged(row(group), groups=(group,), undecided=(group,)))
    note, line = written
    assert note == "note: something odd"
    assert line == (
        "[1 min 12 s of 20 min 00 s] mlp.bench.JaxJit pair 7: step_cpu inconclusive 1.020x (0.980 to 1.060); "
        "1 of 1 benchmarks undecided"
    )
    assert describe_pair(started(stage="confirm"), before).endswith(
        "pair 7 (fresh, to confirm): nothing judged; 1 of 1 benchmarks undecided"
    )


def test_words_for_a_suspect_and_for_an_exact_row() -> None:
    assert outcome(row("a")) == "inconclusive"
    pending = Confirmation(outcome="pending", sessions=0)
    assert outcome(row("a", confirmation=pending)) == "suspected (0 fresh)"
    confirmed = Confirmation(outcome="confirmed", sessions=6)
    assert outcome(row("a", outcome=Outcome.REGRESSED, confirmation=confirmed)) == "regressed, confirmed"
    assert estimate(row("a", method="exact")) == "1.020x"
    assert estimate(row("a", ratio=None)) == "-"


@pytest.mark.parametrize("terminal", [True, False])
def test_the_watcher_writes_to_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool
) -> None:
    monkeypatch.setattr(comparing.sys.stderr, "isatty", lambda: terminal)
    with watch_comparison() as show:
        show(Noted(text="\x1b[31mhostile"))
        show(started())
        show(judged(row("mlp.bench.JaxJit"), groups=("mlp.bench.JaxJit",)))
    out, err = capsys.readouterr()
    assert "hostile" in err
    assert not out
