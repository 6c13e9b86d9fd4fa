"""The documentation holds together: no link leads nowhere, every page is reachable, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepwatch.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_relative_link_leads_nowhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    assert not [link for link in links if not (page.parent / link).exists()]


def test_every_page_is_reachable_from_the_start_page() -> None:
    seen: set[Path] = set()
    open_pages = [ROOT / "README.md", ROOT / "docs" / "README.md"]
    while open_pages:
        page = open_pages.pop().resolve()
        if page in seen:
            continue
        seen.add(page)
        if page.is_dir():
            open_pages += page.glob("*.md")
        elif page.suffix == ".md":
            links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
            open_pages += [page.parent / link for link in links]
    assert {page.resolve() for page in PAGES} <= seen


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_code_blocks_exist(page: Path) -> None:
    for block in re.findall(r"```(?:console|sh)\n(.*?)```", page.read_text(), re.DOTALL):
        for name in re.findall(r"^(?:\$ )?stepwatch (\w+)", block, re.MULTILINE):
            assert name in COMMANDS
