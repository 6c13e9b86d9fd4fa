"""Where the work on many series runs: here, in a pool of processes, or on a Dask cluster.

An executor takes batches and gives their results in the same order; what it computes does not depend on it.
A pool takes seconds to start (each process imports the detector), so by default it is used only
where there is much more to do than that.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from stepwatch.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_T = TypeVar("_T")
_R = TypeVar("_R")
_POOL_PAYS = 20_000_000
"""Points to look at, from which on a pool wins; a processor looks at about a million a second."""
AHEAD = 3
"""Batches per worker that are under way at a time."""


class Executor(Protocol):
    """Runs work on batches."""

    def run(self, work: Callable[[_T], _R], batches: Iterable[_T]) -> Iterator[_R]:
        """The results, in the order of the batches.

        Args:
            work: a function that can be pickled.
            batches: what it is called with, one at a time.

        Raises:
            DataError: a worker, or the connection to it, is gone for good.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What `--executor` asks for."""

    kind: str
    """`auto`, `serial`, `processes` or `dask`."""
    processes: int | None = None
    """None: one per processor that this process may use."""
    address: str = ""
    """Of the cluster's scheduler, `tcp://HOST:PORT`."""


AUTO = Choice(kind="auto")


def parse_executor(text: str | None) -> Choice:
    """Read `serial`, `processes`, `processes:N` or `dask://HOST:PORT`; None: choose for me.

    Raises:
        UsageError: it is none of these.
    """
    if text is None:
        return AUTO
    if text == "serial":
        return Choice(kind="serial")
    pool = re.fullmatch(r"processes(?::([1-9]\d{0,3}))?", text)
    if pool:
        return Choice(kind="processes", processes=int(pool[1]) if pool[1] else None)
    cluster = re.fullmatch(r"dask://(\S+:\d{1,5})", text)
    if cluster:
        return Choice(kind="dask", address=f"tcp://{cluster[1]}")
    raise UsageError(f"--executor {text!r}: give serial, processes, processes:N or dask://HOST:PORT")


@contextlib.contextmanager
def open_executor(choice: Choice, points: float) -> Iterator[Executor]:
    """The executor that is asked for; `auto` decides by how many points must be looked at.

    Raises:
        DataError: Dask is not installed, or the cluster does not answer, has no worker, or runs another
            version of stepwatch.
    """
    count = choice.processes or len(os.sched_getaffinity(0))
    pooled = choice.kind == "processes" or (choice.kind == "auto" and points >= _POOL_PAYS and count > 1)
    if choice.kind == "dask":
        with _cluster(choice.address) as executor:
            yield executor
    elif pooled:
        with _pool(count) as executor:
            yield executor
    else:
        yield _Serial()


class _Serial:
    def run(self, work: Callable[[_T], _R], batches: Iterable[_T]) -> Iterator[_R]:
        return map(work, batches)


class _Processes:
    def __init__(self, pool: ProcessPoolExecutor, count: int) -> None:
        self._pool = pool
        self._count = count

    def run(self, work: Callable[[_T], _R], batches: Iterable[_T]) -> Iterator[_R]:
        try:
            yield from in_order(lambda batch: self._pool.submit(work, batch), batches, self._count * AHEAD)
        except BrokenProcessPool as error:
            raise DataError(
                "a worker process was killed, perhaps for its memory; try fewer with --executor processes:N"
            ) from error


def in_order(submit: Callable[[_T], Any], batches: Iterable[_T], ahead: int) -> Iterator[Any]:
    """The results of futures in the order of their batches, a bounded number of them under way."""
    waiting: deque[Any] = deque()
    for batch in batches:
        waiting.append(submit(batch))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextlib.contextmanager
def _pool(count: int) -> Iterator[_Processes]:
    """Processes that start clean (no thread or lock of ours is copied) and leave Ctrl-C to us."""
    pool = ProcessPoolExecutor(count, mp_context=get_context("forkserver"), initializer=_start_worker)
    try:
        yield _Processes(pool, count)
    except BaseException:
        for process in active_children():  # what they are doing is of no use any more
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this worker when we are killed: nobody is left to tell it that there is no more work."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    try:
        from stepwatch.history.dask_cluster import connect  # noqa: PLC0415  an optional extra, slow to import
    except ModuleNotFoundError as error:
        raise DataError("--executor dask:// needs Dask: pip install 'stepwatch[fleet]'") from error
    with connect(address) as executor:
        yield executor
