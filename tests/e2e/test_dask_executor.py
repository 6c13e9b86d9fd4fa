"""The Dask executor on a real local cluster: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from asv_directory import save_commit, step_values
from distributed import Client

from stepwatch.errors import DataError
from stepwatch.history.dask_cluster import connect
from stepwatch.history.executors import Choice, open_executor
from stepwatch.history.work import Detecting
from stepwatch.stats.changepoint import DEFAULT
from stepwatch.verdict.replay import Job

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

SECONDS = 60
WORK = Detecting(settings=DEFAULT)


class LocalCluster:
    """Processes of a cluster, ended with the test."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "scheduler.json"
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("dask_scheduler", "--port", "0", "--host", "127.0.0.1")
        self._wait(self._file.exists)
        self.address: str = json.loads(self._file.read_text())["address"]

    def add_worker(self) -> subprocess.Popen[bytes]:
        return self._start("dask_worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")

    def wait_for(self, workers: int) -> None:
        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=SECONDS)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(self._file)]
        process = subprocess.Popen(
            [*command, "--no-dashboard", *arguments],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def _wait(self, ready: object) -> None:
        until = time.monotonic() + SECONDS
        while not ready():  # type: ignore[operator]
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    started = LocalCluster(tmp_path)
    yield started
    started.end()


def batches(count: int, points: int = 300) -> list[list[Job]]:
    rng = np.random.default_rng(5)
    made = []
    for _ in range(count):
        values = 1 + 0.01 * rng.standard_normal((2, points))
        values[:, points // 2 :] *= 1.1
        made.append([Job(one, None, False) for one in values])
    return made


def test_two_workers_give_what_one_process_gives_even_when_one_is_killed(cluster: LocalCluster) -> None:
    first, _ = cluster.add_worker(), cluster.add_worker()
    cluster.wait_for(2)
    work = batches(30)
    choice = Choice(kind="dask", address=cluster.address)
    with open_executor(Choice(kind="serial"), 0) as executor:
        expected = list(executor.run(WORK, work))
    with open_executor(choice, 0) as executor:
        found = executor.run(WORK, work)
        results = [next(found) for _ in range(3)]
        os.kill(first.pid, signal.SIGKILL)
        results += found
    assert repr(results) == repr(expected)


@pytest.mark.parametrize(
    "command", [["changepoints"], ["backtest", "--results"]], ids=lambda command: command[0]
)
def test_the_commands_print_the_same_bytes(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for day, value in enumerate(step_values(40, 20)):
        save_commit(tmp_path / "results", day, {"b.time_step": value, "b.time_same": 1.0})
    cluster.add_worker()
    cluster.wait_for(1)
    outputs = {}
    for executor in ("serial", cluster.address.replace("tcp://", "dask://")):
        arguments = [*command, "results", "--json", "--no-cache", "--executor", executor]
        done = subprocess.run(
            [sys.executable, "-m", "stepwatch", *arguments], capture_output=True, check=True, timeout=SECONDS
        )
        assert done.stderr == b""
        outputs[executor] = done.stdout
    assert len(set(outputs.values())) == 1
    assert b"b.time_step" in outputs["serial"]


def test_a_cluster_that_is_lost_is_one_line(cluster: LocalCluster) -> None:
    cluster.add_worker()
    cluster.wait_for(1)
    with connect(cluster.address) as executor:
        found = executor.run(WORK, batches(50))
        next(found)
        cluster.end()
        with pytest.raises(DataError, match=f"the Dask cluster at {cluster.address} gave up: "):
            list(found)


def test_no_worker_is_one_line(cluster: LocalCluster) -> None:
    with (
        pytest.raises(DataError, match="has no worker; start some with `dask worker`"),
        connect(cluster.address),
    ):
        pass


def test_another_version_on_a_worker_is_one_line(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.add_worker()
    cluster.wait_for(1)
    monkeypatch.setattr("stepwatch.history.dask_cluster.__version__", "99.0")
    with (
        pytest.raises(DataError, match=r"has stepwatch .*, this is 99\.0; install the same version"),
        connect(cluster.address),
    ):
        pass
