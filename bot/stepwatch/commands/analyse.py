"""`stepwatch analyse`: from sessions to report.json."""

from __future__ import annotations

from pathlib import Path

import click

from stepwatch.config import load_config
from stepwatch.errors import EXIT_REGRESSED
from stepwatch.model import Outcome


@click.command()
@click.argument("spec", required=False)
@click.option("--a-a", metavar="RELEASE", help="Judge a release measured against itself.")
@click.option("--plant", default="", metavar="W=F", help="Judge the self-test with this planted slowdown.")
@click.option("--results", type=click.Path(path_type=Path), metavar="DIR", help="Default: asv.conf.json's.")
@click.option("--machine", metavar="NAME", help="Whose sessions; needed where there are several.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.json"),
    show_default=True,
    metavar="FILE",
    help="Where the report goes.",
)
@click.option(
    "--fail-on",
    type=click.Choice([outcome.value for outcome in Outcome]),
    multiple=True,
    help="Exit 1 if any verdict has this outcome; may be repeated.",
)
@click.option("--metric", "metrics", multiple=True, metavar="M", help="Judge this metric; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print the report itself instead of text.")
@click.pass_context
def command(  # noqa: PLR0913  one parameter per option
    ctx: click.Context,
    *,
    spec: str | None,
    a_a: str | None,
    plant: str,
    results: Path | None,
    machine: str | None,
    output: Path,
    fail_on: tuple[str, ...],
    metrics: tuple[str, ...],
    as_json: bool,
) -> None:
    """Judge what was measured: report.json, with a verdict per benchmark.

    SPEC is a range, as given to `measure`, or one release (its twins only); without it the newest pair
    campaign is judged. Run it as often as you like while measuring: the test stays valid.

    \b
    Example:
      stepwatch analyse
      stepwatch analyse jax/0.4.31..jax/0.4.33 --fail-on regressed --fail-on broken
      stepwatch analyse --a-a jax/0.4.33
    """
    from stepwatch.commands.reports import analyse_results, deliver, parse_comparison

    config = load_config(Path.cwd())
    report = analyse_results(
        results or config.results,
        machine=machine or config.machine,
        comparison=parse_comparison(spec, a_a=a_a, plant=plant, config=config),
        policy=config.policy,
        metrics=metrics,
    )
    deliver(report, output, as_json=as_json)
    click.echo(f"wrote {output}", err=True)
    if any(verdict.outcome in fail_on for verdict in report.verdicts):
        ctx.exit(EXIT_REGRESSED)
