"""Models as the explorer shows them: prepared for search in both directions, and words found by their spelling."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from fipp._alignment import Alignment
from fipp._progress import Progress
from fipp.aligners import BaseAligner
from fipp.evaluate import BLIResult, bli
from fipp.io import Vectors, fold
from fipp.report import filter_of, method_of
from fipp.retrieve import MeanCosines, TwoWayIndex

Pair = tuple[int, int]
"""Row numbers of a source word and a target word."""


class WordList:
    """The words of one side: found in any case, completed while they are typed, and near ones for a misspelling.

    Examples
    --------
    >>> words = WordList("en", Vectors(["water", "Wave", "house"], np.eye(3)))
    >>> words.row("WATER"), words.row("wat"), words.suggest("wa", 5), words.suggest("hause", 5)
    (0, None, ['water', 'Wave'], ['house'])
    """

    def __init__(self, name: str, vectors: Vectors) -> None:
        self.name, self.vectors, self.words = name, vectors, vectors.words
        self._lock = Lock()

    def row(self, word: str) -> int | None:
        """Return the row of a word in any case, None if there is none."""
        row = int(self.vectors.find([word])[0])
        return row if row >= 0 else None

    def suggest(self, word: str, k: int) -> list[str]:
        """Return words that begin like this one, frequent ones first; if there are none, words spelled nearly alike."""
        start = fold(word)
        if not start:
            return []
        with self._lock:  # sort the words once
            folded, rows = self._sorted
        first, last = bisect_left(folded, start), bisect_left(folded, start + "\U0010ffff")
        if first < last:
            return [self.words[row] for row in sorted(rows[first:last].tolist())[:k]]
        return self.vectors.near(word, k)

    @cached_property
    def _sorted(self) -> tuple[list[str], NDArray[np.int64]]:
        folded = [fold(word) for word in self.words]
        order = sorted(range(len(folded)), key=folded.__getitem__)
        return [folded[row] for row in order], np.array(order, dtype=np.int64)


class View:
    """A model whose vectors of both sides are in the shared space, ready to be searched.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    hubs : MeanCosines, optional
        What CSLS needs, if it is known; otherwise `measure_hubs` takes its time.
    """

    def __init__(self, alignment: Alignment, hubs: MeanCosines | None = None) -> None:
        self.alignment = alignment
        self.index = TwoWayIndex(alignment.transform().matrix, alignment.transform_target().matrix)
        self.index.hubs = hubs

    @property
    def method(self) -> str:
        """The name of the method, and of the one that `Auto` chose."""
        return method_of(self.alignment.aligner)

    def measure_hubs(self, progress: Progress) -> None:
        """Prepare CSLS."""
        self.index.hubs = self.index.measure_hubs(progress=progress)

    @cached_property
    def kept(self) -> Mapping[Pair, float]:
        """The share of the inner products of each seed pair that the filter keeps; empty if it is not known."""
        found, pairs = filter_of(self.alignment), self.alignment.known_pairs()
        return {} if found is None else dict(zip(map(tuple, pairs.tolist()), found.kept.tolist(), strict=True))


def score(aligner: BaseAligner, source: Vectors, target: Vectors, questions: Iterable[Pair]) -> BLIResult | None:
    """Return how well a fitted aligner finds the second words of pairs by their first; None without pairs."""
    asked = np.array(sorted(questions), dtype=np.int64).reshape(-1, 2)
    if not len(asked):
        return None
    rows, places = np.unique(asked[:, 0], return_inverse=True)
    keys = aligner.transform_target(target.matrix)
    return bli(aligner.transform(source.matrix[rows]), keys, places, asked[:, 1])
