"""The environment store that a configuration describes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from stepwatch.measure.environments import EnvironmentStore
from stepwatch.measure.installer import Sources

if TYPE_CHECKING:
    from stepwatch.config import Config


def open_store(config: Config, *, allow_large: bool = False) -> EnvironmentStore:
    """The store of this tracker; pip's `PIP_FIND_LINKS` counts as configured, because uv does not read it."""
    links = dict.fromkeys((*config.find_links, *os.environ.get("PIP_FIND_LINKS", "").split()))
    sources = Sources(find_links=tuple(links), index_url=config.index_url, allow_large=allow_large)
    return EnvironmentStore(
        root=config.environments,
        keep=config.environments_keep,
        max_bytes=config.environments_max_bytes,
        sources=sources,
    )
