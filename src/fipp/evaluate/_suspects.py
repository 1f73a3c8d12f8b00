"""Pairs of a dictionary that look wrong, and an estimate of how many are."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from fipp.aligners import NOISY, pair_cosines
from fipp.io import Lexicon, Vectors, atomic_path


@dataclass(frozen=True, eq=False)
class Suspects:
    """The suspicious pairs of a dictionary.

    Attributes
    ----------
    lexicon : Lexicon
        The suspicious pairs, worst first. Their scores are the cosines under a map learned without them.
    n_pairs : int
        The number of pairs that were judged: those with vectors on both sides.
    wrong_share : float
        An estimate of the share of wrong pairs among these. Fewer or more may be suspicious: some right pairs are rare
        or loose translations, and some wrong ones are near each other by chance.
    """

    lexicon: Lexicon
    n_pairs: int
    wrong_share: float

    @property
    def noisy(self) -> bool:
        """Whether more pairs seem to be wrong than in a usual dictionary."""
        return self.wrong_share >= NOISY

    def summary(self) -> str:
        """Return one line about the dictionary."""
        share, listed = f"{100 * self.wrong_share:.0f} %", f"{len(self.lexicon):,} of {self.n_pairs:,} pairs"
        return f"about {share} of the pairs seem wrong; {listed} are no nearer than words paired by chance"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pairs with their cosines, worst first; the file is empty if there are none."""
        if len(self.lexicon):
            self.lexicon.save(path)
        else:
            with atomic_path(path):
                pass  # so that no file of an earlier run is taken for the answer


def suspects(source: Vectors, target: Vectors, lexicon: Lexicon) -> Suspects:
    """Find the pairs of a dictionary that look wrong.

    Ten times, a spectral map is learned without a tenth of the source words. Their pairs are suspicious if they are no
    nearer to each other than words that are paired by chance: the cosine is below the 95 % quantile of chance. Half of
    all wrong pairs and hardly any right ones are below its median, which tells how many pairs are wrong.

    Parameters
    ----------
    source, target : Vectors
        The two vocabularies.
    lexicon : Lexicon
        The dictionary, with at least 100 source words that have vectors.

    Returns
    -------
    Suspects

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> found = fipp.evaluate.suspects(demo.source, demo.target, demo.seed + fipp.Lexicon([("water", "chien")]))
    >>> found.noisy, ("water", "chien") in set(found.lexicon)
    (False, True)
    """
    lookup = lexicon.lookup(source, target).require()
    found = pair_cosines(source.matrix, target.matrix, lookup.rows)
    worst = np.argsort(found.cosines, kind="stable")
    worst = worst[found.suspicious[worst]]
    words = list(lexicon)
    named = [words[place] for place in lookup.pairs_found[worst]]
    return Suspects(Lexicon(named, found.cosines[worst].astype(float).round(4)), len(lookup.rows), found.wrong_share)
