"""Questions that wait are answered together: those to the same index with one product."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, NamedTuple

import numpy as np

from fipp.exceptions import FippError
from fipp.retrieve import Neighbours, Side, SideBySide, TwoWayIndex

_MOST_WAITING = 4096


class BusyError(FippError):
    """More questions wait than can be answered in reasonable time, or the service is ending."""


class Place(NamedTuple):
    """Where a question is answered: an index, the side of the rows, and whether to stay on that side."""

    words: TwoWayIndex
    side: Side
    same_side: bool = False

    def answer(self, rows: Sequence[int], k: int) -> SideBySide:
        """Search for all rows with one product."""
        if self.same_side:
            return SideBySide(self.words.similar(rows, k, side=self.side), None)
        return self.words.search(rows, k, side=self.side)


class _Question(NamedTuple):
    rows: Sequence[int]
    k: int
    answer: Future[SideBySide]


class Batches:
    """A thread that answers all questions that arrived while it was answering the ones before.

    Nobody waits for others to come: alone, a question is answered at once. The answer to a question does not depend on
    the questions that it is answered with.

    Examples
    --------
    >>> import numpy as np
    >>> batches = Batches()
    >>> place = Place(TwoWayIndex(np.eye(3), np.eye(3)[::-1]), "source")
    >>> batches.ask(place, [0], 1).result().cosine.indices
    array([[2]])
    >>> batches.close()
    """

    def __init__(self) -> None:
        self.n_questions = self.n_products = 0
        self._waiting: deque[tuple[Place, _Question]] = deque()
        self._wake, self._closed = Condition(), False
        self._thread = Thread(target=self._work, name="fipp-answers", daemon=True)
        self._thread.start()

    def ask(self, place: Place, rows: Sequence[int], k: int) -> Future[SideBySide]:
        """Return what will hold the ``k`` nearest of each row."""
        question = _Question(rows, k, Future())
        with self._wake:
            if self._closed or len(self._waiting) >= _MOST_WAITING:
                raise BusyError("too many questions wait for an answer: ask again in a moment")
            self._waiting.append((place, question))
            self._wake.notify()
        return question.answer

    def close(self) -> None:
        """Answer what waits, and end."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                taken, self._waiting = self._waiting, deque()
            # An index has no equal but itself.
            groups: dict[tuple[int, Side, bool], list[tuple[Place, _Question]]] = defaultdict(list)
            for place, question in taken:
                groups[id(place.words), place.side, place.same_side].append((place, question))
            for group in groups.values():
                self._answer(group[0][0], [question for _, question in group])

    def _answer(self, place: Place, questions: Sequence[_Question]) -> None:
        wanted = [question for question in questions if question.answer.set_running_or_notify_cancel()]
        if not wanted:
            return
        self.n_questions, self.n_products = self.n_questions + len(wanted), self.n_products + 1
        rows = [row for question in wanted for row in question.rows]
        try:
            found = place.answer(rows, max(question.k for question in wanted))
        except Exception as error:  # the thread must go on, and those who asked must know
            for question in wanted:
                question.answer.set_exception(error)
            return
        ends = np.cumsum([len(question.rows) for question in wanted]).tolist()
        for question, end in zip(wanted, ends, strict=True):
            part = _cutter(slice(end - len(question.rows), end), question.k)
            question.answer.set_result(SideBySide(part(found.cosine), found.csls and part(found.csls)))


def _cutter(rows: slice, k: int) -> Callable[[Any], Neighbours]:
    return lambda found: Neighbours(found.indices[rows, :k], found.scores[rows, :k])
