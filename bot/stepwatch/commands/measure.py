"""`stepwatch measure`: run a campaign, or go on with one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwatch.commands.options import bench_option, place_options, seed_option
from stepwatch.config import load_config
from stepwatch.errors import EXIT_INTERRUPTED, DataError

if TYPE_CHECKING:
    from stepwatch.measure.forecast import Forecast
    from stepwatch.measure.job import Summary

_SESSIONS = click.IntRange(1, 10_000)


@click.command()
@click.argument("spec", required=False)
@bench_option
@click.option("--sessions", type=_SESSIONS, default=8, show_default=True, metavar="N",
              help="Sessions per benchmark and release.")  # fmt: skip
@click.option("--beside", multiple=True, metavar="RELEASE",
              help="Measure this release too, judged against none (a twin); may be repeated.")  # fmt: skip
@click.option("--beside-sessions", type=_SESSIONS, metavar="N",
              help="How many sessions the releases beside get; default: as many.")  # fmt: skip
@click.option("--a-a", metavar="RELEASE", help="Measure a release against itself, as two sides.")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would run and how long; start nothing.")
@click.option("--plant", default="", metavar="W=F",
              help="Self-test: slow workload W of the contender down by factor F (mlp=1.10).")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write the plan, or how it ended, as JSON.")
@place_options
@seed_option
def command(  # noqa: PLR0913  one parameter per option
    *,
    spec: str | None,
    sessions: int,
    patterns: tuple[str, ...],
    beside: tuple[str, ...],
    beside_sessions: int | None,
    a_a: str | None,
    accelerator: str | None,
    size: str | None,
    only_plan: bool,
    seed: int | None,
    results: Path | None,
    machine: str | None,
    allow_large: bool,
    plant: str,
    turns: bool | None,
    as_json: bool,
) -> None:
    """Measure releases, session by session, in random adjacent pairs.

    SPEC is a range (its two ends are compared) or one release. Every finished session is on disk before the
    next one starts; the same command goes on where an earlier one stopped, and a larger --sessions adds to
    what is there.

    \b
    Example:
      stepwatch measure jax/0.4.31..jax/0.4.33 --sessions 8 --bench 'embed|while_scalar'
      stepwatch measure jax/0.4.31..jax/0.4.33 --beside torch/2.13.0 --plan
      stepwatch measure --a-a jax/0.4.33 --plant mlp=1.10
    """
    from stepwatch.commands.interrupts import stop_as_ctrl_c_does

    stop_as_ctrl_c_does()
    from stepwatch.commands.campaigns import Request, prepare
    from stepwatch.commands.watching import watch
    from stepwatch.measure.driver import run_campaign
    from stepwatch.measure.forecast import forecast
    from stepwatch.measure.store import open_store

    config = load_config(Path.cwd())
    store = open_store(config, allow_large=allow_large)
    request = Request(
        spec=spec, a_a=a_a, beside=beside, beside_sessions=beside_sessions, sessions=sessions,
        patterns=patterns, accelerator=accelerator, size=size, machine=machine, seed=seed, plant=plant,
        turns=turns, results=results and results.resolve(),
    )  # fmt: skip
    job = prepare(config, request, store, build=not only_plan)
    if only_plan:
        _show_plan(forecast(job, store), as_json=as_json)
        return
    with watch() as progress:
        summary = run_campaign(job, store=store, progress=progress)
    _show_summary(summary, as_json=as_json)


def _show_plan(plan: Forecast, *, as_json: bool) -> None:
    if as_json:
        _write_json(plan)
        return
    for row in plan.rows:
        click.echo(
            f"{row.benchmark:32} {row.side:10} {row.release:16} "
            f"{row.sessions:3} sessions x {row.session_seconds:5.1f} s"
        )
    click.echo(f"{plan.sessions} sessions, about {plan.seconds / 60:.1f} minutes")
    if plan.finished:
        click.echo(f"{plan.finished} sessions are done already")
    for release in plan.environments_to_build:
        click.echo(f"{release}: its environment has to be built first (a download the first time)")


def _show_summary(summary: Summary, *, as_json: bool) -> None:
    """Say how it ended.

    Raises:
        DataError: something that was planned could not be measured.
    """
    if as_json:
        _write_json(summary)
    safe = summary.finished_before + summary.finished
    where = f"{safe} of {summary.planned} sessions are in {summary.sidecar}"
    if summary.interrupted:
        click.echo(f"interrupted: {where}; the same command goes on", err=True)
        raise SystemExit(EXIT_INTERRUPTED)
    missing = [*summary.broken_environments.values()]
    if summary.failed:
        missing.append(f"{summary.failed} sessions failed")
    if missing:
        click.echo(f"ended: {where}", err=True)
        raise DataError(
            f"not everything could be measured: {'; '.join(missing)} (recorded beside the sessions)"
        )
    if not summary.finished:
        click.echo(f"nothing to do: all {where}", err=True)
        return
    click.echo(f"done: {where}; next: stepwatch analyse", err=True)


def _write_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str)).decode())
