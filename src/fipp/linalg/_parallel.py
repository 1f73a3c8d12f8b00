"""Work cut into blocks, done by as many threads as BLAS may use, its results taken in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_info, threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads() -> int:
    """Give the number of threads that BLAS is allowed here: ``OMP_NUM_THREADS`` and limits in force count.

    Examples
    --------
    >>> n_threads() >= 1
    True
    """
    return max((library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"), default=1)


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
    with threadpool_limits(limits=1, user_api="blas"):
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
