"""What `changepoints` and `backtest` share: from a command line to series, and to what is found in them."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stepwatch.commands.counting import count_on_stderr
from stepwatch.config import Settings as ConfigSettings
from stepwatch.config import read_settings
from stepwatch.errors import UnknownBenchmark, UsageError
from stepwatch.history.cache import Cache
from stepwatch.history.executors import open_executor
from stepwatch.history.sources import Format, History, read_sources
from stepwatch.history.work import Detecting, Survey, jobs_of
from stepwatch.stats.changepoint import DEFAULT, Detection, Settings
from stepwatch.units import Direction
from stepwatch.verdict.changes import SeriesChanges, describe_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.commands.counting import Show
    from stepwatch.history.executors import Choice
    from stepwatch.history.work import Work
    from stepwatch.policy import Policy
    from stepwatch.verdict.replay import Job

_R = TypeVar("_R")
_CLOSEST = 3
_DEFAULT_SETTINGS = ConfigSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A history, and how to look at it, as the command line says."""

    files: Sequence[str]
    kind: str | None
    better: str
    bench: str | None
    policy: Path | None
    executor: Choice
    use_cache: bool

    @property
    def cache(self) -> Path | None:
        """Where what is found out about these files is kept: only histories of asv are worth it."""
        if not self.use_cache or len(self.files) > 1 or not Path(self.files[0]).is_dir():
            return None
        try:
            base = Path(os.environ.get("XDG_CACHE_HOME", ""))
            base = base if base.is_absolute() else Path.home() / ".cache"  # as the XDG rules say
        except RuntimeError:  # a user without a home, as in some containers
            return None
        where = os.path.realpath(self.files[0])
        mark = hashlib.sha256(os.fsencode(where)).hexdigest()[:16]
        return base / "stepwatch" / "history" / mark


def detect_history(request: Request) -> tuple[list[SeriesChanges], tuple[str, ...]]:
    """Read a history and find its change points.

    Returns:
        One judgement per series, and notes on what could not be read.

    Raises:
        StepwatchError: see `read_sources` and `open_executor`.
    """
    _, settings = read_policies(request.policy)
    with count_on_stderr() as show:
        history = read_request(request, show)
        left = survey(Detecting(settings=settings), Detection, jobs_of(history.series), request)
        with open_executor(request.executor, left.points) as executor:
            found = left.run(executor, lambda done, total: show("series", done, total))
    judged = [
        describe_changes(series, detection, settings)
        for series, detection in zip(history.series, found, strict=True)
    ]
    return judged, history.notes


def read_request(request: Request, show: Show) -> History:
    """The history that is asked for, its series filtered by `--bench`.

    Raises:
        StepwatchError: see `read_sources`.
        UsageError: the pattern is no regular expression.
        UnknownBenchmark: it finds no series.
    """
    pattern = _pattern(request.bench)
    history = read_sources(
        request.files,
        Format(request.kind) if request.kind else None,
        better=Direction(request.better),
        cache=request.cache,
        progress=show,
    )
    if pattern is None:
        return history
    chosen = [series for series in history.series if pattern.search(series.name)]
    if not chosen:
        names = [series.name for series in history.series]
        close = difflib.get_close_matches(request.bench or "", names, n=_CLOSEST, cutoff=0.3)
        raise UnknownBenchmark(request.bench or "", close or names[:_CLOSEST])
    return History(series=chosen, notes=history.notes)


def survey(work: Work[_R], shape: type[_R], jobs: Sequence[Job], request: Request) -> Survey[_R]:
    """`work`, whose results are of type `shape`, on all jobs, with the cache that the request says."""
    folder = request.cache
    cache = Cache(folder and folder / work.name, f"{work.name} 1", dict[bytes, shape])  # type: ignore[valid-type]  # a type made at run time
    return Survey(work, jobs, cache)


def read_policies(path: Path | None) -> tuple[Policy, Settings]:
    """The policy and the detector's settings: of the file, else of `stepwatch.toml` here, else the defaults.

    Raises:
        ConfigError: the file has faults.
    """
    here = Path("stepwatch.toml")
    found = read_settings(path) if path else read_settings(here) if here.is_file() else _DEFAULT_SETTINGS
    settings, wanted = DEFAULT, found.history
    if wanted.min_effect is not None:
        settings = dataclasses.replace(settings, min_effect=wanted.min_effect)
    if wanted.min_points is not None:
        settings = dataclasses.replace(settings, min_run=wanted.min_points)
    return found.policy, settings


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text is not None else None
    except re.error as error:
        raise UsageError(f"--bench {text!r} is no regular expression: {error}") from error
