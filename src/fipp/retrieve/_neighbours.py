"""Exact nearest neighbours by cosine, dot product, CSLS or inverted softmax, in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.linalg import Progress
from fipp.retrieve._best import Best
from fipp.retrieve._collect import Collector
from fipp.retrieve._hubs import Hubs
from fipp.retrieve._options import Settings, Ticker, check_count
from fipp.retrieve._rows import Rows
from fipp.retrieve._scores import Pairs, Scan, Tiles
from fipp.retrieve._sweep import Sweep


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

    The search is exact; block sizes, threads and the BLAS library make no difference to it. Scores are:

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

      The published one differs in two ways. It has a β of its own for each bank; here one β serves both. Its banks are
      training data, apart from what is searched; here a key is itself in the bank of the gallery, where at a large β
      its cosine of 1 outweighs the others and the correction is half of that of ``"isf"``. The dynamic variant
      (DualDIS), which normalises only where the nearest key of a query is also the nearest of something in a bank, is
      not offered: with whole vocabularies as banks that is so for every query in ``hub_reference``.

    Parameters
    ----------
    queries, keys : array-like of shape (q, d) and (m, d)
        Vectors of one space, one a row, of any real type. They are converted to float32 block by block.
    k : int
        Number of neighbours. When there are fewer keys, all of them are returned.
    retrieval : {"cosine", "nn", "dot", "csls", "isf", "dualis"}
        How a query and a key are scored.
    n_neighbours : int
        Number of neighbours in the means of CSLS; all of them when there are fewer.
    beta : float
        β of the inverted softmax: the larger, the more only the nearest vectors of the bank count.
    hub_reference : array-like of shape (n, d), optional
        The vectors against which CSLS and the inverted softmax measure how much of a hub each key is: the whole
        mapped source vocabulary. Without it the queries are taken. Other scores ignore it.
    max_memory : int, float or str, optional
        Working memory beside inputs and result, for example ``"500 MB"``; 1 GiB when left out.
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
            return _csls(*sweep.run(Ticker(progress, len(sweep))))
    hubs = Hubs.plan(settings, keys, reference, max_memory)
    tick = Ticker(progress, len(hubs) + len(scan))
    prepared = Prepared(settings, hubs.offsets(mean_of_best, tick), len(reference), len(keys))
    return prepared.search(scan, k, tick)


@dataclass(frozen=True)
class Prepared:
    """What is known of the keys before a search: how they are scored, and what that takes off each of them."""

    settings: Settings
    offsets: NDArray[np.float32] | None
    reference_size: int
    size: int

    def search(self, scan: Scan, k: int, tick: Ticker) -> Neighbours:
        """Find the ``k`` best keys of each query."""
        if self.settings.retrieval == "csls" and self.offsets is not None:
            return _csls(*_best_and_nearest(scan, k, self.settings.n_neighbours, self.offsets, tick))
        indices, scores = best_keys(scan, k, tick, self.offsets).result()
        return Neighbours(indices, self.finish(scores))

    def finish(self, scores: NDArray[np.float32], nearest: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Turn cosines less offsets into scores; ``nearest`` is r_T of each query."""
        if nearest is not None:
            return 2 * scores - nearest[:, None]
        if self.settings.retrieval == "isf":
            return _log_softmax(scores, self.settings.beta, self.reference_size)
        if self.settings.retrieval == "dualis":
            return _log_softmax(scores, 2 * self.settings.beta, self.reference_size * self.size)
        return scores


def _csls(best: Best, nearest: Best) -> Neighbours:
    """Turn cosines less r_S / 2 into CSLS; ``nearest`` are the nearest keys by cosine."""
    indices, scores = best.result()
    r_T = nearest.means()
    return Neighbours(indices, 2 * scores - r_T[:, None], r_T)


def _log_softmax(scores: NDArray[np.float32], beta: float, size: int) -> NDArray[np.float32]:
    """Turn cosines less the mean of a bank into cosines less its sum, at their scale."""
    return (beta * scores.astype(np.float64) - np.log(float(size))).astype(np.float32)


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
        Vectors of one space, one a row.
    k : int
        Number of vectors in the mean; all of them when ``reference`` has fewer.
    max_memory : int, float or str, optional
        Working memory beside inputs and result; 1 GiB when left out.
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
    return mean_of_best(scan, k, Ticker(progress, len(scan)))


def mean_of_best(scan: Scan, k: int, tick: Ticker) -> NDArray[np.float32]:
    """Return the mean of the ``k`` highest scores of each query of ``scan``."""
    return best_keys(scan, k, tick).means()


def best_keys(scan: Scan, k: int, tick: Ticker, offsets: NDArray[np.float32] | None = None) -> Best:
    """Find the ``k`` keys with the highest cosine, less the offset of the key, of each query of ``scan``."""
    k = min(k, len(scan.keys))

    def work(pairs: Pairs, tiles: Tiles) -> NDArray[np.int64]:
        offset = None if offsets is None else offsets[pairs.columns]
        found = Collector(pairs, k, best.floor[pairs.rows], offset)
        for part, scores in tiles:
            if offset is not None:
                scores -= offset[part]
            found.add(part, scores)
        return found.best()

    best = Best(len(scan.queries), k)
    for rows, packed in scan.run(work):
        best.add(rows, packed)
        tick()
    return best


def _best_and_nearest(
    scan: Scan, k: int, n_neighbours: int, half: NDArray[np.float32], tick: Ticker
) -> tuple[Best, Best]:
    k, n_neighbours = min(k, len(scan.keys)), min(n_neighbours, len(scan.keys))

    def work(pairs: Pairs, tiles: Tiles) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        offset = half[pairs.columns]
        closest = Collector(pairs, n_neighbours, nearest.floor[pairs.rows])
        found = Collector(pairs, k, best.floor[pairs.rows], offset)
        for part, scores in tiles:
            closest.add(part, scores)
            scores -= offset[part]
            found.add(part, scores)
        return closest.best(), found.best()

    nearest, best = Best(len(scan.queries), n_neighbours), Best(len(scan.queries), k)
    for rows, (nearest_packed, best_packed) in scan.run(work):
        nearest.add(rows, nearest_packed)
        best.add(rows, best_packed)
        tick()
    return best, nearest
