"""`stepwatch render`: show a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import click


@click.command()
@click.argument("report", type=click.Path(path_type=Path), default=Path("report.json"))
@click.option(
    "--to",
    "form",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="text for a terminal, markdown for a pull-request comment.",
)
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write here; default: stdout."
)
def command(*, report: Path, form: str, output: Path | None) -> None:
    """Show a report as text or Markdown.

    The report is treated as hostile: it is checked against its schema, and nothing in it can format, link,
    mention or escape.

    \b
    Example:
      stepwatch render report.json
      stepwatch render report.json --to markdown --output comment.md
    """
    from stepwatch.commands.reports import load_report
    from stepwatch.render import render_markdown, render_text

    found = load_report(report)
    if form == "markdown":
        text = render_markdown(found)
    else:
        text = render_text(found, width=shutil.get_terminal_size().columns)
    if output is None:
        click.echo(text, nl=False)
        return
    from stepwatch.releases.files import write_atomically

    write_atomically(output, text.encode())
    click.echo(f"wrote {output}", err=True)
