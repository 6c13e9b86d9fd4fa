"""`stepwatch site`: asv's HTML site from the same results."""

from __future__ import annotations

from pathlib import Path

import click

from stepwatch.config import load_config


@click.command()
@click.option("--results", type=click.Path(path_type=Path), metavar="DIR", help="Default: asv.conf.json's.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="Default: asv.conf.json's.")
def command(*, results: Path | None, output: Path | None) -> None:
    """Build asv's HTML history site from the same results.

    \b
    Example:
      stepwatch site
      stepwatch site --output public
    """
    from stepwatch.measure.site import build_site

    config = load_config(Path.cwd())
    page = build_site(
        config,
        results=(results or config.results).resolve(),
        output=(output or config.html).resolve(),
    )
    click.echo(f"wrote {page}; look at it with: python3 -m http.server --directory {page.parent}")
