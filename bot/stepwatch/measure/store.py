"""The environment store that a configuration describes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from stepwatch.measure.environments import EnvironmentStore
from stepwatch.measure.installer import Sources
from stepwatch.releases.index_address import INDEX_VARIABLES, configured_index

if TYPE_CHECKING:
    from stepwatch.config import Config


def open_store(config: Config, *, allow_large: bool = False) -> EnvironmentStore:
    """The store of this tracker, which installs from the same index that locks are resolved with.

    pip's `PIP_FIND_LINKS` counts as configured, because uv does not read it.
    """
    links = dict.fromkeys((*config.find_links, *os.environ.get("PIP_FIND_LINKS", "").split()))
    given = next(filter(None, map(os.environ.get, INDEX_VARIABLES)), None)
    index_url = configured_index(given, config.index_url)
    sources = Sources(find_links=tuple(links), index_url=index_url, allow_large=allow_large)
    return EnvironmentStore(
        root=config.environments,
        keep=config.environments_keep,
        max_bytes=config.environments_max_bytes,
        sources=sources,
    )
