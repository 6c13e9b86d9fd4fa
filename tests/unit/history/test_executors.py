"""Executors: the same results in the same order wherever the work runs, and clear words when it cannot."""

from __future__ import annotations

import builtins
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pytest
from distributed import KilledWorker

from stepwatch import __version__
from stepwatch.errors import DataError, UsageError
from stepwatch.history import dask_cluster, executors
from stepwatch.history.executors import AUTO, Choice, in_order, open_executor, parse_executor

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("serial", Choice(kind="serial")),
        ("processes", Choice(kind="processes")),
        ("processes:3", Choice(kind="processes", processes=3)),
        ("dask://h.example:8786", Choice(kind="dask", address="tcp://h.example:8786")),
    ],
)
def test_what_can_be_asked_for(text: str, choice: Choice) -> None:
    assert parse_executor(text) == choice


@pytest.mark.parametrize(
    "text", ["", "threads", "processes:0", "processes:x", "dask://host", "dask://:x", "serial:2"]
)
def test_what_cannot(text: str) -> None:
    with pytest.raises(UsageError, match="give serial, processes, processes:N or dask://HOST:PORT"):
        parse_executor(text)


def square(number: int) -> int:
    return number * number


def die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("choice", [AUTO, Choice(kind="serial"), Choice(kind="processes", processes=2)])
def test_results_come_in_the_order_of_the_batches(choice: Choice) -> None:
    with open_executor(choice, 0) as executor:
        assert list(executor.run(square, range(20))) == [square(number) for number in range(20)]


def test_a_pool_is_used_by_itself_only_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with open_executor(AUTO, executors._POOL_PAYS - 1) as executor:
        assert isinstance(executor, executors._Serial)
    with open_executor(AUTO, executors._POOL_PAYS) as executor:
        assert isinstance(executor, executors._Processes)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with open_executor(AUTO, executors._POOL_PAYS) as executor:
        assert isinstance(executor, executors._Serial)


def test_a_killed_worker_process_is_one_line() -> None:
    with (
        pytest.raises(DataError, match="a worker process was killed, perhaps for its memory; try fewer"),
        open_executor(Choice(kind="processes", processes=2), 0) as executor,
    ):
        list(executor.run(die, range(6)))


_POOL_UNTIL_KILLED = """
import os, sys, time
from stepwatch.history.executors import Choice, open_executor

def pid(_):
    return os.getpid()

if __name__ == "__main__":
    with open_executor(Choice(kind="processes", processes=1), 0) as executor:
        print(*executor.run(pid, [0]), flush=True)
        time.sleep(600)
"""


def test_no_worker_outlives_a_kill(tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(_POOL_UNTIL_KILLED)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
    for _ in range(300):
        if _is_gone(worker):
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker went on without its parent")


def _is_gone(pid: int) -> bool:
    """Whether there is no such process, or only what is left of it until somebody reaps it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_only_a_bounded_number_of_batches_is_under_way() -> None:
    under_way: list[int] = []

    class Later:
        def __init__(self, number: int) -> None:
            under_way.append(number)
            self.number = number

        def result(self) -> int:
            assert len(under_way) <= 4
            under_way.remove(self.number)
            return self.number

    assert list(in_order(Later, range(20), 4)) == list(range(20))


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name == "stepwatch.history.dask_cluster":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", partial(absent))
    with (
        pytest.raises(DataError, match=r"needs Dask: pip install 'stepwatch\[fleet\]'"),
        open_executor(Choice(kind="dask", address="tcp://127.0.0.1:1"), 0),
    ):
        pass


class FakeClient:
    """A cluster of workers that all run here."""

    versions: ClassVar[dict[str, str]] = {"tcp://w:1": __version__, "tcp://w:2": __version__}
    fault: ClassVar[Exception | None] = None

    def __init__(self, address: str, **_: Any) -> None:
        self.address = address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, function: Callable[[], str]) -> dict[str, str]:
        assert function() == __version__
        if self.fault:
            raise self.fault
        return self.versions

    def submit(self, work: Callable[[int], int], batch: int, *, pure: bool) -> Future[int]:
        assert not pure
        future: Future[int] = Future()
        if batch < 0:
            future.set_exception(KilledWorker("square", SimpleNamespace(address="tcp://w:1"), 3))
        else:
            future.set_result(work(batch))
        return future


CLUSTER = Choice(kind="dask", address="tcp://h:1")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    monkeypatch.setattr(dask_cluster, "Client", FakeClient)
    return FakeClient


@pytest.mark.usefixtures("fake")
def test_a_cluster_keeps_the_order_too() -> None:
    with open_executor(CLUSTER, 0) as executor:
        assert list(executor.run(square, range(9))) == [square(number) for number in range(9)]
        with pytest.raises(DataError, match="the Dask cluster at tcp://h:1 gave up: Attempted to run task"):
            list(executor.run(square, [1, -1]))


@pytest.mark.parametrize(
    ("versions", "fault", "message"),
    [
        ({}, None, "has no worker; start some with `dask worker`"),
        ({"w": "0.0.1"}, None, f"worker w has stepwatch 0.0.1, this is {__version__}; install the same"),
        ({}, ModuleNotFoundError("stepwatch"), r"cannot run stepwatch \(ModuleNotFoundError\); install it"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_line(
    fake: type[FakeClient],
    monkeypatch: pytest.MonkeyPatch,
    versions: dict[str, str],
    fault: Exception | None,
    message: str,
) -> None:
    monkeypatch.setattr(fake, "versions", versions)
    monkeypatch.setattr(fake, "fault", fault)
    with pytest.raises(DataError, match=message), open_executor(CLUSTER, 0):
        pass


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_CONNECT_SECONDS", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        message = f"no Dask scheduler answers at {address}; start one, or check the address"
        with pytest.raises(DataError, match=message), open_executor(Choice(kind="dask", address=address), 0):
            pass
