"""Work cut into blocks, done by as many threads as BLAS may use, its results taken in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ContextDecorator
from functools import cache
from threading import Lock, local
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


class _SingleThreadedBlas(ContextDecorator):
    """Limits BLAS to one thread from when the first comes in until the last has left.

    The limit counts for the whole process. If every map set and lifted its own, of two that overlap the one that ends
    last would put back what it found: the limit of the other.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self.allowed = Lock(), 0, 1

    @property
    def active(self) -> bool:
        """Whether the limit is in force."""
        return self._inside > 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self.allowed = _allowed()
                self._limit = _blas().limit(limits=1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


single_threaded_blas = _SingleThreadedBlas()
"""With it, or decorated by it, a product of small matrices has the same bits whatever the number of threads."""


# Whether this is a thread of an `ordered_map`, which must not start threads of its own.
_here = local()


def _become_worker() -> None:
    _here.is_worker = True


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the threads that all maps share: starting them takes longer than many a block."""
    return ThreadPoolExecutor(threads, "fipp", initializer=_become_worker)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _allowed() -> int:
    return max((library["num_threads"] for library in _blas().info()), default=1)


def n_threads() -> int:
    """Return the number of threads that BLAS is allowed here: ``OMP_NUM_THREADS`` and limits in force count.

    Examples
    --------
    >>> n_threads() >= 1
    True
    """
    if getattr(_here, "is_worker", False):
        return 1
    return single_threaded_blas.allowed if single_threaded_blas.active else _allowed()


def ordered_map(
    work: Callable[[Item], Result], items: Iterable[Item], at_most: int | None = None
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` in the order of ``items``, calculated by several threads.

    Each thread runs single-threaded BLAS on its own block, which beats threaded BLAS as soon as element-wise steps
    stand between the products. Results are taken in order, so that a sum over them does not depend on the number of
    threads, and only a few are held at a time. ``at_most`` limits the threads where each takes memory of its own and
    the rest of the work, which one thread does, keeps no more of them busy.

    Examples
    --------
    >>> list(ordered_map(lambda i: i * i, range(4)))
    [0, 1, 4, 9]
    """
    threads = n_threads() if at_most is None else min(at_most, n_threads())
    with single_threaded_blas:
        if threads == 1:
            yield from map(work, items)
            return
        pool, waiting = _pool(threads), deque[Future[Result]]()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            # Whatever has begun may be writing to memory of ours.
            wait([future for future in waiting if not future.cancel()])
