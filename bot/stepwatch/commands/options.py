"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stepwatch.config import ACCELERATORS

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

bench_option = click.option(
    "--bench", "patterns", multiple=True, metavar="RE", help="Only benchmarks that match; may be repeated."
)
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), metavar="N", help="Of the random order; recorded."
)
_PLACE = (
    click.option("--accelerator", type=click.Choice(ACCELERATORS), help="Default: the configured one."),
    click.option("--size", metavar="S", help="Default: cpu-smoke on a CPU, else gpu."),
    click.option(
        "--results", type=click.Path(path_type=Path), metavar="DIR", help="Default: asv.conf.json's."
    ),
    click.option("--machine", metavar="NAME", help="Default: the configured one, else host and accelerator."),
    click.option("--allow-large", is_flag=True, help="Allow torch's CUDA build on a CPU (several GB)."),
    click.option(
        "--turns/--no-turns",
        default=None,
        help="Let the two sessions of a pair take turns; default: on a CPU.",
    ),
)


def place_options(command: F) -> F:
    """Where and how sessions are measured: accelerator, size, results, machine, allow_large, turns."""
    for option in reversed(_PLACE):
        command = option(command)
    return command
