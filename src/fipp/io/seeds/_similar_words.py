"""All pairs of words within an edit distance, without comparing every word with every other.

Words within k edits share many n-grams: if both are padded with n - 1 marks on either side and the longer has L
letters, at least L + n - 1 - k·n (Ukkonen 1992). So words are grouped by length, one sparse product counts the n-grams
that the words of two groups share, and only pairs that share enough are compared letter by letter. None is missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError

_Numbers = npt.NDArray[np.int64]

# The most rows times columns of one product: 256 MB if no entry were zero, but nearly all are.
_PRODUCT_CELLS = 1 << 25
# The number of pairs compared at once.
_COMPARED = 1 << 16


class SimilarWords(NamedTuple):
    """Places in two lists of words, and the normalised edit distance of each pair."""

    source: _Numbers
    target: _Numbers
    distance: npt.NDArray[np.float64]


def similar_words(
    source: Sequence[str], target: Sequence[str], max_distance: float, progress: Progress | None = None
) -> SimilarWords:
    """Return all pairs whose edit distance is at most ``max_distance`` (below 0.5) times the longer word's length.

    They are in ascending order of the place in ``source``, then in ``target``.
    """
    if not 0 <= max_distance < 0.5:
        raise FippError(f"max_distance must lie between 0 and 0.5, 0.5 excluded, not {max_distance}")
    groups = [_by_length(words) for words in (source, target)]
    combinations = [
        (left, right, _edits(max(left, right), max_distance))
        for left in sorted(groups[0])
        for right in sorted(groups[1])
        if abs(left - right) <= _edits(max(left, right), max_distance)
    ]
    codes = [{length: _letters(words, length, places) for length, places in sides.items()}
             for words, sides in zip((source, target), groups, strict=True)]  # fmt: skip
    grams = _Grams(source, target, groups)
    steps = Steps(progress, len(combinations))
    found = []
    for left, right, edits in combinations:
        for rows, columns in grams.candidates(left, right, edits):
            distance = edit_distances(codes[0][left][rows], codes[1][right][columns])
            near = distance <= edits
            share = distance[near] / max(left, right, 1)
            found.append((groups[0][left][rows[near]], groups[1][right][columns[near]], share))
        steps()
    if not found:
        return SimilarWords(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    sources, targets, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((targets, sources))
    return SimilarWords(sources[order], targets[order], distances[order])


def edit_distances(left: npt.NDArray[np.uint32], right: npt.NDArray[np.uint32]) -> _Numbers:
    """Return the Levenshtein distances between the words in equal rows of two matrices of code points."""
    count, length = right.shape
    # One row of the classic table at a time, for all pairs at once.
    above = np.tile(np.arange(length + 1, dtype=np.int64)[:, np.newaxis], (1, count))
    for row in range(left.shape[1]):
        here = np.empty_like(above)
        here[0] = row + 1
        for column in range(length):
            replaced = above[column] + (left[:, row] != right[:, column])
            here[column + 1] = np.minimum(replaced, 1 + np.minimum(above[column + 1], here[column]))
        above = here
    return above[-1]


def _edits(length: int, max_distance: float) -> int:
    # Rounding may leave a product such as 0.2 * 5 just below a whole number.
    return int(max_distance * length + 1e-9)


def _by_length(words: Sequence[str]) -> dict[int, _Numbers]:
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return {int(length): np.flatnonzero(lengths == length) for length in np.unique(lengths)}


def _letters(words: Sequence[str], length: int, places: _Numbers) -> npt.NDArray[np.uint32]:
    text = "".join(words[place] for place in places.tolist())
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").reshape(len(places), length)


class _Grams:
    """Counts of the n-grams of two lists of words, as sparse matrices with a row per word."""

    def __init__(self, source: Sequence[str], target: Sequence[str], groups: Sequence[dict[int, _Numbers]]) -> None:
        self._words = [*source, *target]
        self._n_source = len(source)
        self._groups = groups
        self._counts: dict[int, sparse.csr_matrix] = {}

    def candidates(self, left: int, right: int, edits: int) -> Iterator[tuple[_Numbers, _Numbers]]:
        """Yield rows of both groups of words that share enough n-grams to be within ``edits``."""
        longer = max(left, right)
        # Longer n-grams are rarer and give fewer candidates, but with many edits a pair need not share one.
        size = next((n for n in (3, 2, 1) if longer + n - 1 - edits * n >= 1), None)
        if size is None:  # words without letters
            yield np.zeros(1, np.int64), np.zeros(1, np.int64)
            return
        shared = longer + size - 1 - edits * size
        rows = self._count(size)[self._groups[0][left]]
        columns = self._count(size)[self._n_source + self._groups[1][right]].T.tocsr()
        step = max(1, _PRODUCT_CELLS // columns.shape[1])
        for start in range(0, rows.shape[0], step):
            # Repeated n-grams count more than once, which only adds candidates.
            product = (rows[start : start + step] @ columns).tocoo()
            enough = product.data >= shared
            pairs = product.row[enough].astype(np.int64) + start, product.col[enough].astype(np.int64)
            for first in range(0, len(pairs[0]), _COMPARED):
                yield pairs[0][first : first + _COMPARED], pairs[1][first : first + _COMPARED]

    def _count(self, size: int) -> sparse.csr_matrix:
        from sklearn.feature_extraction.text import CountVectorizer  # slow to import, and rarely needed

        if size not in self._counts:
            vectorizer = CountVectorizer(analyzer=partial(_ngrams, size=size), dtype=np.int32)
            self._counts[size] = vectorizer.fit_transform(self._words).tocsr()
        return self._counts[size]


def _ngrams(word: str, size: int) -> list[str]:
    padded = [""] * (size - 1) + list(word) + [""] * (size - 1)
    return ["\0".join(padded[place : place + size]) for place in range(len(padded) - size + 1)]
