"""Exact nearest neighbours by cosine, dot product, CSLS or inverted softmax, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Progress, Steps
from fipp.linalg import n_threads, ordered_map, parse_memory, row_blocks
from fipp.retrieve._best import Best, Collector
from fipp.retrieve._scan import Block, Pairs, Rows, Scan
from fipp.retrieve._scores import Hubs, Settings, best_keys, check_count, nearest_and_best

# Measured on 300 dimensions: narrower strips of keys are not worth it, wider ones hardly faster.
NARROWEST_STRIP = 256
WIDEST_STRIP = 2048
QUERIES_AT_A_TIME = 1024

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest keys of each query, best first.

    Attributes
    ----------
    indices : ndarray of int64, shape (queries, k)
        Row numbers of the keys. Keys with the same score stand in the order of their row numbers.
    scores : ndarray of float32, shape (queries, k)
        Their scores.
    nearness : ndarray of float32, shape (queries,), or None
        With CSLS, r_T: the mean cosine of each query with its nearest keys.
    """

    indices: NDArray[np.int64]
    scores: NDArray[np.float32]
    nearness: NDArray[np.float32] | None = None


def neighbours(
    queries: ArrayLike,
    keys: ArrayLike,
    k: int = 10,
    *,
    retrieval: str = "cosine",
    n_neighbours: int = 10,
    beta: float = 30.0,
    hub_reference: ArrayLike | None = None,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> Neighbours:
    r"""Find the ``k`` keys with the highest score for each query.

    The search is exact; block sizes, threads and the BLAS library make no difference. Scores are:

    - ``"cosine"`` (or ``"nn"``): the cosine of the two vectors, 0 when one of them is zero;
    - ``"dot"``: the dot product, which prefers long keys;
    - ``"csls"``: the cosine, corrected for hubs, keys that are close to everything,

      .. math:: \mathrm{CSLS}(x, y) = 2\cos(x, y) - r_T(x) - r_S(y),

      with r_T(x) the mean cosine of x with its ``n_neighbours`` nearest keys, and r_S(y) the mean cosine of y with
      its ``n_neighbours`` nearest vectors of ``hub_reference``;
    - ``"isf"``: the inverted softmax of Smith et al., the probability that the key y is translated back
      into the query x rather than into another vector of ``hub_reference`` R, in logarithms,

      .. math:: \log\frac{e^{\beta\cos(x, y)}}{\sum_{x' \in R} e^{\beta\cos(x', y)}};

    - ``"dualis"``: the dual inverted softmax of Wang et al. (2023), the product of two: one normalised by a bank of
      queries, which is ``hub_reference``, and one by a bank of the gallery, which is all keys K; in logarithms,

      .. math:: \log\left(\frac{e^{\beta\cos(x, y)}}{\sum_{x' \in R} e^{\beta\cos(x', y)}} \cdot
                \frac{e^{\beta\cos(x, y)}}{\sum_{y' \in K} e^{\beta\cos(y', y)}}\right).

      The published method differs in two ways. It has a β for each bank; here one β serves both. Its banks are
      training data, separate from the keys searched; here a key is itself in the bank of the gallery, where at a large
      β its cosine of 1 outweighs the others and the correction is half of that of ``"isf"``. The dynamic variant
      (DualDIS), which normalises only where the nearest key of a query is also the nearest of a vector in a bank, is
      not offered: with whole vocabularies as banks this holds for every query in ``hub_reference``.

    Parameters
    ----------
    queries, keys : array-like of shape (q, d) and (m, d)
        Vectors of one space, one per row, of any real type. They are converted to float32 block by block.
    k : int
        Number of neighbours. If there are fewer keys, all of them are returned.
    retrieval : {"cosine", "nn", "dot", "csls", "isf", "dualis"}
        How a query and a key are scored.
    n_neighbours : int
        Number of neighbours in the means of CSLS; all of them if there are fewer.
    beta : float
        β of the inverted softmax: the larger, the more only the nearest vectors of the bank count.
    hub_reference : array-like of shape (n, d), optional
        The vectors against which CSLS and the inverted softmax measure how much of a hub each key is: the whole
        mapped source vocabulary; the queries by default. Other scores ignore it.
    max_memory : int, float or str, optional
        Working memory beside inputs and result, for example ``"500 MB"``; 1 GiB by default.
    progress : callable, optional
        Called as ``progress(done, total)`` after each finished block.

    Returns
    -------
    Neighbours
        Row numbers and scores, each of shape (q, k), best first.

    Raises
    ------
    FippError
        If the shapes do not fit, a value is not finite, or there are no keys.

    References
    ----------
    Conneau, Lample, Ranzato, Denoyer, Jégou: Word translation without parallel data. ICLR 2018.

    Smith, Turban, Hamblin, Hammerla: Offline bilingual word vectors, orthogonal transformations and the inverted
    softmax. ICLR 2017.

    Wang, Jian, Xue: Balance Act: Mitigating hubness in cross-modal retrieval with query and gallery banks. EMNLP 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp.retrieve import neighbours
    >>> keys = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> found = neighbours([[2.0, 0.1]], keys, k=2)
    >>> found.indices
    array([[0, 2]])
    >>> found.scores.round(3)
    array([[0.999, 0.742]], dtype=float32)
    """
    settings = Settings.checked(retrieval, n_neighbours, beta)
    k = check_count(k, "k")
    query_rows, key_rows = Rows(queries, "queries", unit=settings.unit), Rows(keys, "keys", unit=settings.unit)
    reference = settings.reference(query_rows, None if hub_reference is queries else hub_reference)
    return search(query_rows, key_rows, reference, k, settings, max_memory, progress)


def mean_similarity(
    keys: ArrayLike,
    reference: ArrayLike,
    k: int = 10,
    *,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Measure how much of a hub each key is: its mean cosine with its ``k`` nearest vectors of ``reference``.

    This is r_S of CSLS; see :func:`neighbours`.

    Parameters
    ----------
    keys, reference : array-like of shape (m, d) and (n, d)
        Vectors of one space, one per row.
    k : int
        Number of vectors in the mean; all of them if ``reference`` has fewer.
    max_memory : int, float or str, optional
        Working memory beside inputs and result; 1 GiB by default.
    progress : callable, optional
        Called as ``progress(done, total)`` after each finished block.

    Returns
    -------
    ndarray of float32, shape (m,)
        The mean cosines.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp.retrieve import mean_similarity
    >>> mean_similarity([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], k=2)
    array([1. , 0.5], dtype=float32)
    """
    k = check_count(k, "k")
    scan = Scan(Rows(keys, "keys", unit=True), Rows(reference, "reference", unit=True), max_memory, kept=k)
    return best_keys(scan, k, Steps(progress, len(scan))).means()


def search(
    queries: Rows,
    keys: Rows,
    reference: Rows,
    k: int,
    settings: Settings,
    max_memory: int | float | str | None,
    progress: Progress | None,
) -> Neighbours:
    """Find the ``k`` best keys of each query, with as few products as the memory allows."""
    scan = Scan(queries, keys, max_memory, kept=max(k, settings.n_neighbours))
    if settings.retrieval == "csls" and reference is queries:
        sweep = Sweep.plan(queries, keys, k, settings.n_neighbours, max_memory)
        if sweep is not None:
            return _csls(*sweep.run(Steps(progress, len(sweep))))
    hubs = Hubs.plan(settings, keys, reference, max_memory)
    steps = Steps(progress, len(hubs) + len(scan))
    return Prepared(settings, hubs.offsets(steps), len(reference), len(keys)).search(scan, k, steps)


@dataclass(frozen=True)
class Prepared:
    """What a search needs to know about the keys: how they are scored, and what is subtracted from their scores."""

    settings: Settings
    offsets: NDArray[np.float32] | None
    reference_size: int
    size: int

    def search(self, scan: Scan, k: int, steps: Steps) -> Neighbours:
        """Find the ``k`` best keys of each query."""
        if self.settings.retrieval == "csls" and self.offsets is not None:
            return _csls(*nearest_and_best(scan, steps, (self.settings.n_neighbours, None), (k, self.offsets)))
        indices, scores = best_keys(scan, k, steps, self.offsets).result()
        return Neighbours(indices, self.finish(scores))

    def finish(self, scores: NDArray[np.float32], nearness: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Turn cosines less offsets into scores; ``nearness`` is r_T of each query."""
        if nearness is not None:
            return 2 * scores - nearness[:, None]
        if self.settings.retrieval == "isf":
            return _log_softmax(scores, self.settings.beta, self.reference_size)
        if self.settings.retrieval == "dualis":
            return _log_softmax(scores, 2 * self.settings.beta, self.reference_size * self.size)
        return scores


def _csls(nearest: Best, best: Best) -> Neighbours:
    """Turn cosines less r_S / 2 into CSLS; ``nearest`` are the nearest keys by cosine."""
    (indices, scores), r_T = best.result(), nearest.means()
    return Neighbours(indices, 2 * scores - r_T[:, None], r_T)


def _log_softmax(scores: NDArray[np.float32], beta: float, size: int) -> NDArray[np.float32]:
    """Turn cosines less the logarithm of a bank's mean into scaled cosines less that of its sum."""
    return (beta * scores.astype(np.float64) - np.log(float(size))).astype(np.float32)


class Sweep:
    """CSLS of whole vocabularies with one product of all queries with all keys instead of two.

    The usual way multiplies everything twice: once for r_S, how close each key is to its nearest queries, and once for
    the scores, which need r_S. But r_S of *some* keys is known as soon as all queries have been compared with these.
    So the products of all queries with a strip of keys are held, narrow enough to fit in memory; their columns give r_S
    of the strip, and their rows are then ranked by CSLS without another product. The result is the same, bit by bit.
    """

    def __init__(self, queries: Rows, keys: Rows, k: int, n_neighbours: int, width: int) -> None:
        self._queries, self._keys = queries, keys
        self._k, self._n_nearest_keys = min(k, len(keys)), min(n_neighbours, len(keys))
        self._n_nearest_queries = min(n_neighbours, len(queries))
        self._strips = list(row_blocks(len(keys), width))
        self._blocks = list(row_blocks(len(queries), QUERIES_AT_A_TIME))

    @classmethod
    def plan(
        cls, queries: Rows, keys: Rows, k: int, n_neighbours: int, max_memory: int | float | str | None
    ) -> Sweep | None:
        """Return the sweep if all queries and their products with a strip of keys fit in memory, else None."""
        if len(queries) == 0:
            return None
        kept = min(max(k, n_neighbours), max(len(keys), len(queries)))
        size = min(QUERIES_AT_A_TIME, len(queries))
        # Each thread has marks of one byte per score, and partial maxima; the keys kept for a query, and the queries
        # kept for a key, are packed and sorted.
        fixed = len(queries) * (4 * queries.dimensions + 8) + 128 * kept * size * (n_threads() + 1)
        per_key = 4 * len(queries) + 8 * keys.dimensions + 9 * n_threads() * size + 128 * kept * (n_threads() + 2)
        width = (parse_memory(max_memory) - fixed) // per_key
        if width < min(NARROWEST_STRIP, len(keys)):
            return None
        return cls(queries, keys, k, n_neighbours, min(width, WIDEST_STRIP))

    def __len__(self) -> int:
        return 2 * len(self._strips) * len(self._blocks)

    def run(self, steps: Steps) -> tuple[Best, Best]:
        """Return the nearest keys by cosine, and the best keys by half of CSLS, of each query."""
        queries = self._queries.read_all()
        room = np.empty(len(self._queries) * self._strips[0].stop, dtype=np.float32)
        nearest, best = Best(len(self._queries), self._n_nearest_keys), Best(len(self._queries), self._k)
        for columns in self._strips:
            keys = self._keys.read_block(columns)
            width = columns.stop - columns.start
            strip = _Strip(queries, keys, columns, room[: len(self._queries) * width].reshape(-1, width))
            r_S = self._measure(strip, nearest, steps)
            self._rank(strip, r_S / np.float32(2), best, steps)
        return nearest, best

    def _measure(self, strip: _Strip, nearest: Best, steps: Steps) -> NDArray[np.float32]:
        """Fill the strip with cosines, add its nearest keys of each query, and return r_S of its keys."""
        width = strip.products.shape[1]
        nearest_queries = Best(width, self._n_nearest_queries)

        def work(rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            pairs, cosines = strip.pairs(rows), strip.products[rows]
            np.matmul(pairs.queries.vectors, pairs.keys.vectors.T, out=cosines)
            return (
                _best_of(pairs, cosines, nearest.k, nearest.floor[rows]),
                _best_of(pairs.transposed(), cosines.T, nearest_queries.k, nearest_queries.floor),
            )

        for rows, (keys_of_queries, queries_of_keys) in self._in_blocks(work, steps):
            nearest.add(rows, keys_of_queries)
            nearest_queries.add(slice(0, width), queries_of_keys)
        return nearest_queries.means()

    def _rank(self, strip: _Strip, half: NDArray[np.float32], best: Best, steps: Steps) -> None:
        """Add the best keys of the strip by cosine less ``half`` of r_S."""

        def work(rows: slice) -> NDArray[np.int64]:
            return _best_of(strip.pairs(rows), strip.products[rows], best.k, best.floor[rows], half)

        for rows, found in self._in_blocks(work, steps):
            best.add(rows, found)

    def _in_blocks(self, work: Callable[[slice], Result], steps: Steps) -> Iterator[tuple[slice, Result]]:
        for rows, result in zip(self._blocks, ordered_map(work, self._blocks), strict=True):
            yield rows, result
            steps()


class _Strip(NamedTuple):
    """All queries, a strip of keys, and their products."""

    queries: Block
    keys: Block
    columns: slice
    products: NDArray[np.float32]

    def pairs(self, rows: slice) -> Pairs:
        """Return the pairs of some queries with the keys."""
        return Pairs(self.queries.part(rows), self.keys, rows, self.columns)


def _best_of(
    pairs: Pairs,
    products: NDArray[np.float32],
    k: int,
    floor: NDArray[np.float32],
    offset: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    found = Collector(pairs, k, floor, offset)
    found.add(slice(0, products.shape[1]), products)
    return found.best()
