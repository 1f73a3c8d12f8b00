"""Queries in parts: frequency bands of the source word, or labels of the test dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError

BANDS = (1000, 5000, 20_000)
"""Where a band of frequency ends and the next begins: rows stand in the order of frequency."""


class Slice(NamedTuple):
    """Places of the queries of a part, and how many source words the part has, looked up or not."""

    places: NDArray[np.int64]
    total: int


def band_names(edges: Sequence[int] = BANDS) -> list[str]:
    """Name the bands between row numbers.

    Examples
    --------
    >>> band_names(), band_names([150])
    (['0-1k', '1k-5k', '5k-20k', '20k+'], ['0-150', '150+'])
    """
    return [f"{_short(low)}-{_short(high)}" for low, high in pairwise([0, *edges])] + [f"{_short(edges[-1])}+"]


def bands(
    rows: NDArray[np.int64], missed: NDArray[np.int64] | None = None, edges: Sequence[int] = BANDS
) -> dict[str, Slice]:
    """Sort queries into bands by the row number of their source word.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Row numbers of the queries.
    missed : ndarray, optional
        Row numbers of source words that could not be looked up, because no translation is in the target.
    edges : sequence of int, default=(1000, 5000, 20000)
        Rising row numbers at which the next band begins.

    Returns
    -------
    dict
        Bands that have a query, by name.

    Examples
    --------
    >>> bands(np.array([3, 1000, 70]), np.array([5]))
    {'0-1k': Slice(places=array([0, 2]), total=3), '1k-5k': Slice(places=array([1]), total=1)}
    """
    check_edges(edges)
    numbers = np.searchsorted(edges, rows, side="right")
    lost = np.searchsorted(edges, np.empty(0, np.int64) if missed is None else missed, side="right")
    parts = {}
    for number, name in enumerate(band_names(edges)):
        places = np.flatnonzero(numbers == number)
        if len(places):
            parts[name] = Slice(places, len(places) + int((lost == number).sum()))
    return parts


def check_edges(edges: Sequence[int]) -> None:
    """Refuse edges of bands that do not rise from above 0."""
    if not len(edges) or any(low >= high for low, high in pairwise([0, *edges])):
        raise FippError(f"bands takes rising row numbers above 0, such as {BANDS}, not {tuple(edges)}")


def labelled(asked: NDArray[np.int64], labels: ArrayLike) -> dict[str, Slice]:
    """Sort queries by the labels of their pairs; a query with pairs of several labels is in several parts.

    Parameters
    ----------
    asked : ndarray of shape (n,)
        The query of each pair.
    labels : array-like of str of shape (n,)
        The label of each pair.

    Returns
    -------
    dict
        In the order in which the labels are met. A part's total is the number of its queries.

    Examples
    --------
    >>> labelled(np.array([7, 2, 7]), ["noun", "verb", "noun"])
    {'noun': Slice(places=array([1]), total=1), 'verb': Slice(places=array([0]), total=1)}
    """
    named = np.asarray(labels).astype(str)
    if named.shape != asked.shape:
        raise FippError(f"there are {len(asked)} pairs but {named.size} labels; each pair takes one")
    queries = np.unique(asked)
    parts = {}
    for label in dict.fromkeys(named.tolist()):
        places = np.searchsorted(queries, np.unique(asked[named == label]))
        parts[label] = Slice(places, len(places))
    return parts


def _short(row: int) -> str:
    return f"{row // 1000}k" if row and row % 1000 == 0 else str(row)
