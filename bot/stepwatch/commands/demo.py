"""`stepwatch demo`: the whole chain on real releases, in minutes, with nothing pre-computed."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwatch.errors import EXIT_INTERRUPTED, DataError
from stepwatch.units import format_duration

if TYPE_CHECKING:
    from stepwatch.config import Config
    from stepwatch.measure.job import Summary
    from stepwatch.report import Report

BASELINE, CONTENDER, TWIN = "jax/0.4.31", "jax/0.4.33", "torch/2.13.0"
CORE_SET = (r"probes\.(while_scalar|scatter_grad)\.", r"embed\.bench\.JaxJit\.", r"mlp\.bench\.")
SESSIONS = 8
TWIN_SESSIONS = 6
MACHINE = "demo-cpu"


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    metavar="DIR",
    help="Each run gets a folder of its own below this one.",
)
def command(*, output: Path) -> None:
    """The whole chain on real releases: measure, judge, show.

    jaxlib 0.4.31 -> 0.4.33 changed the CPU runtime. This builds the environments of both and of one torch
    release, measures a small core set in random adjacent pairs, judges it, and writes the report, the
    pull-request comment and the site. It takes four minutes on two cores; no GPU, no account.

    \b
    Example:
      stepwatch demo
    """
    from stepwatch.commands.interrupts import stop_as_ctrl_c_does
    from stepwatch.config import load_config

    stop_as_ctrl_c_does()
    started = time.monotonic()
    config = load_config(Path.cwd())
    folder = output.resolve() / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    _say(f"1/4 measure {BASELINE} and {CONTENDER} in pairs, {TWIN} beside them")
    summary = _measure(config, folder / "results")
    if summary.interrupted:
        _say(f"interrupted; what was measured lies in {folder}")
        raise SystemExit(EXIT_INTERRUPTED)
    _say("2/4 judge")
    report = _judge(config, folder)
    _say("3/4 the pull-request comment and the site")
    _show(config, report, folder)
    _say("4/4 the verdict\n")
    _conclude(report, folder, time.monotonic() - started)
    missing = [*summary.broken_environments.values()]
    if summary.failed:
        missing.append(f"{summary.failed} sessions failed")
    if missing:
        raise DataError(f"not everything could be measured: {'; '.join(missing)}")


def _measure(config: Config, results: Path) -> Summary:
    from stepwatch.commands.campaigns import Request, prepare
    from stepwatch.commands.watching import watch
    from stepwatch.measure.driver import run_campaign
    from stepwatch.measure.store import open_store

    store = open_store(config)
    request = Request(
        spec=f"{BASELINE}..{CONTENDER}",
        beside=(TWIN,),
        beside_sessions=TWIN_SESSIONS,
        sessions=SESSIONS,
        patterns=CORE_SET,
        accelerator="cpu",
        machine=MACHINE,
        results=results,
    )
    with watch() as progress:
        return run_campaign(prepare(config, request, store), store=store, progress=progress)


def _judge(config: Config, folder: Path) -> Report:
    from stepwatch.commands.reports import analyse_results
    from stepwatch.releases.files import write_atomically
    from stepwatch.report import encode_report

    report = analyse_results(folder / "results", machine=MACHINE, comparison=None, policy=config.policy)
    write_atomically(folder / "report.json", encode_report(report))
    return report


def _show(config: Config, report: Report, folder: Path) -> None:
    from stepwatch.measure.site import build_site
    from stepwatch.releases.files import write_atomically
    from stepwatch.render import render_markdown

    write_atomically(folder / "comment.md", render_markdown(report).encode())
    build_site(config, results=folder / "results", output=folder / "site")


def _conclude(report: Report, folder: Path, seconds: float) -> None:
    from stepwatch.render import render_text

    click.echo(render_text(report, width=shutil.get_terminal_size().columns))
    click.echo(
        f"""Measured and judged here, just now, in {format_duration(seconds)}. What you have:
  {folder / "report.json"}      the report (schema: bot/stepwatch/report.schema.json)
  {folder / "comment.md"}       the comment a pull request would get
  {folder / "site"}             the history site: python -m http.server -d {folder / "site"}
  {folder / "results"}          asv results and every session (sessions/*.jsonl)

Next, your own question:
  .venv/bin/stepwatch releases list                                    what can be measured
  .venv/bin/stepwatch measure jax/0.6.2..jax/0.7.2 --bench mlp --plan  what it would take
  docs/howto/measure-your-own-step.md                                  your own training step"""
    )


def _say(line: str) -> None:
    click.echo(f"demo {line}", err=True)
