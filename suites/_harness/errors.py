"""What can go wrong in a session. Everything but `FrameworkAbsent` makes the session fail."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


class SessionError(Exception):
    """The session cannot give an honest measurement; `str()` is one line."""


class FrameworkAbsent(SessionError):
    """The framework under test is not installed here: the benchmark is skipped, not failed."""

    def __init__(self, framework: str) -> None:
        super().__init__(f"{framework} is not installed")
        self.framework = framework


def import_framework(name: str) -> ModuleType:
    """Import the framework `name`.

    Raises:
        FrameworkAbsent: exactly this module is missing. A framework that is installed but broken (a missing
            dependency, a library that does not load) raises its own error, and the session fails.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise FrameworkAbsent(name) from error
        raise
