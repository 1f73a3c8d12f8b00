"""Work cut into blocks, done by as many threads as BLAS may use, its results taken in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import TypeVar

import scipy.linalg  # noqa: F401  its BLAS must be loaded before the controller looks around
from threadpoolctl import ThreadpoolController

Progress = Callable[[int, int], object]
"""Told how much is done of how much."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _blas() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: looking for them takes longer than a small product."""
    return ThreadpoolController().select(user_api="blas")


class _SingleThreadedBlas:
    """Limits BLAS to one thread from when the first comes in until the last has left.

    The limit counts for the whole process. If every map set and lifted its own, of two that overlap the one that ends
    last would put back what it found: the limit of the other.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _blas().limit(limits=1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_SINGLE_THREADED_BLAS = _SingleThreadedBlas()


def n_threads() -> int:
    """Give the number of threads that BLAS is allowed here: ``OMP_NUM_THREADS`` and limits in force count.

    Examples
    --------
    >>> n_threads() >= 1
    True
    """
    return max((library["num_threads"] for library in _blas().info()), default=1)


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield ``work(item)`` in the order of ``items``, calculated by several threads.

    Each thread runs single-threaded BLAS on its own block, which beats threaded BLAS as soon as element-wise steps
    stand between the products. Results are taken in order, so that a sum over them does not depend on the number of
    threads, and only a few are held at a time.

    Examples
    --------
    >>> list(ordered_map(lambda i: i * i, range(4)))
    [0, 1, 4, 9]
    """
    threads = n_threads()
    with _SINGLE_THREADED_BLAS:
        if threads == 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future[Result]] = deque()
            try:
                for item in items:
                    waiting.append(pool.submit(work, item))
                    if len(waiting) > 2 * threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()
