"""What stepwatch reads of `asv.conf.json`: where things lie."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, get_type_hints

import msgspec

from stepwatch.config_text import Line, fault_line, find_json_line, leaf_faults, parse_json, read_text
from stepwatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


class AsvSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `asv.conf.json` that stepwatch shares with asv."""

    repo: Line
    benchmark_dir: Line = "benchmarks"
    env_dir: Line = "env"
    results_dir: Line = "results"
    html_dir: Line = "html"


_ASV_KEYS = frozenset({"repo", "repo_subdir", "benchmark_dir", "env_dir", "results_dir", "html_dir"})


def read_asv_settings(path: Path) -> AsvSettings:
    """Read and check `asv.conf.json`.

    Raises:
        ConfigError: a fault in it, with its line and key, or no suite where `benchmark_dir` says.
    """
    text = read_text(path)
    table = parse_json(path, text)
    if not isinstance(table, dict):
        raise ConfigError(path, "must be an object: { … }", line=1)
    faults = []
    for key, kind in get_type_hints(AsvSettings, include_extras=True).items():
        for keys, reason in leaf_faults(table[key], kind, (key,)) if key in table else ():
            faults.append(fault_line(path, find_json_line(text, key), keys, reason))
        # asv passes over keys that it does not know, and has many; one that is nearly ours is a misspelt one.
        for odd in difflib.get_close_matches(key, [name for name in table if name not in _ASV_KEYS], 1, 0.8):
            reason = f"unknown key; did you mean {key}?"
            faults.append(fault_line(path, find_json_line(text, odd), (odd,), reason))
    if "repo" not in table:
        faults.append(fault_line(path, None, ("repo",), "is missing: the place of the release history"))
    if faults:
        raise ConfigError.of_faults(path, faults)
    asv = msgspec.convert(table, AsvSettings)
    if not (path.parent / asv.benchmark_dir).is_dir():
        reason = f"no such folder: {path.parent / asv.benchmark_dir}"
        line = find_json_line(text, "benchmark_dir")
        raise ConfigError(path, reason, key="benchmark_dir", line=line)
    return asv
