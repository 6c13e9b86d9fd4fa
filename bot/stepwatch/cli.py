"""The command line: wiring only.

Commands are loaded when they are called, so that `stepwatch --help` does not wait for NumPy or asv. An
error of ours ends the process with its one line and its exit code; a traceback always means a bug.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from contextlib import suppress
from typing import NoReturn

import click

from stepwatch import __version__
from stepwatch.errors import (
    EXIT_CLOSED_PIPE,
    EXIT_DATA,
    EXIT_INTERRUPTED,
    EXIT_REGRESSED,
    EXIT_USAGE,
    StepwatchError,
    printable,
)

COMMANDS = {
    "analyse": "Judge what was measured: report.json, with a verdict per benchmark.",
    "backtest": "Replay a history: which alerts would have been raised, and how late.",
    "calibrate": "Measure a release against itself: what this machine detects, and how often it errs.",
    "changepoints": "Find where the series of any history changed level.",
    "compare": "Is one slower than the other? Measure until decided, within a budget.",
    "demo": "The whole chain on real releases: measure, judge, show.",
    "measure": "Measure releases, session by session, in random adjacent pairs.",
    "pairs": "Judge recorded pairs, offline: was the contender slower?",
    "releases": "Know the releases: discover, lock, list.",
    "render": "Show a report as text or Markdown.",
    "site": "Build asv's HTML history site from the same results.",
}

EXIT_CODES = """\b
Exit codes: 0 done · 1 a regression (only with --fail-on) · 2 usage or configuration ·
3 data or analysis · 4 publishing · 130 interrupted · 141 output pipe closed."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and one-line helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in alphabetical order."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import `stepwatch.commands.<name>` and take its `command`."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"stepwatch.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table above alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the closest name in the error."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(COMMANDS))}"
            ctx.fail(f"no such command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="stepwatch")
def stepwatch() -> None:
    """Which JAX or PyTorch release made the training step slower: by how much, since when.

    \b
    Example:
      stepwatch releases sync
      stepwatch measure jax/0.4.31..jax/0.4.33 --sessions 8
      stepwatch analyse && stepwatch site
    """


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit.

    Every foreseen error is one line on stderr and the exit code of its class (see `stepwatch.errors`).
    """
    try:
        code = stepwatch.main(args=argv, prog_name="stepwatch", standalone_mode=False)
    except click.exceptions.Abort:
        _leave("interrupted", EXIT_INTERRUPTED)
    except click.ClickException as error:
        _leave(_usage_line(error), EXIT_USAGE)
    except StepwatchError as error:
        _leave(str(error), error.exit_code)
    except OSError as error:
        # Where a fault of the file system has no better place, it is still one line and not a traceback.
        _leave(f"{error.filename or 'file system'}: {_os_reason(error)}", EXIT_DATA)
    except SystemExit as left:
        # click, and Rich too, leave with 1 when nobody reads their output any more; here 1 is a verdict, and
        # a verdict comes back as a value.
        sys.exit(EXIT_CLOSED_PIPE if left.code == EXIT_REGRESSED else left.code)
    sys.exit(code if isinstance(code, int) else 0)


def _leave(line: str, code: int) -> NoReturn:
    """End with one line on stderr; the code holds even when nobody reads stderr."""
    with suppress(OSError):
        click.echo(printable(f"stepwatch: {line}"), err=True)
    sys.exit(code)


def _os_reason(error: OSError) -> str:
    return error.strerror or " ".join(str(error).split())


def _usage_line(error: click.ClickException) -> str:
    """One line: what is wrong and whose `--help` tells more."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "stepwatch"
    return f"{error.format_message()} (see `{command} --help`)"


if __name__ == "__main__":
    main()
