"""What came of choosing settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fipp.aligners import BaseAligner

if TYPE_CHECKING:
    from fipp import Alignment

_SHOWN = 5


@dataclass(frozen=True)
class Trial:
    """One combination of settings and how it did on held-out pairs.

    Attributes
    ----------
    params : dict
        The settings.
    mrr : float
        Mean reciprocal rank over the held-out source words.
    standard_error : float
        Of ``mrr``, over the words.
    behind : float
        How much lower ``mrr`` is than that of the best settings.
    behind_error : float
        Standard error of ``behind``. All settings are tried on the same words, so that this is much smaller than
        ``standard_error``, and it is the one that tells whether a difference means anything.

    Examples
    --------
    >>> Trial({"lam": 1.0}, 0.5, 0.02, 0.001, 0.002).within_error
    True
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
        """Return settings and scores as JSON can hold them.

        Examples
        --------
        >>> Trial({"lam": 1.0}, 0.5, 0.02, 0.0, 0.0).as_dict()["params"]
        {'lam': 1.0}
        """
        return {
            "params": plain(self.params),
            "mrr": self.mrr,
            "standard_error": self.standard_error,
            "behind": self.behind,
            "behind_error": self.behind_error,
        }


@dataclass(frozen=True, eq=False)
class Selection:
    """The settings that did best on held-out pairs, and all that were tried.

    Attributes
    ----------
    method : str
        Name of the aligner's class.
    grid : dict
        The values tried of each setting.
    table : tuple of Trial
        Every combination, in the order of the grid, the last setting changing fastest.
    best : Trial
        The one with the highest mean reciprocal rank; of equal ones that nearest to the defaults.
    defaults : Trial or None
        The one with the aligner's own settings, if it is in the grid.
    retrieval : str
        How target words were ranked.
    pairs : int
        Seed pairs altogether.
    holdout : int
        Source words that were held out, each once.
    folds : int or None
        In how many parts; None if one part was held out once.
    aligner : aligner or None
        With the best settings, fitted on all pairs; None without ``refit``.
    alignment : Alignment or None
        The same with the words of both sides, if words were given.
    """

    method: str
    grid: dict[str, list[Any]]
    table: tuple[Trial, ...]
    best: Trial
    defaults: Trial | None
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
        """Mean reciprocal rank of the best settings: as the best of several it flatters a little."""
        return self.best.mrr

    @property
    def note(self) -> str:
        """Say how sure the choice is."""
        others = [trial for trial in self.table if trial is not self.best]
        if not others:
            return "There was nothing to choose between."
        near = [trial for trial in others if trial.within_error]
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
            "best_params": plain(self.best_params),
            "best_score": self.best_score,
            "standard_error": self.best.standard_error,
            "defaults": None if self.defaults is None else self.defaults.as_dict(),
            "retrieval": self.retrieval,
            "pairs": self.pairs,
            "holdout": self.holdout,
            "folds": self.folds,
            "note": self.note,
            "table": [trial.as_dict() for trial in self.table],
        }

    def __str__(self) -> str:
        parts = "" if self.folds is None else f" in {self.folds} folds"
        lines = [
            f"{self.method}: {len(self.table)} settings tried on {self.holdout:,} held-out source words{parts} "
            f"({self.pairs:,} pairs), by {self.retrieval}"
        ]
        ranked = sorted(self.table, key=lambda trial: (trial is not self.best, -trial.mrr))
        lines += [f"  MRR {t.mrr:.4f} ± {t.standard_error:.4f}  {describe(t.params)}" for t in ranked[:_SHOWN]]
        if len(ranked) > _SHOWN:
            lines.append(f"  … down to {ranked[-1].mrr:.4f}")
        return "\n".join([*lines, self.note])


def plain(params: dict[str, Any]) -> dict[str, Any]:
    """Return settings as JSON can hold them; a transformer is named as Python would write it.

    Examples
    --------
    >>> from fipp.preprocess import Isotropic
    >>> plain({"epsilon": None, "preprocess": Isotropic(2)})
    {'epsilon': None, 'preprocess': 'Isotropic(n_components=2)'}
    """
    as_it_is = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, as_it_is) else " ".join(str(value).split()) for name, value in params.items()
    }


def describe(params: dict[str, Any]) -> str:
    """Name settings in one line.

    Examples
    --------
    >>> describe({"epsilon": 0.05, "lam": 1.0})
    'epsilon 0.05, lam 1'
    """
    return ", ".join(f"{name} {show_value(value)}" for name, value in params.items())


def show_value(value: Any) -> str:
    """Write the value of a setting in few letters.

    Examples
    --------
    >>> show_value(1.0), show_value(None)
    ('1', 'none')
    """
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
