"""The executor of an existing Dask cluster; importing this needs the extra `fleet`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError

from stepwatch import __version__
from stepwatch.errors import DataError
from stepwatch.history.executors import AHEAD, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_T = TypeVar("_T")
_R = TypeVar("_R")
_CONNECT_SECONDS = 10


class Cluster:
    """Sends batches to the workers of a scheduler; Dask repeats what a dying worker leaves undone."""

    def __init__(self, client: Client, address: str, workers: int) -> None:
        self._client = client
        self._address = address
        self._workers = workers

    def run(self, work: Callable[[_T], _R], batches: Iterable[_T]) -> Iterator[_R]:
        """As `Executor.run`."""

        def submit(batch: _T) -> Any:  # noqa: ANN401  a future of a library without types
            return self._client.submit(work, batch, pure=False)

        try:
            yield from in_order(submit, batches, self._workers * AHEAD)
        except (FutureCancelledError, KilledWorker, OSError) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise DataError(f"the Dask cluster at {self._address} gave up: {reason}") from error


@contextlib.contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """The cluster whose scheduler listens at `address` (`tcp://HOST:PORT`).

    Raises:
        DataError: nobody answers, there is no worker, or a worker has not this version of stepwatch.
    """
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]  # no types
    except OSError as error:
        raise DataError(f"no Dask scheduler answers at {address}; start one, or check the address") from error
    with client:
        yield Cluster(client, address, _check_workers(client, address))


def stepwatch_version() -> str:
    """The version that a worker has."""
    return __version__


def _check_workers(client: Client, address: str) -> int:
    """How many workers there are, all of them with this very version of stepwatch."""
    try:
        versions = client.run(stepwatch_version)
    except Exception as error:
        raise DataError(
            f"the workers of {address} cannot run stepwatch ({type(error).__name__}); install it on them"
        ) from error
    if not versions:
        raise DataError(f"the Dask cluster at {address} has no worker; start some with `dask worker`")
    for worker, version in versions.items():
        if version != __version__:
            raise DataError(
                f"worker {worker} has stepwatch {version}, this is {__version__}; install the same version"
            )
    return len(versions)
