"""Align two sets of vectors: words with a lexicon, or arrays with pairs of rows or shared ids."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._alignment import Alignment
from fipp._inputs import (
    LexiconLike,
    VectorsLike,
    as_items,
    as_lexicon,
    as_vectors,
    found_pairs,
    has_words,
    make_aligner,
    paired_rows,
    words_spelled_alike,
)
from fipp._progress import Progress
from fipp.aligners import BaseAligner
from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors


def align(
    source: VectorsLike | ArrayLike,
    target: VectorsLike | ArrayLike,
    lexicon: LexiconLike | ArrayLike | Iterable[tuple[Hashable, Hashable]] | None = None,
    method: str | BaseAligner = "auto",
    *,
    source_ids: Iterable[Hashable] | None = None,
    target_ids: Iterable[Hashable] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Alignment:
    """Bring two vocabularies, or two arrays of vectors, together from pairs known to belong together.

    Parameters
    ----------
    source, target : Vectors, path or array of shape (n, d)
        The two sides, both with words or both arrays. Their dimensions may differ.
    lexicon : Lexicon, path or iterable of pairs, optional
        Pairs of a source word and a target word. For arrays, pairs of ids, or of row numbers if there are no ids.
        Pairs that are not on both sides are left out and counted in ``alignment.seed``. Without a lexicon, equal ids
        of two arrays belong together, or row i of one and row i of the other; methods that learn without pairs need
        none, and ``"unsupervised"`` and ``"auto"`` then begin with words spelled alike.
    method : str or aligner, default="auto"
        How to align: a name in ``fipp.aligners.METHODS``, or an aligner with its settings. ``"auto"`` tries FIPP,
        Procrustes and others on held-out pairs and takes the best for these vectors. That takes a minute or two, and
        longer for large vocabularies; ``aligner.chosen_`` says which method was chosen. ``"fipp"`` takes about a
        second.
    source_ids, target_ids : iterables of hashable objects, optional
        An id for each row of two arrays: numbers, strings, anything that can be a key of a dict. The words of the
        alignment are these ids, or the row numbers, as strings.
    progress : callable, optional
        Called as ``progress(done, total)`` during the long part.
    **options
        Settings of the method, such as ``epsilon`` and ``lam`` of ``"fipp"``.

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(100), max_words=4000)
    >>> alignment.translate("house")[0].word
    'maison'
    >>> alignment.evaluate(demo.test).p_at_10 > 0.9
    True

    FIPP, with its settings:

    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp", epsilon=0.1)
    >>> [translation.word for translation in alignment.translate("house", k=3)]
    ['maison', 'appartement', 'grange']

    Documents embedded by two models, paired by their ids:

    >>> import numpy as np
    >>> old = np.random.default_rng(0).standard_normal((500, 20))
    >>> new = old[100:] @ np.random.default_rng(1).standard_normal((20, 30))
    >>> ids = [f"doc-{number}" for number in range(500)]
    >>> alignment = fipp.align(old, new, method="fipp", source_ids=ids, target_ids=ids[100:])
    >>> alignment.seed["found"], alignment.transform(old).shape
    (400, (500, 30))

    Without ids, pairs are row numbers; without pairs, row i belongs to row i:

    >>> pairs = [(row + 100, row) for row in range(400)]
    >>> fipp.align(old, new, pairs[:200], "fipp").evaluate(pairs[200:]).p_at_1 > 0.9
    True
    >>> fipp.align(old[100:], new, method="fipp").seed["found"]
    400
    """
    aligner = make_aligner(method, options)
    if not (has_words(source) and has_words(target)):
        return _align_arrays(aligner, source, target, lexicon, source_ids, target_ids, progress)
    if source_ids is not None or target_ids is not None:
        raise FippError("source_ids and target_ids are for arrays; vectors with words are paired by a lexicon")
    source, target = as_vectors(source), as_vectors(target)
    if lexicon is None:
        if aligner.learns_from == "pairs" and not aligner.takes_guesses:
            raise FippError(f"{type(aligner).__name__} learns from known pairs: give a lexicon")
        guesses = _guesses(aligner, source, target) if aligner.takes_guesses else None
        aligner.fit(source.matrix, target.matrix, guesses=guesses, progress=progress)
        return Alignment(aligner, source, target)
    lookup = found_pairs(as_lexicon(lexicon), source, target)  # type: ignore[arg-type]  # words, not ids
    few = len(np.unique(lookup.rows[:, 0])) < aligner.guesses_below
    guesses = _guesses(aligner, source, target) if few else None
    return _learned(aligner, source, target, lookup.rows, (lookup.found, lookup.total), progress, guesses)


def _guesses(aligner: BaseAligner, source: Vectors, target: Vectors) -> NDArray[np.int64]:
    """Pair words by their spelling alone."""
    spelled_alike = Lexicon.identical if aligner.learns_from == "identical" else words_spelled_alike
    return spelled_alike(source, target).lookup(source, target).rows


def _align_arrays(
    aligner: BaseAligner,
    X: Any,
    Y: Any,
    pairs: Any,
    source_ids: Iterable[Hashable] | None,
    target_ids: Iterable[Hashable] | None,
    progress: Progress | None,
) -> Alignment:
    """Align two arrays by pairs of ids or row numbers."""
    if has_words(X) or has_words(Y):
        raise FippError("one side has words and the other is an array: give both as arrays, or both with words")
    if (source_ids is None) != (target_ids is None):
        raise FippError("give both source_ids and target_ids, or neither to pair row numbers")
    source, target = as_items(X, source_ids, "source"), as_items(Y, target_ids, "target")
    by_row = source_ids is None
    if pairs is None and by_row and aligner.learns_from != "pairs":  # nothing says that row i belongs to row i
        aligner.fit(source.vectors.matrix, target.vectors.matrix, progress=progress)
        return Alignment(aligner, source.vectors, target.vectors)
    rows, total = paired_rows(pairs, source, target, by_row=by_row)
    return _learned(aligner, source.vectors, target.vectors, rows, (len(rows), total), progress)


def _learned(
    aligner: BaseAligner,
    source: Vectors,
    target: Vectors,
    rows: NDArray[np.int64],
    counts: tuple[int, int],
    progress: Progress | None,
    guesses: NDArray[np.int64] | None = None,
) -> Alignment:
    """Fit an aligner on known pairs; ``counts`` are the pairs found and all pairs of the lexicon."""
    aligner.fit(source.matrix, target.matrix, rows, guesses=guesses, progress=progress)
    found, total = counts
    used = rows if aligner.learns_from != "nothing" else rows[:0]
    seed = {"found": found, "total": total, "coverage": found / total}
    return Alignment(aligner, source, target, seed=seed, seed_pairs=used)
