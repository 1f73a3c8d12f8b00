"""Words with vectors, and vectors for words that are not among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError, warn
from fipp.io._ngrams import Composer
from fipp.io._report import LoadReport, counted, quoted
from fipp.io._rows import FloatMatrix
from fipp.io._vectors import Vectors
from fipp.io._words import WordNotFoundError, as_strings


class SubwordVectors(Vectors):
    """Vectors that can make more: for any other word from its character n-grams.

    What ``Vectors.load`` gives for a fastText ``.bin`` file and for floret's tables. The vocabulary is what it is:
    ``word in vectors`` and ``vectors[word]`` know its words only; ``vector(word)`` gives a vector for any word, and
    ``with_words`` takes words into the vocabulary.

    Examples
    --------
    >>> from fipp.io._ngrams import FastTextNgrams
    >>> table = FastTextNgrams(np.ones((11, 2), dtype=np.float32), offset=1, buckets=10, shortest=3, longest=6)
    >>> vectors = SubwordVectors._with_composer(Vectors(["cat"], [[1.0, 1.0]]), table)
    >>> "cats" in vectors, vectors.vector("cats")
    (False, array([1., 1.], dtype=float32))
    >>> vectors.with_words(["cats"]).words
    ('cat', 'cats')
    """

    _composer: Composer

    @classmethod
    def _with_composer(cls, vectors: Vectors, composer: Composer) -> SubwordVectors:
        made = cls.__new__(cls)
        made._take(vectors.words, vectors.matrix, vectors._index, vectors.report)
        made._composer = composer
        return made

    def vector(self, word: str) -> FloatMatrix:
        """Return the vector of a word: its row, or the mean of its n-grams if it has none.

        Raises
        ------
        FippError
            If the word is unknown and too short to have n-grams; the error is a KeyError as well.
        """
        if word in self:
            return self[word]
        composed, known = self._composer.compose(_encode([word]))
        if not known[0] or not np.isfinite(composed[0]).all():
            raise WordNotFoundError(f"the word {word!r} is not among the {len(self):,} words, and has no n-grams")
        return composed[0]

    def with_words(self, words: Iterable[str]) -> SubwordVectors:
        """Add the words that are not there yet, as rows after the others.

        Words too short to have n-grams are left out, with a warning that names the first.
        """
        if isinstance(words, str):
            raise FippError(f"with_words takes several words; for one write with_words([{words!r}])")
        new = as_strings([word for word in dict.fromkeys(words) if word not in self])
        if not new:
            return self
        added = compose_vectors(new, self._composer)
        matrix = np.concatenate([self.matrix, added.matrix])
        both = Vectors._from_checked(self.words + added.words, matrix, report=self.report)
        return SubwordVectors._with_composer(both, self._composer)

    def _only(self, words: list[str]) -> SubwordVectors:
        """Return these words, made where they are not there."""
        known = super()._only(words)
        rest = SubwordVectors._with_composer(known, self._composer).with_words(words)
        order = {word: row for row, word in enumerate(words)}
        return rest.rows(np.argsort([order[word] for word in rest.words], kind="stable"))

    def head(self, count: int) -> SubwordVectors:
        """Return the first ``count`` rows, which share the memory of these; other words can still be made."""
        return SubwordVectors._with_composer(super().head(count), self._composer)

    def rows(self, indices: npt.ArrayLike) -> SubwordVectors:
        """Return the rows with these numbers, or where a mask is true; other words can still be made."""
        return SubwordVectors._with_composer(super().rows(indices), self._composer)


def compose_vectors(words: Sequence[str], composer: Composer, report: LoadReport | None = None) -> Vectors:
    """Make vectors for different words; warn of those that have none.

    Examples
    --------
    >>> from fipp.io._ngrams import FloretNgrams
    >>> table = FloretNgrams(np.ones((10, 2), dtype=np.float32), shortest=3, longest=5, hashes=2, seed=0)
    >>> compose_vectors(["cat", "čvor"], table)
    Vectors(2 words, 2 dimensions)
    """
    composed, known = composer.compose(_encode(words))
    good = known & np.isfinite(composed).all(axis=1)
    if not good.all():
        missing = [words[row] for row in np.flatnonzero(~good).tolist()]
        warn(
            f"no vector can be made for {counted(len(missing), 'word')} such as {quoted(missing[0])}: it has no "
            "n-grams, or numbers too large for float32"
        )
    kept = tuple(words[row] for row in np.flatnonzero(good).tolist())
    return Vectors._from_checked(kept, composed if good.all() else composed[good], report=report)


def _encode(words: Sequence[str]) -> list[bytes]:
    return [word.encode("utf-8", "surrogatepass") for word in words]
