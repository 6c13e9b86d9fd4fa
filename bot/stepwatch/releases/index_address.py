"""Which package index to ask, in the order people expect."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.releases.uv import default_index

if TYPE_CHECKING:
    from collections.abc import Iterable


INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
"""Environment variables that name the index, the first one set wins."""


def index_address(given: str | None, configured: str | None) -> str:
    """Address of the simple API to ask: the configured one, else what uv uses by itself.

    Raises:
        IndexUnavailable: nothing is configured and uv does not say.
    """
    return configured_index(given, configured) or default_index()


def configured_index(given: str | None, configured: str | None) -> str | None:
    """The index that somebody chose, or None: then uv's own choice holds.

    What the command line or the environment gives; else `index.url` of `stepwatch.toml`; else pip's
    configuration (a company mirror is usually set there, and uv does not read it).
    """
    return given or configured or pip_index(pip_files(Path.home()))


def pip_files(home: Path) -> list[Path]:
    """Configuration files of pip on Linux, the later ones stronger."""
    return [Path("/etc/pip.conf"), home / ".pip" / "pip.conf", home / ".config" / "pip" / "pip.conf"]


def pip_index(files: Iterable[Path]) -> str | None:
    """The index that pip is configured to use, or None."""
    found = None
    for path in files:
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue  # pip itself will complain about its file; it is not ours to judge
        for section in ("global", "install"):
            found = parser.get(section, "index-url", fallback=None) or found
    return found
