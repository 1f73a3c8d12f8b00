"""Work cut into blocks that fit into memory, done by as many threads as BLAS may use, with results in order."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from threading import Lock, local
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.linalg  # noqa: F401  its BLAS must be loaded before the controller looks for it
from threadpoolctl import ThreadpoolController

from fipp.exceptions import FippError

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

DEFAULT_MAX_MEMORY = 1 << 30
"""Working memory in bytes unless the user sets another: one GiB beside the inputs and the result."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {unit: 1024**power for power, unit in enumerate(_UNITS)}


def parse_memory(size: int | float | str | None) -> int:
    """Turn ``2_000_000_000``, ``"2GB"``, ``"1.5 GiB"`` or None (the default) into a number of bytes."""
    if size is None:
        return DEFAULT_MAX_MEMORY
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?\s*", size.upper())
        if match is None:
            raise FippError(f"max_memory {size!r} is not a size; write it like '2GB', '500 MB' or '1.5 GiB'")
        number, unit, binary = match.groups()
        size = float(number) * (_BINARY_UNITS if binary else _UNITS)[unit]
    if not size > 0:
        raise FippError(f"max_memory must be positive, not {size}")
    return int(size)


def rows_per_block(bytes_per_row: int, max_memory: int | float | str | None = None, *, at_most: int = 4096) -> int:
    """Return the number of rows that fit in ``max_memory`` when each needs ``bytes_per_row``: at least 1."""
    return max(1, min(at_most, parse_memory(max_memory) // max(1, bytes_per_row)))


@cache
def _blas() -> ThreadpoolController:
    """Find the loaded BLAS libraries once: looking for them takes longer than a small product."""
    return ThreadpoolController().select(user_api="blas")


class _SingleThreadedBlas(ContextDecorator):
    """Limits BLAS to one thread while anything is inside.

    The limit applies to the whole process. If every map set and lifted its own and two overlapped, the one that ended
    last would restore the limit of the other.
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
"""Inside it, or in a function decorated with it, products have the same bits whatever the number of threads."""


# Whether this is a thread of an `ordered_map`, which must not start threads of its own.
_here = local()


def _become_worker() -> None:
    _here.is_worker = True


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the threads that all maps share: starting them takes longer than many blocks do."""
    return ThreadPoolExecutor(threads, "fipp", initializer=_become_worker)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _allowed() -> int:
    return max((library["num_threads"] for library in _blas().info()), default=1)


def n_threads() -> int:
    """Return the number of threads that BLAS may use here, by ``OMP_NUM_THREADS`` and the limits in force."""
    if getattr(_here, "is_worker", False):
        return 1
    return single_threaded_blas.allowed if single_threaded_blas.active else _allowed()


def ordered_map(
    work: Callable[[Item], Result], items: Iterable[Item], at_most: int | None = None
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` in the order of ``items``, calculated by several threads.

    Each thread runs single-threaded BLAS on its own block, which is faster than threaded BLAS as soon as there are
    element-wise steps between the products. Results are taken in order, so that a sum over them does not depend on the
    number of threads, and only a few are held at a time. ``at_most`` limits the number of threads, for work that takes
    memory in each of them.
    """

    def quiet_work(item: Item) -> Result:
        # Kernels of OpenBLAS may read beyond the edge of a matrix, and what they find there can raise the flag of an
        # invalid operation although the result is right. Inputs were checked to be finite, so this hides nothing real.
        # The state belongs to a thread, so it must be set here; around a `yield`, it would leak to the caller.
        with np.errstate(invalid="ignore"):
            return work(item)

    threads = n_threads() if at_most is None else min(at_most, n_threads())
    if isinstance(items, Sized):  # a single item need not wait until a thread is free
        threads = min(threads, max(1, len(items)))
    with single_threaded_blas:
        if threads == 1:
            yield from map(quiet_work, items)
            return
        pool, waiting = _pool(threads), deque[Future[Result]]()
        try:
            for item in items:
                waiting.append(pool.submit(quiet_work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            # Blocks that have begun may be writing to the caller's memory.
            wait([future for future in waiting if not future.cancel()])


class Machines(Protocol):
    """Processes that work can be sent to, on this machine or on others."""

    @property
    def count(self) -> int:
        """How many items they work on at a time."""

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield ``work(shared, item)`` in the order of ``items``, of which only a few are underway at a time."""


_machines: ContextVar[Machines | None] = ContextVar("machines", default=None)


def machines() -> Machines | None:
    """Return the machines that work goes to here; None if it stays in this process, as in all of its own threads."""
    return _machines.get()


@contextmanager
def working_on(others: Machines) -> Iterator[None]:
    """Send the work of `shared_map` to other machines."""
    token = _machines.set(others)
    try:
        yield
    finally:
        _machines.reset(token)


def shared_map(
    work: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item], at_most: int | None = None
) -> Generator[Result, None, None]:
    """Yield ``work(shared, item)`` in the order of ``items``, calculated by threads or, if there are any, `machines`.

    ``shared`` is sent to each machine once. Results are taken in order, as those of `ordered_map`, so that sums over
    them are the same wherever they were calculated, if processors and BLAS libraries are.
    """
    others = machines()
    return ordered_map(partial(work, shared), items, at_most) if others is None else others.map(work, shared, items)


@contextmanager
def one_torch_thread(torch: Any) -> Iterator[None]:
    """Limit torch to one thread, so that results have the same bits whatever the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
