"""`make stats-bench ARGS="--quick --only TABLE --seed N"`."""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from stats_bench import page, runner, tables
from stats_bench.plan import Plan, Section, Table
from stats_bench.store import CodeChangedError, seconds_spent
from stats_bench.tables import tuning

TCPD = page.ROOT.parent / "shared/data/tcpd.json"
FOLDER = page.ROOT / ".stepwatch/stats-bench"
INTERRUPTED = 130
CODE_CHANGED = 3


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="stats-bench", description="Measure the statistics and their peers."
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions; the page is left alone")
    parser.add_argument(
        "--only", action="append", metavar="TABLE", help="print this table; the page is left alone"
    )
    parser.add_argument(
        "--seed", type=int, default=20261130, help="where all randomness starts [%(default)s]"
    )
    parser.add_argument("--tcpd", type=Path, default=TCPD, help="labelled series (never copied)")
    parser.add_argument("--list", action="store_true", help="name the tables")
    return parser.parse_args(argv)


def measure(plan: Plan, chosen: list[Table], folder: Path) -> tuple[Plan, dict[str, Section]]:
    """Tune the peers, then do the pieces of the tables, then word them."""
    first = runner.run({tuning.NAME: tuning.pieces(plan)}, folder)[tuning.NAME]
    plan = replace(plan, tuned=tuning.choose(first))
    work = {table.NAME: table.pieces(plan) for table in chosen}
    values = runner.run(work, folder)
    return plan, {table.NAME: table.section(plan, values[table.NAME]) for table in chosen}


def main(argv: list[str] | None = None) -> int:
    """Run and print; a full run writes the page."""
    options = arguments(argv)
    if options.list:
        print("\n".join(f"{table.NAME:20} {table.TITLE}" for table in tables.ALL))
        return 0
    unknown = set(options.only or []) - {table.NAME for table in tables.ALL}
    if unknown:
        print(f"stats-bench: no such table: {', '.join(sorted(unknown))}; see --list", file=sys.stderr)
        return 2
    chosen = [table for table in tables.ALL if not options.only or table.NAME in options.only]
    tcpd = options.tcpd if options.tcpd.is_file() else None
    plan = Plan(seed=options.seed, quick=options.quick, tcpd=tcpd)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = FOLDER / f"{options.seed}-{'quick' if options.quick else 'full'}"
    try:
        plan, sections = measure(plan, chosen, folder)
    except KeyboardInterrupt:
        print("stats-bench: stopped; what is finished is kept, the same command goes on", file=sys.stderr)
        return INTERRUPTED
    except CodeChangedError as changed:
        print(f"stats-bench: the code was edited while {changed} ran; run the command again", file=sys.stderr)
        return CODE_CHANGED
    goals = [goal for section in sections.values() for goal in section.goals]
    if options.quick or options.only:
        for table in chosen:
            print(f"\n## {table.TITLE}\n\n{sections[table.NAME].text}")
        print(f"\n## Goals\n\n{page.goals_table(goals)}")
        return 0
    text = page.PAGE.read_text()
    text = page.insert(text, "goals", page.goals_table(goals))
    seconds = seconds_spent(folder)
    text = page.insert(text, "circumstances", page.circumstances(plan, datetime.now(UTC).date(), seconds))
    for name, section in sections.items():
        text = page.insert(text, name, section.text)
    page.PAGE.write_text(text)
    print(page.goals_table(goals))
    return 0


if __name__ == "__main__":
    sys.exit(main())
