"""The `[compare]` table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stepwatch.config import load_config
from stepwatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, text: str) -> Path:
    (root / "asv.conf.json").write_text('{"version": 1, "repo": "h.git", "benchmark_dir": "suites"}')
    (root / "suites").mkdir()
    (root / "stepwatch.toml").write_text(text)
    return root


def test_defaults(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, ""))
    assert (config.compare_lock, config.compare_budget_seconds) == (None, 1200.0)


def test_a_lock_and_a_budget(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, '[compare]\nlock = "r/{accelerator}.lock"\nbudget = "1h30m"\n'))
    assert (config.compare_lock, config.compare_budget_seconds) == ("r/{accelerator}.lock", 5400.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('budget = "20"', r"stepwatch\.toml:2: compare\.budget"),
        ('budget = "0m"', r"stepwatch\.toml:2: compare\.budget: '0m' is no time at all"),
        ("budget = 20", r"stepwatch\.toml:2: compare\.budget"),
        ('lock = ""', r"stepwatch\.toml:2: compare\.lock"),
        ('bugdet = "20m"', r"compare\.bugdet: unknown key; did you mean budget"),
    ],
)
def test_faults_have_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(write(tmp_path, f"[compare]\n{text}\n"))
