"""Choosing settings: fit on some of the seed pairs, look the others up, and take the settings that find most."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._align import align
from fipp._alignment import Alignment
from fipp._inputs import LexiconLike, VectorsLike, as_lexicon, as_vectors, make_aligner
from fipp._progress import Progress, Steps
from fipp._validation import as_matrix, as_pairs
from fipp.aligners import BaseAligner, held_out_parts, reciprocal_ranks
from fipp.exceptions import FippWarning
from fipp.experiments._grid import (
    Grid,
    batches,
    check_grid,
    combinations,
    configure,
    distance_from,
    format_settings,
    is_own,
    plain_settings,
)
from fipp.linalg import parse_memory
from fipp.retrieve import check_retrieval

_SHOWN = 5
_KEPT = ("best_params", "best_score", "standard_error", "retrieval", "holdout")


@dataclass(frozen=True)
class SettingScore:
    """One combination of settings and its score on held-out pairs.

    Attributes
    ----------
    params : dict
        The settings.
    mrr : float
        Mean reciprocal rank over the held-out source words.
    standard_error : float
        Standard error of ``mrr`` over the words.
    behind : float
        How much lower ``mrr`` is than that of the best settings.
    behind_error : float
        Standard error of ``behind``. All settings are tried on the same words, so this is much smaller than
        ``standard_error``, and it decides whether a difference means anything.
    """

    params: dict[str, Any]
    mrr: float
    standard_error: float
    behind: float
    behind_error: float

    @property
    def within_error(self) -> bool:
        """Whether it is behind the best by no more than the standard error of the difference."""
        return self.behind <= self.behind_error

    def as_dict(self) -> dict[str, Any]:
        """Return settings and scores as JSON can hold them."""
        return {**asdict(self), "params": plain_settings(self.params)}


@dataclass(frozen=True, eq=False)
class Tuning:
    """The settings that scored best on held-out pairs, and all that were tried.

    Attributes
    ----------
    method : str
        Name of the aligner's class.
    grid : dict
        The values tried of each setting.
    table : tuple of SettingScore
        Every combination, in the order of the grid; the last setting changes fastest.
    best : SettingScore
        The one with the highest mean reciprocal rank; of equal ones, that nearest to the defaults.
    defaults : SettingScore or None
        The one with the aligner's own settings, if it is in the grid.
    retrieval : str
        How target words were ranked.
    pairs : int
        Number of all seed pairs.
    holdout : int
        Number of source words that were held out, each once.
    folds : int or None
        Into how many parts they were divided; None if one part was held out once.
    aligner : aligner or None
        The best settings, fitted on all pairs; None without ``refit``.
    alignment : Alignment or None
        The same with the words of both sides, if words were given.
    """

    method: str
    grid: dict[str, list[Any]]
    table: tuple[SettingScore, ...]
    best: SettingScore
    defaults: SettingScore | None
    retrieval: str
    pairs: int
    holdout: int
    folds: int | None
    aligner: BaseAligner | None = field(default=None, repr=False)
    alignment: Alignment | None = field(default=None, repr=False)

    @property
    def best_params(self) -> dict[str, Any]:
        """The best settings, by their names in the grid."""
        return dict(self.best.params)

    @property
    def best_score(self) -> float:
        """Mean reciprocal rank of the best settings. As the best of several it is a little too high."""
        return self.best.mrr

    @property
    def note(self) -> str:
        """How certain the choice is, in a sentence."""
        others = [score for score in self.table if score is not self.best]
        if not others:
            return "There was nothing to choose between."
        near = [score for score in others if score.within_error]
        if not near:
            return "No other setting is within one standard error of the best."
        which = ""
        if self.defaults is not None and self.defaults is not self.best:
            which = ", the defaults among them" if self.defaults.within_error else ", but not the defaults"
        are = "setting is" if len(others) == 1 else "settings are"
        return (
            f"{len(near)} of {len(others)} other {are} within one standard error of the best{which}: "
            "between those the choice may be chance."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the fitted aligner as JSON can hold it."""
        return {
            "method": self.method,
            "best_params": plain_settings(self.best_params),
            "best_score": self.best_score,
            "standard_error": self.best.standard_error,
            "defaults": None if self.defaults is None else self.defaults.as_dict(),
            "retrieval": self.retrieval,
            "pairs": self.pairs,
            "holdout": self.holdout,
            "folds": self.folds,
            "note": self.note,
            "table": [score.as_dict() for score in self.table],
        }

    def __str__(self) -> str:
        parts = "" if self.folds is None else f" in {self.folds} folds"
        lines = [
            f"{self.method}: {len(self.table)} settings tried on {self.holdout:,} held-out source words{parts} "
            f"({self.pairs:,} pairs), by {self.retrieval}"
        ]
        ranked = sorted(self.table, key=lambda score: (score is not self.best, -score.mrr))
        lines += [f"  MRR {s.mrr:.4f} ± {s.standard_error:.4f}  {format_settings(s.params)}" for s in ranked[:_SHOWN]]
        if len(ranked) > _SHOWN:
            lines.append(f"  … down to {ranked[-1].mrr:.4f}")
        return "\n".join([*lines, self.note])


def tune(
    source: VectorsLike,
    target: VectorsLike,
    lexicon: LexiconLike,
    method: str | BaseAligner = "fipp",
    *,
    refit: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Tuning:
    """Choose the settings of a method on held-out pairs of words.

    Every combination of the grid is fitted on one part of the seed pairs; the source words of the others are mapped,
    and the whole target vocabulary is ranked for each. Source words are divided, so that none is both learned from and
    looked up. Settings that a method can fit in one pass, such as ε and λ of FIPP, are fitted in one pass.

    Parameters
    ----------
    source, target : Vectors or path
        The whole vocabularies.
    lexicon : Lexicon, path or iterable of (str, str)
        The known pairs.
    method : str or aligner, default="fipp"
        The method whose settings to choose.
    refit : bool, default=True
        Whether to fit the best settings on all pairs at the end.
    progress : callable, optional
        Called as ``progress(done, total)``.
    **options
        What to try, what to hold out, and settings of the method that stay as they are:

        - ``grid``, dict of lists: the values to try of each setting. By default those that the method declares as its
          ``default_grid``: for FIPP the published ε of 0.01 to 0.15 and λ of 0.25 to 1.25. ``"components"`` stands for
          the number of components that the preprocessing removes.
        - ``components``, sequence of int: numbers of components to remove, in addition to the grid.
        - ``holdout``, float: share of the source words to hold out; 0.2, as published, if neither this nor ``folds`` is
          given.
        - ``folds``, int: divide the source words into this many parts and hold out each in turn. That takes as many
          times longer, and all words count.
        - ``retrieval``, "cosine" (default), "dot" or "csls": how target words are ranked. CSLS estimates hubs from
          5,000 source words at most, because every setting needs its own estimate.
        - ``random_state``, int, RandomState or None (default 0): which words are held out.
        - ``max_memory``, int or str: working memory of the ranking; that of fitting is a setting of the method.

    Returns
    -------
    Tuning
        With ``refit``, its ``alignment`` has the best settings and is fitted on all pairs.

    Notes
    -----
    The score of the best settings is the best of many and so a little too high. Report the score on a test dictionary.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> grid = {"epsilon": [0.025, 0.05], "lam": [0.5, 1.0]}
    >>> tuning = fipp.tune(demo.source, demo.target, demo.seed, grid=grid)
    >>> len(tuning.table), sorted(tuning.best_params)
    (4, ['epsilon', 'lam'])
    >>> tuning.alignment.translate("water", k=1)[0].word
    'eau'
    """
    source, target, lexicon = as_vectors(source), as_vectors(target), as_lexicon(lexicon)
    pairs = lexicon.lookup(source, target).require().rows
    tuning, chosen, steps = _choose(source.matrix, target.matrix, pairs, method, int(refit), progress, **options)
    if not refit:
        return tuning
    alignment = align(source, target, lexicon, chosen, progress=steps.part())
    steps.finish()
    summary = tuning.as_dict()
    alignment.scores["tuning"] = {name: summary[name] for name in _KEPT}
    return replace(tuning, aligner=alignment.aligner, alignment=alignment)


def tune_arrays(
    X: ArrayLike,
    Y: ArrayLike,
    pairs: ArrayLike | None = None,
    method: str | BaseAligner = "fipp",
    *,
    refit: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Tuning:
    """Choose the settings of a method on held-out pairs of rows.

    Parameters
    ----------
    X, Y : array of shape (n, d1) and (m, d2)
        The whole vocabularies.
    pairs : array of shape (c, 2), optional
        Row numbers of the known pairs; None pairs row i with row i.
    method, refit, progress, **options
        As for `tune`.

    Returns
    -------
    Tuning
        With ``refit``, its ``aligner`` has the best settings and is fitted on all pairs.

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((100, 5))
    >>> tune_arrays(Y[:, ::-1], Y, method="procrustes", folds=2).best_score
    1.0
    """
    X, Y = as_matrix(X, "X"), as_matrix(Y, "Y")
    rows = as_pairs(pairs, len(X), len(Y))
    tuning, chosen, steps = _choose(X, Y, rows, method, int(refit), progress, **options)
    if not refit:
        return tuning
    chosen.fit(X, Y, rows, progress=steps.part())
    steps.finish()
    return replace(tuning, aligner=chosen)


def _choose(
    X: NDArray[Any],
    Y: NDArray[Any],
    pairs: NDArray[np.int64],
    method: str | BaseAligner,
    n_further_steps: int,
    progress: Progress | None,
    *,
    grid: Grid | None = None,
    components: Sequence[int] | None = None,
    holdout: float | None = None,
    folds: int | None = None,
    retrieval: str = "cosine",
    random_state: int | np.random.RandomState | None = 0,
    max_memory: int | str | None = None,
    **settings: Any,
) -> tuple[Tuning, BaseAligner, Steps]:
    """Score all settings; return the scores, an aligner with the best settings, and the steps that are left."""
    retrieval = check_retrieval(retrieval)
    parse_memory(max_memory)
    aligner = make_aligner(method, settings)
    checked = check_grid(aligner, grid, components)
    parts = held_out_parts(pairs[:, 0], holdout, folds, random_state)
    groups = batches(aligner, checked)
    steps = Steps(progress, 1 + 2 * len(parts) * len(groups) + n_further_steps)
    steps()
    scored = []
    for part in parts:
        ranks = np.empty((sum(len(batch.places) for batch in groups), len(np.unique(pairs[part, 0]))))
        for batch in groups:
            with warnings.catch_warnings():
                # Ignore warnings from settings that may not be chosen; the last fit repeats those of the best.
                warnings.simplefilter("ignore", FippWarning)
                fitted = batch.aligner.fit_many(X, Y, pairs[~part], settings=batch.changed, progress=steps.part())
            ranks[list(batch.places)] = reciprocal_ranks(
                fitted, X, Y, pairs[part], retrieval=retrieval, max_memory=max_memory, progress=steps.part()
            )
        scored.append(ranks)
    ranks = np.concatenate(scored, axis=1)
    table, best = _scores(aligner, combinations(checked), ranks)
    tuning = Tuning(
        method=type(aligner).__name__,
        grid=checked,
        table=table,
        best=best,
        defaults=next((score for score in table if is_own(aligner, score.params)), None),
        retrieval=retrieval,
        pairs=len(pairs),
        holdout=ranks.shape[1],
        folds=None if folds is None else len(parts),
    )
    return tuning, configure(aligner, best.params), steps


def _scores(
    aligner: BaseAligner, settings: list[dict[str, Any]], ranks: NDArray[np.float64]
) -> tuple[tuple[SettingScore, ...], SettingScore]:
    """Return the scores of all settings and the best of them, from reciprocal ranks of shape (settings, words)."""
    # Rounded, so that the order of a sum decides nothing; of equal settings the plainest is taken.
    means = ranks.mean(axis=1).round(12)
    distances = [distance_from(aligner, chosen) for chosen in settings]
    best = min(range(len(settings)), key=lambda place: (-means[place], distances[place], place))
    errors, behind_errors = (
        each.std(axis=1, ddof=1) / np.sqrt(ranks.shape[1]) for each in (ranks, ranks[best] - ranks)
    )
    table = tuple(
        SettingScore(chosen, *map(float, figures))
        for chosen, *figures in zip(settings, means, errors, means[best] - means, behind_errors, strict=True)
    )
    return table, table[best]
