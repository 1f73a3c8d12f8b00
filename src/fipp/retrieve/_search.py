"""Exact nearest neighbours by cosine, dot product, CSLS or inverted softmax, in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Progress, Steps
from fipp.retrieve._best import Best, Wanted, find_best, find_candidates
from fipp.retrieve._scan import Rows, Scan
from fipp.retrieve._scores import Hubs, Settings, check_count
from fipp.retrieve._sweep import Sweep, n_candidates


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
    return find_best(scan, Steps(progress, len(scan)), Wanted(k))[0].means()


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
        kept = n_candidates(k) + settings.n_neighbours
        sweep = Sweep.plan(queries, keys, kept, max_memory)
        if sweep is not None:
            return _csls_in_one(sweep, k, settings.n_neighbours, progress)
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
            nearest, best = find_best(scan, steps, Wanted(self.settings.n_neighbours), Wanted(k, self.offsets))
            return as_csls(best, nearest.means())
        indices, scores = find_best(scan, steps, Wanted(k, self.offsets))[0].result()
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


def _csls_in_one(sweep: Sweep, k: int, n_neighbours: int, progress: Progress | None) -> Neighbours:
    scan = sweep.scan(n_candidates(k) + n_neighbours, n_neighbours, halving=True)
    steps = Steps(progress, len(scan) + 1)
    nearest, candidates, of_keys = find_candidates(scan, steps, n_neighbours, n_neighbours, n_candidates(k))
    best = sweep.rank(candidates, k, of_keys.means() / np.float32(2))
    steps()
    return as_csls(best, nearest.means())


def as_csls(best: Best, r_T: NDArray[np.float32]) -> Neighbours:
    """Turn cosines less r_S / 2 into CSLS."""
    indices, scores = best.result()
    return Neighbours(indices, 2 * scores - r_T[:, None], r_T)


def _log_softmax(scores: NDArray[np.float32], beta: float, size: int) -> NDArray[np.float32]:
    """Turn cosines less the logarithm of a bank's mean into scaled cosines less that of its sum."""
    return (beta * scores.astype(np.float64) - np.log(float(size))).astype(np.float32)
