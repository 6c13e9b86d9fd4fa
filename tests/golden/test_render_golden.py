"""What people read, one file per outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from report_scenarios import scenarios

from stepwatch.render import render_markdown, render_text

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIOS = scenarios()


@pytest.mark.parametrize("name", SCENARIOS)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"render/{name}.txt", render_text(SCENARIOS[name], width=80))


@pytest.mark.parametrize("name", SCENARIOS)
def test_markdown(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"render/{name}.md", render_markdown(SCENARIOS[name]))
