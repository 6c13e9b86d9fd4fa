"""Every exception stepwatch raises on purpose.

The tree, with the exit code each branch ends a command with::

    StepwatchError
    ├── UsageError            2   the command line or the configuration
    │   ├── ConfigError           file, line, key, reason
    │   ├── UnknownRelease        name, closest known names
    │   ├── MixedTracks           a range across two libraries
    │   └── UnknownBenchmark      pattern, closest known names
    └── DataError             3   what was read or measured
        ├── HistoryNotFound       path
        ├── MalformedFile         path, place inside it, reason
        ├── UnsupportedSchema     path, found, known
        ├── EnvironmentFailed     release, stage, reason
        ├── IndexUnavailable      package, reason
        ├── StorageFailed         path, reason (no space, no permission)
        └── Busy                  path, holder

The other exit codes: 0 done, 1 a verdict that `--fail-on` names, 130 interrupted (what was finished is safe),
141 nobody read the output any more (a closed pipe).

A message is one line: what is wrong, where, and the next step. Errors of other people's libraries are
mapped to these at the border where they are first met, so a traceback always means a bug.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXIT_DONE = 0
EXIT_REGRESSED = 1
EXIT_USAGE = 2
EXIT_DATA = 3
EXIT_INTERRUPTED = 130
EXIT_CLOSED_PIPE = 141
"""As the shell counts a process that SIGPIPE ended."""


def printable(text: str) -> str:
    """`text` without what steers a terminal: control characters become escapes that can be read."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in text
    )


class StepwatchError(Exception):
    """Root of the tree; `str()` is the one line shown to the user."""

    exit_code = EXIT_DATA

    def __str__(self) -> str:
        """The message; what it quotes from files and servers cannot steer a terminal."""
        return printable(super().__str__())


class UsageError(StepwatchError):
    """The command line or the configuration asks for something that cannot be."""

    exit_code = EXIT_USAGE


class ConfigError(UsageError):
    """A fault in `stepwatch.toml` (or `[tool.stepwatch]`)."""

    def __init__(self, path: Path | str, reason: str, *, key: str = "", line: int | None = None) -> None:
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {f'{key}: ' if key else ''}{reason}")
        self.path, self.key, self.line, self.reason = path, key, line, reason

    @classmethod
    def of_faults(cls, path: Path | str, faults: Sequence[str]) -> ConfigError:
        """Several faults of one file at once, each a line of its own that already names its place."""
        error = cls(path, "; ".join(faults))
        error.args = ("\n".join(faults),)
        return error


class UnknownRelease(UsageError):
    """A release name that no track knows."""

    def __init__(self, name: str, closest: Sequence[str] = ()) -> None:
        hint = f"did you mean {' or '.join(closest)}?" if closest else "see `stepwatch releases list`"
        super().__init__(f"unknown release {name!r}: {hint} (new ones come with `stepwatch releases sync`)")
        self.name, self.closest = name, tuple(closest)


class MixedTracks(UsageError):
    """A range whose ends belong to different libraries."""

    def __init__(self, after: str, through: str) -> None:
        super().__init__(
            f"{after}..{through} crosses two tracks: a range compares releases of one library; "
            f"to measure another library beside it use `--beside {through}`"
        )


class UnknownBenchmark(UsageError):
    """A `--bench` pattern that selects nothing."""

    def __init__(self, pattern: str, closest: Sequence[str] = ()) -> None:
        hint = f"closest: {', '.join(closest)}" if closest else "the suite has no benchmark"
        super().__init__(f"no benchmark matches {pattern!r}; {hint}")
        self.pattern, self.closest = pattern, tuple(closest)


class DataError(StepwatchError):
    """Something that was read, or could not be measured, stands in the way."""

    exit_code = EXIT_DATA


class HistoryNotFound(DataError):
    """No results where results were expected."""

    def __init__(self, path: Path | str, next_step: str = "run `stepwatch measure` first") -> None:
        super().__init__(f"{path}: no results here; {next_step}")
        self.path = path


class MalformedFile(DataError):
    """A data file that cannot be read as what it claims to be."""

    def __init__(self, path: Path | str, reason: str, *, place: str = "", next_step: str = "") -> None:
        where = f"{path}:{place}" if place else str(path)
        super().__init__(f"{where}: {reason}" + (f"; {next_step}" if next_step else ""))
        self.path, self.place, self.reason = path, place, reason


class UnsupportedSchema(DataError):
    """A data file written by a newer (or foreign) tool."""

    def __init__(self, path: Path | str, found: object, known: object) -> None:
        super().__init__(
            f"{path}: schema {found} is not known (this stepwatch reads {known}); upgrade stepwatch"
        )
        self.path = path


class EnvironmentFailed(DataError):
    """A release whose environment could not be built: recorded, and the run goes on."""

    def __init__(self, release: str, stage: str, reason: str) -> None:
        super().__init__(f"{release}: {stage} failed: {reason}")
        self.release, self.stage, self.reason = release, stage, reason


class IndexUnavailable(DataError):
    """The package index did not answer."""

    def __init__(self, package: str, reason: str) -> None:
        super().__init__(
            f"{package}: the package index did not answer ({reason}); going on needs what is known already"
        )
        self.package, self.reason = package, reason


class StorageFailed(DataError):
    """Writing failed: no space, no permission. What was finished before is safe."""

    def __init__(
        self,
        path: Path | str,
        reason: str,
        next_step: str = "finished sessions are safe: make room and run the same command again",
    ) -> None:
        super().__init__(f"{path}: {reason}; {next_step}")
        self.path = path


class Busy(DataError):
    """Another stepwatch holds the lock of this machine's results or of this environment."""

    def __init__(self, path: Path | str, holder: str) -> None:
        super().__init__(f"{path}: in use by {holder}; wait for it or stop it")
        self.path = path
