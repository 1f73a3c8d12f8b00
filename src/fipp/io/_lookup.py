"""Which pairs of a lexicon two vocabularies contain, and in which rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._report import counted, quoted
from fipp.io._vectors import Vectors

_EXAMPLES = 5
# Related languages share spellings, so some pairs are found even in a reversed lexicon.
_LOW_COVERAGE = 0.5


@dataclass(frozen=True, eq=False)
class Lookup:
    """The rows of the pairs found in both vocabularies, and an account of those not found.

    Attributes
    ----------
    rows : ndarray of int64 of shape (c, 2)
        Source row and target row of each pair found, without duplicates.
    pairs_found : ndarray of int64 of shape (c,)
        The place in the lexicon of each row of ``rows``.
    lines, line_rows : ndarray of int64 of shape (found,) and (found, 2)
        The place in the lexicon, and source and target row, of every pair found, including duplicates.
    total, found : int
        The number of pairs in the lexicon, and of pairs with both words found, which is ``c + duplicates``.
    duplicates : int
        The number of pairs found that lead to the same two rows as an earlier one.
    missing_source, missing_target : int
        The number of pairs whose source word, or whose target word, is not in its vocabulary.
    missing_source_examples, missing_target_examples : tuple of str
        A few of those words.
    reversed_coverage : float or None
        The coverage of the reversed lexicon, if coverage is low and reversing would clearly raise it.

    Examples
    --------
    >>> from fipp.io import Lexicon
    >>> english = Vectors(["cat", "dog"], [[1.0], [2.0]])
    >>> croatian = Vectors(["pas", "mačka"], [[1.0], [2.0]])
    >>> lookup = Lexicon([("Dog", "pas"), ("cow", "krava")]).lookup(english, croatian)
    >>> lookup.rows, lookup.coverage, lookup.missing_target_examples
    (array([[1, 0]]), 0.5, ('krava',))
    """

    rows: npt.NDArray[np.int64]
    pairs_found: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int64]
    line_rows: npt.NDArray[np.int64]
    total: int
    found: int
    duplicates: int
    missing_source: int
    missing_target: int
    missing_source_examples: tuple[str, ...]
    missing_target_examples: tuple[str, ...]
    reversed_coverage: float | None = None

    @property
    def coverage(self) -> float:
        """The share of the lexicon's pairs that were found on both sides."""
        return self.found / self.total if self.total else 0.0

    def summary(self) -> str:
        """Return one line: how many pairs were found, and a few words that were not.

        Examples
        --------
        >>> from fipp.io import Lexicon
        >>> vectors = Vectors(["cat"], [[1.0]])
        >>> print(Lexicon([("cat", "cat"), ("cat", "pas")]).lookup(vectors, vectors).summary())
        1 of 2 pairs found (50 %); not in the target: 1, such as 'pas'
        """
        parts = [f"{self.found:,} of {counted(self.total, 'pair')} found ({_percent(self.coverage)})"]
        if self.duplicates:
            parts.append(f"{counted(self.duplicates, 'duplicate')} left out")
        for side, number in [("source", self.missing_source), ("target", self.missing_target)]:
            if number:
                parts.append(f"not in the {side}: {number:,}, such as {self._examples(side)}")
        return "; ".join(parts)

    def _examples(self, side: str) -> str:
        words = self.missing_source_examples if side == "source" else self.missing_target_examples
        return ", ".join(map(quoted, words))

    def hint(self) -> str | None:
        """Return what may be wrong if few pairs were found; None if no cause is known."""
        if self.reversed_coverage is None:
            return None
        return (
            f"only {_percent(self.coverage)} of the pairs were found; the other way round it would be "
            f"{_percent(self.reversed_coverage)}: is the dictionary target-source? "
            "Lexicon.reverse() or --reverse-dict turns it"
        )

    def require(self) -> Lookup:
        """Return this lookup if it found a pair; otherwise raise a FippError that explains why it did not.

        Examples
        --------
        >>> from fipp.io import Lexicon
        >>> vectors = Vectors(["cat"], [[1.0]])
        >>> Lexicon([("dog", "pas")]).lookup(vectors, vectors).require()
        Traceback (most recent call last):
        fipp.exceptions.FippError: none of the 1 pairs of the dictionary was found in both vocabularies; not in the
        source: 'dog'; not in the target: 'pas'
        """
        if self.found:
            return self
        message = f"none of the {self.total:,} pairs of the dictionary was found in both vocabularies"
        for side in ("source", "target"):
            if examples := self._examples(side):
                message += f"; not in the {side}: {examples}"
        hint = self.hint()
        raise FippError(f"{message}. Hint: {hint}" if hint else message)


def look_up(pairs: Sequence[tuple[str, str]], source: Vectors, target: Vectors) -> Lookup:
    """Find the rows of pairs of words; see `Lexicon.lookup`."""
    source_words = [pair[0] for pair in pairs]
    target_words = [pair[1] for pair in pairs]
    rows = np.stack([source.find(source_words), target.find(target_words)], axis=1)
    lines = np.flatnonzero((rows >= 0).all(axis=1))
    found = len(lines)
    # Keep the first of equal row pairs, in the order of the lexicon.
    _, first = np.unique(rows[lines], axis=0, return_index=True)
    places = lines[np.sort(first)]
    missing_source, missing_target = rows[:, 0] < 0, rows[:, 1] < 0
    return Lookup(
        rows=rows[places],
        pairs_found=places.astype(np.int64),
        lines=lines.astype(np.int64),
        line_rows=rows[lines],
        total=len(pairs),
        found=found,
        duplicates=found - len(places),
        missing_source=int(missing_source.sum()),
        missing_target=int(missing_target.sum()),
        missing_source_examples=_examples(source_words, missing_source),
        missing_target_examples=_examples(target_words, missing_target),
        reversed_coverage=_better_reversed(source_words, target_words, source, target, found),
    )


def _better_reversed(
    source_words: list[str], target_words: list[str], source: Vectors, target: Vectors, found: int
) -> float | None:
    total = len(source_words)
    if found >= _LOW_COVERAGE * total:
        return None
    other = int(((source.find(target_words) >= 0) & (target.find(source_words) >= 0)).sum())
    return other / total if other >= max(1, 3 * found) else None


def _examples(words: list[str], missing: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    distinct = dict.fromkeys(words[place] for place in np.flatnonzero(missing).tolist())
    return tuple(distinct)[:_EXAMPLES]


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1g} %"
