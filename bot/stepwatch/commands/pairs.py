"""`stepwatch pairs`: judge recorded pairs, offline, in the order in which they were measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwatch.commands.percent import LEVEL, PERCENT
from stepwatch.errors import EXIT_REGRESSED, HistoryNotFound, MalformedFile, UsageError
from stepwatch.model import Outcome
from stepwatch.policy import Policy

if TYPE_CHECKING:
    from stepwatch.verdict.recorded import RecordedPairs

_DEFAULT = Policy()
_OUTCOMES = (Outcome.REGRESSED, Outcome.IMPROVED, Outcome.UNCHANGED, Outcome.INCONCLUSIVE)
_STANDARD_INPUT = "-"


@click.command()
@click.argument("file", metavar="FILE.jsonl")
@click.option(
    "--floor",
    type=PERCENT,
    default=_DEFAULT.floor,
    metavar="P",
    help="A change must be proven beyond this to be called.  [default: 0.25%]",
)
@click.option(
    "--min-effect",
    type=PERCENT,
    default=_DEFAULT.min_effect,
    metavar="P",
    help="`unchanged` means proven smaller than this; 0: never said.  [default: 2%]",
)
@click.option("--alpha", type=LEVEL, default=_DEFAULT.alpha, metavar="P", help="Error rate.  [default: 5%]")
@click.option(
    "--correction",
    type=click.Choice(["none", "e-bh"]),
    default="none",
    show_default=True,
    help="none: alpha per benchmark; e-bh: false discovery rate over all of them.",
)
@click.option(
    "--budget-pairs", type=click.IntRange(min=1), metavar="N", help="Use at most N pairs of a benchmark."
)
@click.option(
    "--fail-on",
    type=click.Choice([outcome.value for outcome in _OUTCOMES]),
    multiple=True,
    help="Exit 1 if any benchmark has this outcome; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def command(  # noqa: PLR0913  one parameter per option
    ctx: click.Context,
    *,
    file: str,
    floor: float,
    min_effect: float,
    alpha: float,
    correction: str,
    budget_pairs: int | None,
    fail_on: tuple[str, ...],
    as_json: bool,
) -> None:
    """Judge recorded pairs: was the contender slower?

    FILE holds one JSON object per line, {"benchmark", "pair", "baseline": [samples], "contender": [samples]},
    the samples of one fresh process each; `-` is the standard input. Benchmarks where more is better have
    "better": "higher" in their lines. Each benchmark stops at the first pair at which it is decided; with
    e-bh all of them advance together, and a call needs what e-BH asks at that pair.

    \b
    Example:
      stepwatch pairs pairs.jsonl --correction e-bh --fail-on regressed
      stepwatch pairs pairs.jsonl --floor 0 --min-effect 0 --json
    """
    from stepwatch.render.pairs_text import render_pairs
    from stepwatch.verdict.recorded import judge_recorded, pairs_as_json

    policy = Policy(floor=floor, min_effect=min_effect, alpha=alpha)
    if policy.contradiction:
        raise UsageError(f"--floor {policy.contradiction}")
    corrected = correction == "e-bh"
    verdicts = judge_recorded(_read(file), policy, corrected=corrected, budget_pairs=budget_pairs)
    if as_json:
        click.echo(pairs_as_json(verdicts))
    else:
        click.echo(render_pairs(verdicts, policy, corrected=corrected), nl=False)
    if any(verdict.outcome in fail_on for verdict in verdicts):
        ctx.exit(EXIT_REGRESSED)


def _read(file: str) -> list[RecordedPairs]:
    """The pairs of a file or of standard input."""
    from stepwatch.history.pairs_file import read_pairs

    if file == _STANDARD_INPUT:
        return read_pairs(sys.stdin.buffer, "standard input")
    try:
        with Path(file).open("rb") as stream:
            return read_pairs(stream, file)
    except FileNotFoundError as error:
        raise HistoryNotFound(file, "give a file with one pair per line") from error
    except OSError as error:
        raise MalformedFile(file, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
