"""A running comparison on a terminal: the verdicts so far, what is measured now, the time spent and left."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stepwatch.measure.campaign import workload_of
from stepwatch.measure.events import EnvironmentStarted, Event, PairJudged, PairStarted
from stepwatch.model import Outcome
from stepwatch.units import format_duration, format_ratio, format_ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stepwatch.measure.events import Progress
    from stepwatch.verdict import Verdict

_STYLES = {
    Outcome.REGRESSED: "red",
    Outcome.BROKEN: "red",
    Outcome.IMPROVED: "green",
    Outcome.UNCHANGED: "dim",
    Outcome.INCONCLUSIVE: "yellow",
}
_LINES_AROUND = 6
"""Of the terminal's height: headline, head, what was left out, and what scrolls by."""
_REFRESHES_PER_SECOND = 2
_OTHER_COLUMNS = 58
"""Width of everything beside the names: where room is short, names give way."""
_SHORTEST_NAME = 12


class Board:
    """What is drawn; brought up to date by events, and by the clock between them."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console, self.clock = console, clock
        self.judged: PairJudged | None = None
        self.running: PairStarted | None = None
        self.doing = "starting"
        self._since = clock()

    def show(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case EnvironmentStarted(release=release):
                self.doing = f"environment of {release}"
            case PairStarted():
                self.running, self._since = event, self.clock()
            case PairJudged():
                self.judged, self.running = event, None
            case _:
                pass

    def __rich__(self) -> Group:
        """The headline, and a table that fits the terminal: what is measured first, then what is decided."""
        parts: list[Text | Table] = [self._headline()]
        if self.judged is not None:
            rows = _in_order(self.judged)
            room = max(3, self.console.height - _LINES_AROUND)
            names = max(_SHORTEST_NAME, self.console.width - _OTHER_COLUMNS)
            parts.append(_table(rows[:room], self.judged, names))
            if len(rows) > room:
                parts.append(Text(f"and {len(rows) - room} more", style="dim"))
        return Group(*parts)

    def _headline(self) -> Text:
        judged, running = self.judged, self.running
        if running is None:
            line = self.doing if judged is None or not judged.spent_seconds else "judging"
            return Text(line, no_wrap=True, overflow="ellipsis")
        spent = running.spent_seconds + self.clock() - self._since
        left = format_duration(running.budget_seconds - spent)
        undecided = len(judged.undecided) if judged else 0
        what = f"{short_name(running.group)} pair {running.number}{_stage(running)}"
        line = f"{format_duration(spent)} spent, {left} left · {undecided} undecided · {what}"
        return Text(line, no_wrap=True, overflow="ellipsis")


def _stage(event: PairStarted) -> str:
    return " (confirming)" if event.stage == "confirm" else ""


def _in_order(judged: PairJudged) -> list[Verdict | str]:
    """Rows of undecided benchmarks before the others; a benchmark without a row is its name."""
    by_group: dict[str, list[Verdict]] = defaultdict(list)
    for row in judged.rows:
        by_group[_group_of(row)].append(row)
    named = [group for group in judged.groups if group not in by_group]
    first = [row for row in judged.rows if _is_measured_on(row, judged)]
    return [*first, *named, *(row for row in judged.rows if not _is_measured_on(row, judged))]


def _is_measured_on(row: Verdict, judged: PairJudged) -> bool:
    return row.outcome is Outcome.INCONCLUSIVE and _group_of(row) in judged.undecided


def _group_of(row: Verdict) -> str:
    return row.benchmark.rpartition(".track_")[0]


def _table(rows: list[Verdict | str], judged: PairJudged, names: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    for title in ("benchmark", "so far", "ratio (interval)"):
        table.add_column(title, no_wrap=True, overflow="ellipsis")
    table.add_column("pairs", no_wrap=True, justify="right")
    for row in rows:
        if isinstance(row, str):
            table.add_row(Text(_cut(short_name(row), names)), Text("not measured yet", style="dim"), "", "0")
            continue
        style = _STYLES[row.outcome]
        word = f"{outcome(row)}{'…' if _is_measured_on(row, judged) else ''}"
        name = _cut(f"{short_name(_group_of(row))} {row.metric}", names)
        table.add_row(Text(name), Text(word, style=style), Text(estimate(row)), str(row.sessions))
    return table


def _cut(name: str, width: int) -> str:
    """What fits, the end of it rather than the beginning: there stands the metric."""
    return name if len(name) <= width else f"…{name[1 - width :]}"


def short_name(group: str) -> str:
    """`mlp JaxJit` of `mlp.bench.JaxJit`."""
    return f"{workload_of(group)} {group.rpartition('.')[2]}"


def outcome(row: Verdict) -> str:
    """The verdict so far: `unchanged`, `suspected (2 fresh)`, `regressed, confirmed`."""
    found = row.confirmation
    if found is None:
        return row.outcome.value
    if found.outcome in ("pending", "inconclusive"):
        return f"suspected ({found.sessions} fresh)"
    return f"{row.outcome}, {found.outcome}"


def estimate(row: Verdict) -> str:
    """`1.39x (1.33 to 1.46)`, as far as it is known."""
    if row.ratio is None or row.ratio_low is None or row.ratio_high is None or row.method == "exact":
        return format_ratio(row.ratio)
    ratio, low, high = format_ratios(row.ratio, row.ratio_low, row.ratio_high)
    return f"{ratio}x ({low} to {high})"


@contextlib.contextmanager
def show_board(describe: Callable[[Event], str]) -> Iterator[Progress]:
    """A watcher that draws on stderr; `describe` gives the lines that stay above the board."""
    console = Console(stderr=True)
    board = Board(console)
    with Live(
        board,
        console=console,
        refresh_per_second=_REFRESHES_PER_SECOND,
        transient=True,
        redirect_stdout=False,
    ) as live:

        def show(event: Event) -> None:
            board.show(event)
            line = describe(event)
            if line:
                console.print(line, markup=False, highlight=False)
            live.refresh()

        yield show
