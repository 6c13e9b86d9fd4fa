"""Doing the pieces: two at a time, timings alone, every finished one on disk before the next."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING

from stats_bench import ours
from stats_bench.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

    from stats_bench.plan import Piece, Value


_at_work = Event()


def _stop(*_: object) -> None:
    """Give up the piece at hand; a worker that waits for one is ended by its pool."""
    if _at_work.is_set():
        raise KeyboardInterrupt


def _prepare(subjects: set[str]) -> None:
    """A worker leaves Ctrl-C to its parent, and has compiled what it will need before its first piece."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    if "ours" in subjects:
        ours.warm_up()


def _timed(piece: Piece) -> tuple[Value, float]:
    started = time.perf_counter()
    _at_work.set()
    try:
        value = piece.function(**piece.arguments)
    finally:
        _at_work.clear()
    return value, time.perf_counter() - started


class Progress:
    """One line per finished piece, with the share done."""

    def __init__(self, total: int, kept: int) -> None:
        self._total, self._done, self._started = total, 0, time.monotonic()
        if kept:
            print(f"stats-bench: {kept} pieces are kept from an earlier run", file=sys.stderr)

    def finished(self, table: str, piece: Piece, seconds: float) -> None:
        """Say that one more is done."""
        self._done += 1
        minutes = (time.monotonic() - self._started) / 60
        line = f"[{self._done:4}/{self._total}] {minutes:5.1f} min  {table}: {piece.key}  {seconds:.1f} s"
        print(line, file=sys.stderr, flush=True)


def run(work: dict[str, list[Piece]], folder: Path) -> dict[str, dict[str, Value]]:
    """Values of every piece of every table; what is on disk and still true is not done again.

    Raises:
        KeyboardInterrupt: after Ctrl-C; finished pieces are kept.
    """
    stores = {table: Store(folder, table) for table in work}
    values: dict[str, dict[str, Value]] = {table: {} for table in work}
    todo: list[tuple[str, Piece]] = []
    for table, pieces in work.items():
        for piece in pieces:
            done, value = stores[table].get(piece)
            if done:
                values[table][piece.key] = value
            else:
                todo.append((table, piece))
    progress = Progress(len(todo), sum(map(len, values.values())))

    def keep(table: str, piece: Piece, value: Value, seconds: float) -> None:
        stores[table].put(piece, value, seconds)
        values[table][piece.key] = value
        progress.finished(table, piece, seconds)

    together = [entry for entry in todo if not entry[1].alone]
    if together:
        _pool(together, keep)
    for table, piece in todo:
        if piece.alone:
            keep(table, piece, *_timed(piece))
    return values


def _pool(todo: list[tuple[str, Piece]], keep: Callable[[str, Piece, Value, float], None]) -> None:
    """Run pieces in as many processes as there are cores."""
    context = multiprocessing.get_context("spawn")
    jobs = len(os.sched_getaffinity(0))
    subjects = {piece.subject for _, piece in todo}
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=(subjects,))
    try:
        waiting: dict[Future[tuple[Value, float]], tuple[str, Piece]] = {
            pool.submit(_timed, piece): (table, piece) for table, piece in todo
        }
        while waiting:
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                keep(*waiting.pop(future), *future.result())
    except BaseException:
        # Not killed: a worker that ends by itself gives back what it shares with the others.
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()
