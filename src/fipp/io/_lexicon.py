"""Pairs of words that translate each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fipp._progress import Progress
from fipp.exceptions import FippError
from fipp.io._lexicon_file import read_lexicon, write_lexicon, write_lexicons
from fipp.io._lookup import Lookup, look_up
from fipp.io._report import LoadReport
from fipp.io._table import fold
from fipp.io._vectors import Vectors
from fipp.io.seeds import cldr_names, cognate_words, equal_numerals, identical_words

Vocabulary = Vectors | Iterable[str]
"""Words in order of frequency: those of vectors, or a plain list."""


class Lexicon:
    """An ordered list of word pairs: a word of the source, a word of the target.

    Parameters
    ----------
    pairs : iterable of (str, str)
        The pairs. A word may occur in several.
    scores : array-like of float, optional
        How reliable each pair is, NaN where unknown. Higher is better; the scale is up to you.

    Attributes
    ----------
    pairs : list of (str, str)
        The pairs in order.
    scores : ndarray of float64 or None
        The scores in the order of the pairs.
    report : LoadReport or None
        What was skipped or repaired when the lexicon was read from a file.
    coverage : Lookup or None
        What `filter` found and did not find, if this lexicon comes from it.

    Examples
    --------
    >>> lexicon = Lexicon([("cat", "mačka"), ("dog", "pas")])
    >>> lexicon
    Lexicon(2 pairs)
    >>> list(lexicon.reverse())
    [('mačka', 'cat'), ('pas', 'dog')]
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], scores: npt.ArrayLike | None = None) -> None:
        self.pairs = [_as_pair(pair, place) for place, pair in enumerate(pairs)]
        self.scores = None if scores is None else _as_scores(scores, len(self.pairs))
        self.report: LoadReport | None = None
        self.coverage: Lookup | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return f"Lexicon({len(self)} pairs{'' if self.scores is None else ' with scores'})"

    def __add__(self, other: object) -> Lexicon:
        return self.merge(other) if isinstance(other, Lexicon) else NotImplemented

    def _take(self, places: Iterable[int] | npt.NDArray[np.int64]) -> Lexicon:
        numbers = np.fromiter(places, dtype=np.int64)
        return Lexicon(
            [self.pairs[place] for place in numbers.tolist()], None if self.scores is None else self.scores[numbers]
        )

    def reverse(self) -> Lexicon:
        """Return the lexicon from target to source.

        Examples
        --------
        >>> Lexicon([("cat", "mačka")]).reverse().pairs
        [('mačka', 'cat')]
        """
        return Lexicon([(target, source) for source, target in self.pairs], self.scores)

    def head(self, count: int) -> Lexicon:
        """Return the first ``count`` pairs.

        Examples
        --------
        >>> Lexicon([("cat", "mačka"), ("dog", "pas")]).head(1).pairs
        [('cat', 'mačka')]
        """
        if count < 0:
            raise FippError(f"head takes a number of pairs, not {count}")
        return self._take(range(min(count, len(self))))

    def at_least(self, score: float) -> Lexicon:
        """Return the pairs with at least this score; pairs without a score are left out.

        Examples
        --------
        >>> Lexicon([("cat", "mačka"), ("cat", "pas")], scores=[0.9, 0.1]).at_least(0.5).pairs
        [('cat', 'mačka')]
        """
        if self.scores is None:
            raise FippError("this lexicon has no scores to choose by")
        return self._take(np.flatnonzero(self.scores >= score))

    def unique(self) -> Lexicon:
        """Return each pair once, with its first score.

        Examples
        --------
        >>> Lexicon([("cat", "mačka"), ("dog", "pas"), ("cat", "mačka")]).unique().pairs
        [('cat', 'mačka'), ('dog', 'pas')]
        """
        first: dict[tuple[str, str], int] = {}
        for place, pair in enumerate(self.pairs):
            first.setdefault(pair, place)
        return self._take(first.values())

    def merge(self, *others: Lexicon) -> Lexicon:
        """Return the pairs of this lexicon and then those of others, each pair once; ``a + b`` is ``a.merge(b)``.

        Examples
        --------
        >>> (Lexicon([("cat", "mačka")]) + Lexicon([("dog", "pas"), ("cat", "mačka")])).pairs
        [('cat', 'mačka'), ('dog', 'pas')]
        """
        parts = (self, *others)
        pairs = [pair for part in parts for pair in part.pairs]
        if all(part.scores is None for part in parts):
            return Lexicon(pairs).unique()
        scores = [np.full(len(part), np.nan) if part.scores is None else part.scores for part in parts]
        return Lexicon(pairs, np.concatenate(scores)).unique()

    def filter(self, source: Vectors, target: Vectors) -> Lexicon:
        """Return the pairs that two vocabularies contain, in any case; ``coverage`` of the result counts the others.

        Pairs that lead to the same two rows as an earlier pair are left out.

        Examples
        --------
        >>> english, croatian = Vectors(["cat"], [[1.0]]), Vectors(["mačka"], [[1.0]])
        >>> found = Lexicon([("Cat", "mačka"), ("dog", "pas")]).filter(english, croatian)
        >>> found.pairs
        [('Cat', 'mačka')]
        >>> print(found.coverage.summary())
        1 of 2 pairs found (50 %); not in the source: 1, such as 'dog'; not in the target: 1, such as 'pas'
        """
        lookup = self.lookup(source, target)
        found = self._take(lookup.pairs_found)
        found.coverage = lookup
        return found

    def split(self, size: float | int, random_state: int | np.random.Generator | None = 0) -> tuple[Lexicon, Lexicon]:
        """Split the lexicon at random so that no source word, in any case, is in both parts.

        Parameters
        ----------
        size : float or int
            The distinct source words of the first part: a share between 0 and 1, or a number.
        random_state : int, numpy Generator or None, default=0
            The seed of the split; None gives a different split each time.

        Returns
        -------
        chosen, rest : Lexicon
            The two parts, in the order of this lexicon.

        Examples
        --------
        >>> lexicon = Lexicon([("cat", "mačka"), ("cat", "mačak"), ("dog", "pas"), ("cow", "krava")])
        >>> train, test = lexicon.split(2, random_state=1)
        >>> {source for source, _ in train} & {source for source, _ in test}
        set()
        """
        groups = list(dict.fromkeys(fold(source) for source, _ in self.pairs))
        count = round(size * len(groups)) if isinstance(size, float) else int(size)
        if not 0 < count < len(groups):
            raise FippError(
                f"cannot split {len(groups):,} source words into {count:,} and the rest: both parts need at least one"
            )
        order = np.random.default_rng(random_state).permutation(len(groups))
        chosen = {groups[place] for place in order[:count].tolist()}
        is_chosen = np.array([fold(source) in chosen for source, _ in self.pairs])
        return self._take(np.flatnonzero(is_chosen)), self._take(np.flatnonzero(~is_chosen))

    def lookup(self, source: Vectors, target: Vectors) -> Lookup:
        """Find the rows of the pairs in two vocabularies, whatever the case of the words.

        Examples
        --------
        >>> english = Vectors(["paris"], [[1.0]])
        >>> croatian = Vectors(["pariz"], [[1.0]])
        >>> Lexicon([("Paris", "Pariz")]).lookup(english, croatian).rows
        array([[0, 0]])
        """
        return look_up(self.pairs, source, target)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        strict: bool = False,
        *,
        alternatives: str | None = None,
        min_score: float | None = None,
        max_bytes: int | float | str | None = None,
    ) -> Lexicon:
        r"""Read a file with one pair per line: the source word, the target word, and perhaps a score.

        The separator is detected: a tab if at least half of the lines have one; a comma or a semicolon in a ``.csv``
        file (with its quotes), or if it splits every line of another file into the same number of columns; otherwise
        white space, as in the files of MUSE. Words may contain spaces unless white space is the separator.

        If every value in the third column is a number, they become the ``scores``; further columns are ignored. With
        white space, every line must be two words, or every line two words and a number.

        The first line is a header if it says so (``source, target``; ``word, translation``) or has a word above a
        column of numbers. Blank lines are skipped, and so are comments: lines that begin with ``# `` and are not a
        pair. ``#`` alone can be a word. The file may be gzipped.

        Parameters
        ----------
        path : str or path-like
            The file.
        strict : bool, default=False
            Refuse a file with a malformed line; otherwise such lines are skipped and counted in ``report``.
        alternatives : str, optional
            Characters that separate several translations of one word: with ``",;"``, the line ``cat<TAB>a, b; c`` has
            three pairs. If the separator of the columns is among them, every column but the first holds translations.
            By default nothing is split, because a comma may belong to a word.
        min_score : float, optional
            Leave out pairs with a lower score or none.
        max_bytes : int or str, optional
            Refuse a file that takes more memory than this, as in `Vectors.load`.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "en-hr.txt")
        >>> _ = path.write_text("cat\tma\u010dka\t0.9\ndog\tpas\ncow\n", encoding="utf-8")
        >>> lexicon = Lexicon.load(path)
        >>> lexicon.pairs, lexicon.scores
        ([('cat', 'mačka'), ('dog', 'pas')], array([0.9, nan]))
        >>> print(lexicon.report.summary())
        en-hr.txt: 2 pairs; skipped 1 malformed line (line 3, 'cow', 1 field)
        """
        contents = read_lexicon(Path(path), strict=strict, alternatives=alternatives, max_bytes=max_bytes)
        lexicon = cls(contents.pairs, contents.scores)
        if min_score is not None:
            if contents.scores is None:
                raise FippError(f"{path} has no scores: its third column is not there, or is not all numbers")
            lexicon = lexicon.at_least(min_score)
            if not len(lexicon):
                raise FippError(f"none of the {len(contents.pairs):,} pairs of {path} has a score of {min_score:g}")
        lexicon.report = contents.report
        return lexicon

    def save(self, path: str | os.PathLike[str]) -> None:
        r"""Write the pairs, separated by tabs, or by commas in a ``.csv`` file; a ``.gz`` file is compressed.

        Scores become a third column.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "en-hr.tsv")
        >>> Lexicon([("New York", "Njujork")], scores=[0.5]).save(path)
        >>> path.read_text()
        'New York\tNjujork\t0.5\n'
        """
        write_lexicon(self.pairs, self.scores, Path(path))

    def save_with(self, path: str | os.PathLike[str], rest: Lexicon, rest_path: str | os.PathLike[str]) -> None:
        """Write this lexicon and another, such as the parts of a split, as `save` does: both or neither.

        If one of the two cannot be written, the old files stay, so that a new seed is never beside an old test
        dictionary that has pairs of it.

        Parameters
        ----------
        path : path-like
            The file for this lexicon.
        rest : Lexicon
            The other lexicon.
        rest_path : path-like
            The file for it.

        Examples
        --------
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> seed, test = Lexicon([("cat", "mačka"), ("dog", "pas"), ("cow", "krava")]).split(2)
        >>> seed.save_with(folder / "seed.tsv", test, folder / "test.tsv")
        >>> len(Lexicon.load(folder / "seed.tsv")), len(Lexicon.load(folder / "test.tsv"))
        (2, 1)
        """
        write_lexicons((self.pairs, self.scores, Path(path)), (rest.pairs, rest.scores, Path(rest_path)))

    @classmethod
    def identical(
        cls, source: Vocabulary, target: Vocabulary, *, min_length: int = 1, numerals: bool = True
    ) -> Lexicon:
        """Pair the words that both vocabularies contain, in the order of the source.

        Parameters
        ----------
        source, target : Vectors or iterable of str
            The vocabularies.
        min_length : int, default=1
            Leave out shorter words, which are most often alike by chance.
        numerals : bool, default=True
            Whether to include numerals.

        Examples
        --------
        >>> Lexicon.identical(["radio", "cat", "7"], ["7", "radio"]).pairs
        [('radio', 'radio'), ('7', '7')]
        """
        return cls(identical_words(source, target, min_length=min_length, numerals=numerals))

    @classmethod
    def numerals(cls, source: Vocabulary, target: Vocabulary) -> Lexicon:
        """Pair equal numerals, whatever the script of their digits, in the order of the source.

        Numerals are digits of any script, perhaps with ``. , : - / %``, which must agree. If a vocabulary has a number
        in several scripts, the first counts.

        Examples
        --------
        >>> Lexicon.numerals(["1984", "7"], ["٧", "١٩٨٤"]).pairs
        [('1984', '١٩٨٤'), ('7', '٧')]
        """
        return cls(equal_numerals(source, target))

    @classmethod
    def cognates(
        cls,
        source: Vocabulary,
        target: Vocabulary,
        *,
        max_distance: float = 0.15,
        min_length: int = 5,
        max_rank_ratio: float | None = 7.5,
        progress: Progress | None = None,
    ) -> Lexicon:
        """Pair words that look alike: inherited words, loanwords, names.

        Words are written in Latin letters without marks (Cyrillic, Greek, Armenian and Georgian are transliterated),
        spellings such as ph and f, c and k, z and s are unified, and all pairs within an edit distance are found. A
        pair is kept if each word is the best match of the other, by spelling first and then by frequency rank. The
        scores are 1 minus the distance.

        Parameters
        ----------
        source, target : Vectors or iterable of str
            The vocabularies, in order of frequency.
        max_distance : float, default=0.15
            The most edits per letter of the longer word, less than 0.5.
        min_length : int, default=5
            Leave out words with fewer letters.
        max_rank_ratio : float or None, default=7.5
            Leave out pairs in which one word's rank is more than this many times the other's (after adding 100 to
            both). None for vocabularies that are not in order of frequency.
        progress : callable, optional
            Called as ``progress(done, total)``.

        Notes
        -----
        Many of these pairs are wrong: ``docs/results/seeds.md`` shows how many, and how good a map they yield.

        Examples
        --------
        >>> Lexicon.cognates(["photography", "cat"], ["кошка", "фотография"], max_distance=0.2).pairs
        [('photography', 'фотография')]
        """
        return cls(*cognate_words(source, target, max_distance, min_length, max_rank_ratio, progress))

    @classmethod
    def from_cldr(
        cls,
        source: str,
        target: str,
        *,
        kinds: Iterable[str] | None = None,
        single_words: bool = True,
        lower: bool = True,
    ) -> Lexicon:
        """Pair names in two languages from Unicode's CLDR, for languages without a dictionary.

        This needs the extra ``fipp[cldr]``. Babel covers some hundred languages, emoji fourteen of them.

        Parameters
        ----------
        source, target : str
            Language codes, such as ``"en"``, ``"pt-BR"`` or ``"zh-Hant"``.
        kinds : iterable of str, optional
            Which names: ``territories``, ``languages``, ``scripts``, ``months``, ``weekdays``, ``currencies``,
            ``units``, ``cities`` or ``emoji``; all by default.
        single_words : bool, default=True
            Leave out names of several words, which few vocabularies have.
        lower : bool, default=True
            Write names in lower case, as most vocabularies do.

        Examples
        --------
        >>> Lexicon.from_cldr("en", "fr", kinds=["weekdays"]).head(2).pairs  # doctest: +SKIP
        [('sunday', 'dimanche'), ('monday', 'lundi')]
        """
        return cls(cldr_names(source, target, kinds=kinds, single_words=single_words, lower=lower))


def _as_pair(pair: tuple[str, str], place: int) -> tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(word, str) for word in pair):
        raise FippError(f"pair {place} of the lexicon must be two words, not {pair!r}")
    source, target = pair
    return source, target


def _as_scores(scores: npt.ArrayLike, count: int) -> npt.NDArray[np.float64]:
    try:
        numbers = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FippError("scores must be numbers, one for each pair") from error
    if numbers.shape != (count,):
        raise FippError(f"there are {count:,} pairs but scores of shape {numbers.shape}")
    if np.isinf(numbers).any():
        raise FippError("scores must be finite, or NaN where there is none")
    return numbers
