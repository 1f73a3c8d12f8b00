"""Choosing settings: fit on some of the seed pairs, look up the others, take what does best."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._align import align
from fipp._alignment import Alignment
from fipp._inputs import LexiconLike, as_lexicon, as_vectors, make_aligner
from fipp._validation import as_matrix, as_pairs
from fipp.aligners import BaseAligner
from fipp.aligners._holdout import held_out_parts
from fipp.aligners._score import reciprocal_ranks
from fipp.exceptions import FippWarning
from fipp.io import Vectors
from fipp.linalg import Progress
from fipp.linalg._memory import parse_memory
from fipp.preprocess import make_preprocess
from fipp.retrieve import check_retrieval
from fipp.selection._grid import Grid, batches, check_grid, combinations, configure, distance_from
from fipp.selection._result import Selection, Trial


def select(
    source: Vectors | str | os.PathLike[str] | ArrayLike,
    target: Vectors | str | os.PathLike[str] | ArrayLike,
    lexicon: LexiconLike | ArrayLike | None = None,
    method: str | BaseAligner = "fipp",
    *,
    grid: Grid | None = None,
    components: Sequence[int] | None = None,
    holdout: float | None = None,
    folds: int | None = None,
    retrieval: str = "cosine",
    refit: bool = True,
    random_state: int | np.random.RandomState | None = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Selection:
    """Choose the settings of a method on held-out seed pairs.

    Every combination of the grid is fitted on a part of the seed pairs; the source words of the others are mapped, and
    the whole target vocabulary is ranked for each. Source words are divided, so that none is both learned from and
    looked up. Settings that a method can fit in one pass, such as ε and λ of FIPP, are.

    Parameters
    ----------
    source, target : Vectors, path, or array of shape (n, d1) and (m, d2)
        The whole vocabularies.
    lexicon : Lexicon, path or iterable of (str, str); with arrays, array of shape (c, 2) or None
        The known pairs: of words, or of row numbers. With arrays, None pairs row i with row i.
    method : {"fipp", "procrustes"} or aligner, default="fipp"
        Whose settings to choose.
    grid : dict of lists, optional
        The values to try of each setting. When left out, what the method declares as its ``default_grid``: for FIPP the
        published ε of 0.01 to 0.15 and λ of 0.25 to 1.25. ``"components"`` stands for the number of components that
        the preprocessing removes.
    components : sequence of int, optional
        Numbers of components to remove, beside the grid.
    holdout : float, optional
        Share of the source words to hold out; 0.2, as published, when neither this nor ``folds`` is given.
    folds : int, optional
        Divide the source words into so many parts instead, and hold out each in turn: as many times the work, and all
        words count.
    retrieval : {"cosine", "dot", "csls"}, default="cosine"
        How target words are ranked. For CSLS, 5,000 source words at most tell how crowded a place is, because every
        setting needs it anew.
    refit : bool, default=True
        Whether to fit the best settings on all pairs in the end.
    random_state : int, RandomState or None, default=0
        Which words are held out.
    max_memory : int or str, optional
        Working memory of the ranking; that of fitting is a setting of the method.
    progress : callable, optional
        Called as ``progress(done, total)``.
    **options
        Settings of the method that stay as they are.

    Returns
    -------
    Selection

    Notes
    -----
    The score of the best settings is the best of many and so a little too good. Report what a test dictionary says.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> grid = {"epsilon": [0.025, 0.05], "lam": [0.5, 1.0]}
    >>> selection = fipp.selection.select(demo.source, demo.target, demo.seed, grid=grid)
    >>> len(selection.table), sorted(selection.best_params)
    (4, ['epsilon', 'lam'])
    >>> selection.alignment.translate("water", k=1)[0].word
    'eau'
    """
    retrieval = check_retrieval(retrieval)
    parse_memory(max_memory)
    aligner = make_aligner(method, options)
    checked = check_grid(aligner, grid, components)
    settings = combinations(checked)
    words = isinstance(source, (Vectors, str, os.PathLike))
    if words:
        source, target, lexicon = as_vectors(source), as_vectors(target), as_lexicon(lexicon)  # type: ignore[arg-type]
        X, Y, pairs = source.matrix, target.matrix, lexicon.lookup(source, target).require().rows
    else:
        X, Y = as_matrix(source, "X"), as_matrix(target, "Y")  # type: ignore[arg-type]
        pairs = as_pairs(lexicon, len(X), len(Y))  # type: ignore[arg-type]

    parts = held_out_parts(pairs[:, 0], holdout, folds, random_state)
    together = batches(aligner, checked)
    steps = _Steps(progress, 2 * len(parts) * len(together) + int(refit))
    scored = [np.empty((len(settings), 0))]
    for part in parts:
        ranks = np.empty((len(settings), len(np.unique(pairs[part, 0]))))
        for batch in together:
            with warnings.catch_warnings():
                # Of settings that may not be chosen; those of the best come with the last fit.
                warnings.simplefilter("ignore", FippWarning)
                fitted = batch.aligner.fit_many(X, Y, pairs[~part], settings=batch.changed, progress=steps.next())
            ranks[list(batch.places)] = reciprocal_ranks(
                fitted, X, Y, pairs[part], retrieval=retrieval, max_memory=max_memory, progress=steps.next()
            )
        scored.append(ranks)
    table, best, defaults = _table(aligner, settings, np.concatenate(scored, axis=1))

    chosen: BaseAligner | None = None
    alignment: Alignment | None = None
    if refit:
        chosen = configure(aligner, table[best].params)
        if words:
            alignment = align(source, target, lexicon, chosen, progress=steps.next())  # type: ignore[arg-type]
            chosen = alignment.aligner
        else:
            chosen.fit(X, Y, pairs, progress=steps.next())
        steps.finish()
    selection = Selection(
        method=type(aligner).__name__,
        grid=checked,
        table=table,
        best=table[best],
        defaults=None if defaults is None else table[defaults],
        retrieval=retrieval,
        pairs=len(pairs),
        holdout=sum(ranks.shape[1] for ranks in scored),
        folds=None if folds is None else len(parts),
        aligner=chosen,
        alignment=alignment,
    )
    if alignment is not None:
        summary = selection.as_dict()
        alignment.scores["selection"] = {
            name: summary[name] for name in ("best_params", "best_score", "standard_error", "retrieval", "holdout")
        }
    return selection


def _table(
    aligner: BaseAligner, settings: list[dict[str, Any]], ranks: NDArray[np.float64]
) -> tuple[tuple[Trial, ...], int, int | None]:
    """Return all trials, the place of the best, and the place of the aligner's own settings if they are there."""
    # Rounded, so that the order of a sum decides nothing: equal ones are settled by how plain they are.
    means = ranks.mean(axis=1).round(12)
    distances = [distance_from(aligner, chosen) for chosen in settings]
    best = min(range(len(settings)), key=lambda place: (-means[place], distances[place], place))
    behind = ranks[best] - ranks
    scale = np.sqrt(ranks.shape[1])
    table = tuple(
        Trial(
            params=chosen,
            mrr=float(means[place]),
            standard_error=float(ranks[place].std(ddof=1) / scale),
            behind=float(means[best] - means[place]),
            behind_error=float(behind[place].std(ddof=1) / scale),
        )
        for place, chosen in enumerate(settings)
    )
    own = [place for place, chosen in enumerate(settings) if _is_own(aligner, chosen)]
    return table, best, own[0] if own else None


def _is_own(aligner: BaseAligner, chosen: dict[str, Any]) -> bool:
    def settings(configured: BaseAligner) -> dict[str, Any]:
        # "isotropic" and Isotropic() are the same, and two transformers are if they are written alike.
        found = {**configured.get_params(deep=False), "preprocess": make_preprocess(configured.preprocess)}
        return {name: repr(value) if hasattr(value, "fit") else value for name, value in found.items()}

    return settings(configure(aligner, chosen)) == settings(configure(aligner, {}))


class _Steps:
    """Makes one progress of many parts, each of which tells its own."""

    _SCALE = 100

    def __init__(self, progress: Progress | None, parts: int) -> None:
        self._progress, self._parts, self._begun, self._told = progress, parts, 0, -1

    def next(self) -> Progress:
        """Return the progress of the next part."""
        before, self._begun = self._begun, self._begun + 1
        self._tell(before * self._SCALE)
        return lambda done, total: self._tell(int((before + done / max(total, 1)) * self._SCALE))

    def finish(self) -> None:
        """Tell that everything is done."""
        self._tell(self._parts * self._SCALE)

    def _tell(self, reached: int) -> None:
        # A part may pass over its work several times; what is done stays done.
        if self._progress is not None and reached > self._told:
            self._told = reached
            self._progress(reached, self._parts * self._SCALE)
