"""Which locks were really installed and imported: `tried.jsonl`.

Two files of one format: `suites/locks/tried.jsonl`, committed by hand from real runs, and
`<environments>/tried.jsonl`, which this machine appends to whenever it builds an environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from stepwatch.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

TRIED_FILE = "tried.jsonl"

TrialState = Literal["ok", "failed", "untried"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to install a lock and import its package."""

    release: str
    accelerator: str
    lock: str
    """Digest of the lock's text (`locks.lock_digest`)."""
    python: str
    ok: bool
    reason: str
    """What was imported, or why it failed; one line."""
    at: str
    """Moment, ISO 8601."""


Trials = dict[tuple[str, str], Trial]
"""(release, accelerator) to its last trial."""


def read_trials(paths: Iterable[Path]) -> Trials:
    """The last trial of each release and accelerator over `paths`, later files over earlier ones.

    A cut-off last line (a killed writer) is passed over; files that do not exist are empty.

    Raises:
        MalformedFile: any other line that is no trial.
    """
    trials: Trials = {}
    for path in paths:
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise MalformedFile(path, error.strerror or str(error)) from error
        for number, line in enumerate(lines[:-1], start=1):  # after the last newline: nothing, or a torn line
            trial = _parse(path, number, line)
            trials[trial.release, trial.accelerator] = trial
    return trials


def _parse(path: Path, number: int, line: bytes) -> Trial:
    try:
        return msgspec.json.decode(line, type=Trial)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedFile(path, str(error), place=str(number), next_step="remove this line") from error


def trial_state(
    trials: Mapping[tuple[str, str], Trial], release: str, accelerator: str, digest: str | None
) -> TrialState:
    """What is known about a lock of that digest; a trial of an older lock says nothing about this one."""
    trial = trials.get((release, accelerator))
    if trial is None or trial.lock != digest:
        return "untried"
    return "ok" if trial.ok else "failed"
