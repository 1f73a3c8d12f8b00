"""More than one machine: the work of fitting, searching and converting on a Dask cluster, with the same results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fipp._optional import require
from fipp._version import __version__
from fipp.exceptions import FippError
from fipp.linalg import machines, single_threaded_blas, working_on

__all__ = ["on_dask"]

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

_SECONDS = 30
# What is larger goes straight to a worker instead of through the scheduler's graph.
_LARGE = 1 << 16
# So many times is work sent again whose data were lost with a worker.
_MOST_LOSSES = 10


@contextmanager
def on_dask(cluster: Any) -> Iterator[None]:
    """Do the long work inside the ``with`` on a Dask cluster: ``pip install 'fipp[dask]'``.

    - The pass of `fipp.FIPP` over Gram tiles: workers sum rows of tiles, and the sums are added in a fixed order.
    - Exact searches, such as `fipp.retrieve.neighbours` and `mutual_neighbours`, and with them self-learning and
      `fipp.migrate.probe`: workers search shards of the keys, and the best are merged with the same order of ties.
    - `fipp.migrate.Conversion.run`: workers read, convert and write fragments. All of them must see the same files.

    Everything else stays in this process. Results have the same bits as without the cluster if the workers have the
    same processors and libraries; otherwise maps differ by the rounding of float32 products, while searches among the
    same vectors and conversions of whole fragments still find and keep the same rows. A worker that dies is replaced by
    the cluster, and only what it was doing is done again.

    Dask sends functions and data as pickles between your own processes, and whoever can reach a scheduler can run code
    on its workers: use a cluster that you trust, on a network that you trust or with Dask's TLS. Files are still never
    unpickled.

    Parameters
    ----------
    cluster : str or distributed.Client
        The address of a scheduler, such as ``"tcp://10.0.0.1:8786"``, or a client, which stays open.

    Raises
    ------
    FippError
        If no scheduler answers, if it has no workers, or if these have another version of fipp.

    Examples
    --------
    >>> from distributed import Client
    >>> from fipp import FIPP, cluster
    >>> X = np.random.default_rng(0).standard_normal((600, 8))
    >>> here = FIPP().fit(X, X[:, ::-1])
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     with cluster.on_dask(client):
    ...         there = FIPP().fit(X, X[:, ::-1])
    >>> bool((here.map_ == there.map_).all())
    True
    """
    distributed = require("distributed", "a Dask cluster", extra="dask")
    if not isinstance(cluster, str):
        with _prepared(cluster):
            yield
        return
    try:
        client = distributed.Client(cluster, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise FippError(f"no Dask scheduler answers at {cluster}: {error}") from None
    try:
        with _prepared(client):
            yield
    finally:
        client.close()


@contextmanager
def _prepared(client: Any) -> Iterator[None]:
    """Refuse a cluster that cannot work, and send work to it otherwise."""
    if machines() is not None:
        raise FippError("work is already done on a cluster: one on_dask is enough")
    address = client.scheduler.address
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError:
        raise FippError(f"the Dask scheduler at {address} has no workers") from None
    try:
        versions = set(client.run(_version).values())
    except ModuleNotFoundError as error:
        raise FippError(f"the workers of {address} cannot import fipp: {error}") from None
    if versions != {__version__}:
        found = ", ".join(sorted(versions))
        raise FippError(f"the workers of {address} have fipp {found}, but this is {__version__}: install the same")
    with working_on(_Dask(client)):
        yield


def _version() -> str:
    return __version__


def _quietly(work: Callable[[Shared, Item], Result], shared: Shared, item: Item) -> Result:
    """Do on a worker what `fipp.linalg.ordered_map` does in a thread."""
    with single_threaded_blas, np.errstate(invalid="ignore"):
        return work(shared, item)


class _Underway(NamedTuple):
    """An item, what it was sent with, and the result that is awaited."""

    item: Any
    shared: Any
    result: Any


class _Dask:
    """The workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._sizeof = require("dask.sizeof", "a Dask cluster", extra="dask").sizeof
        self._killed = require("distributed", "a Dask cluster", extra="dask").KilledWorker

    @property
    def count(self) -> int:
        """How many items the workers do at a time."""
        return max(1, sum(self._client.nthreads().values()))

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield ``work(shared, item)`` in the order of ``items``, of which only a few are underway at a time."""
        held, most = self._send(shared, everywhere=True), 2 * self.count
        waiting: deque[_Underway] = deque()

        def submit(item: Item) -> _Underway:
            large = self._sizeof(item) > _LARGE
            sent = self._send(item) if large else item
            return _Underway(item, held, self._client.submit(_quietly, work, held, sent, pure=False))

        def take() -> Result:
            nonlocal held
            first = waiting.popleft()
            for _ in range(_MOST_LOSSES):
                try:
                    return first.result.result()
                except CancelledError:  # what was sent was lost with the workers that had it
                    if first.shared is held:
                        held = self._send(shared, everywhere=True)
                    first = submit(first.item)
                except self._killed as error:
                    raise FippError(
                        f"every worker that had a part of the work died, perhaps of memory: {error}"
                    ) from None
            raise FippError("workers die faster than work can be sent to them")

        try:
            for item in items:
                waiting.append(submit(item))
                if len(waiting) >= most:
                    yield take()
            while waiting:
                yield take()
        finally:
            self._client.cancel([each.result for each in waiting])

    def _send(self, data: Any, *, everywhere: bool = False) -> Any:
        for _ in range(_MOST_LOSSES):
            try:
                # A list, because Dask takes tuples and dictionaries apart.
                (held,) = self._client.scatter([data], broadcast=everywhere, hash=False)
            except OSError:  # the worker that it was sent to died meanwhile
                self._client.wait_for_workers(1, timeout=_SECONDS)
            else:
                return held
        raise FippError("workers die faster than work can be sent to them")
