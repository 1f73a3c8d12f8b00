"""Which pairs of a test dictionary a model was given as seed pairs, recognised by their words."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.io import Vectors, fold


class Seen(NamedTuple):
    """Which queries have a translation that was in the seed, and which were in the seed with any translation."""

    pairs: NDArray[np.bool_]
    words: NDArray[np.bool_]

    def of(self, places: NDArray[np.int64]) -> Seen:
        """Return the same for some of the queries."""
        return Seen(self.pairs[places], self.words[places])


def seed_keys(source: Vectors, target: Vectors, pairs: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return keys of the words of pairs, by which they are recognised in other files and other orders.

    Words that differ in case or Unicode composition only share a key, because one dictionary entry finds them all.

    Parameters
    ----------
    source, target : Vectors
        The two vocabularies.
    pairs : ndarray of shape (c, 2)
        Row numbers. Pairs with a row that a vocabulary does not have are left out.

    Returns
    -------
    ndarray of uint64, shape (c, 2)

    Examples
    --------
    >>> english, croatian = Vectors(["cat", "Cat"], [[1.0], [2.0]]), Vectors(["mačka"], [[1.0]])
    >>> keys = seed_keys(english, croatian, np.array([[0, 0], [1, 0], [2, 0]]))
    >>> keys.shape, bool((keys[0] == keys[1]).all())
    ((2, 2), True)
    """
    inside = pairs[(pairs < (len(source), len(target))).all(axis=1)]
    sides = ((vectors.words[row] for row in rows) for vectors, rows in zip((source, target), inside.T, strict=True))
    return np.stack([_keys(words) for words in sides], axis=1)


def seen_queries(known: NDArray[np.uint64], source: Vectors, target: Vectors, pairs: NDArray[np.int64]) -> Seen:
    """Find out which queries of a test dictionary were in the seed.

    Parameters
    ----------
    known : ndarray of shape (c, 2)
        `seed_keys` of the seed.
    source, target : Vectors
        The two vocabularies.
    pairs : ndarray of shape (n, 2)
        Row numbers of the test dictionary.

    Returns
    -------
    Seen
        For each distinct source row, in ascending order.

    Examples
    --------
    >>> english, croatian = Vectors(["cat", "dog"], [[1.0], [2.0]]), Vectors(["mačka", "pas"], [[1.0], [2.0]])
    >>> known = seed_keys(english, croatian, np.array([[0, 0], [1, 0]]))
    >>> seen_queries(known, english, croatian, np.array([[0, 0], [1, 1]]))
    Seen(pairs=array([ True, False]), words=array([ True,  True]))
    """
    asked = seed_keys(source, target, pairs)
    given = set(map(tuple, known.tolist()))
    pair_seen = np.array([tuple(pair) in given for pair in asked.tolist()], dtype=np.bool_)
    word_seen = np.isin(asked[:, 0], known[:, 0])
    queries = np.unique(pairs[:, 0])
    return Seen(*(np.isin(queries, pairs[seen, 0]) for seen in (pair_seen, word_seen)))


def _keys(words: Iterable[str]) -> NDArray[np.uint64]:
    digests = (blake2b(fold(word).encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
