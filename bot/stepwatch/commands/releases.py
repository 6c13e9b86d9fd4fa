"""`stepwatch releases`: discover, lock, list."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwatch.config import ACCELERATORS, Config, load_config
from stepwatch.errors import UsageError, printable
from stepwatch.releases.index_address import INDEX_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from stepwatch.releases.listing import ListedRelease
    from stepwatch.releases.sync import SyncResult


@click.group()
def command() -> None:
    """Know the releases: discover, lock, list.

    \b
    Example:
      stepwatch releases sync
      stepwatch releases list --package jax
    """


@command.command()
@click.option("--offline", is_flag=True, help="Ask no index: bring the history repository to what is known.")
@click.option("--no-locks", is_flag=True, help="Resolve no locks.")
@click.option("--package", "packages", multiple=True, metavar="P", help="Only this track; may be repeated.")
@click.option(
    "--index-url",
    metavar="URL",
    envvar=list(INDEX_VARIABLES),
    show_envvar=True,
    help="Package index with the JSON simple API.  [default: [index] url, else pip's or uv's own]",
)
@click.option("--json", "as_json", is_flag=True, help="Write what was done as JSON.")
def sync(
    *, offline: bool, no_locks: bool, packages: tuple[str, ...], index_url: str | None, as_json: bool
) -> None:
    """Discover new releases, extend tables and release-history repository, resolve locks.

    Only adds: lines of `suites/releases/` and locks that exist are never changed.

    \b
    Example:
      stepwatch releases sync
      stepwatch releases sync --offline
      stepwatch releases sync --package jax --no-locks
    """
    config = load_config(Path.cwd())
    _check_packages(config, packages)
    done = _sync(config, packages, index_url, offline=offline, with_locks=not no_locks)
    for note in done.notes:
        _say(f"note: {note}")
    if as_json:
        locks = [str(path.relative_to(config.root)) for path in done.locks]
        _write_json({"releases": done.releases, "locks": locks, "notes": done.notes})
        return
    for name in done.releases:
        click.echo(f"new: {name}")
    known, new = len(done.history.commits), len(done.releases)
    click.echo(f"{known} releases known, {new} new; {len(done.locks)} locks written")


def _sync(
    config: Config, packages: tuple[str, ...], index_url: str | None, *, offline: bool, with_locks: bool
) -> SyncResult:
    from stepwatch.releases.index import PackageIndex
    from stepwatch.releases.index_address import index_address
    from stepwatch.releases.sync import Sources, sync, sync_offline
    from stepwatch.releases.uv import UvResolver

    if offline:
        return sync_offline(config)
    address = index_address(index_url, config.index_url)
    with PackageIndex(address, config.history_repo.parent / "index") as index:
        sources = Sources(index=index, resolver=UvResolver(index=address))
        return sync(config, sources, packages=packages, with_locks=with_locks, progress=_say)


@command.command(name="list")
@click.option("--package", "packages", multiple=True, metavar="P", help="Only this track; may be repeated.")
@click.option("--accelerator", type=click.Choice(ACCELERATORS), help="What the last columns are about.")
@click.option("--json", "as_json", is_flag=True, help="Write the rows as JSON.")
@click.option(
    "--markdown", "as_markdown", is_flag=True, help="Write docs/reference/locks.md (committed evidence)."
)
def list_command(
    *, packages: tuple[str, ...], accelerator: str | None, as_json: bool, as_markdown: bool
) -> None:
    """Show version, date, Python, lock, environment, tried or untried.

    \b
    Example:
      stepwatch releases list --package torch
      stepwatch releases list --json
    """
    from stepwatch.measure.store import open_store
    from stepwatch.releases.listing import list_releases, locks_page

    config = load_config(Path.cwd())
    _check_packages(config, packages)
    if as_markdown:
        click.echo(locks_page(config), nl=False)
        return
    is_built = open_store(config).is_built
    rows = list_releases(config, packages=packages, accelerator=accelerator, is_built=is_built)
    if as_json:
        _write_json(rows)
        return
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 120).print(_table(rows))


def _table(rows: Sequence[ListedRelease]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("release", "date", "Python", "locks", "environment", "tried", "what"):
        table.add_column(title, no_wrap=title != "what")
    for row in rows:
        environment = row.environment if row.environment != "none" else "-"
        locks = " ".join(row.locks) or "-"
        cells = (row.release, row.date, row.python or "-", locks, environment, row.tried, row.reason)
        # Text: what a file or an installer said is shown as it is, brackets and all.
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _write_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def _check_packages(config: Config, packages: tuple[str, ...]) -> None:
    known = [track.package for track in config.tracks]
    for package in packages:
        if package not in known:
            raise UsageError(
                f"no track {package!r}; tracks: {', '.join(known)} (add one as [tracks.{package}])"
            )


def _say(line: str) -> None:
    click.echo(printable(line), err=True)
