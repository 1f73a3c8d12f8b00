"""Items embedded by the old model and by the new one: the sample from which everything about a migration is learned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._validation import as_matrix
from fipp.exceptions import FippError, warn
from fipp.linalg import unit_rows
from fipp.migrate._tables import ItemTable, match_ids, read_items, sample_files
from fipp.retrieve import neighbours

# Neighbours of at most this many items are compared to see whether two models belong to the same items.
_COMPARED = 2000
_NEIGHBOURS = 10
# Neighbours of a stretch of rows that agree this much less often than elsewhere are those of other items.
_STRETCH, _MUCH_LESS = 50, 0.2
_FEWEST = 20


@dataclass(frozen=True, eq=False)
class PairedSample:
    """The same items embedded by two models, and possibly queries.

    Use `from_arrays` or `load`, which check that the two sides belong together.

    Attributes
    ----------
    old, new : ndarray of shape (n, d1), (n, d2)
        Row i of both is the same item.
    ids : ndarray of shape (n,)
        The items' ids; row numbers if none were given.
    paired_by : {"id", "position"}
        How the rows of both sides were matched.
    texts : list of str or None
        The items' texts, for examples.
    old_queries, new_queries : ndarray of shape (q, d1), (q, d2), or None
        Queries embedded by both models.
    gold : list of ndarray or None
        The rows of the items that answer each query; empty if they are not in the sample.
    agreement : float
        The share of the ten nearest neighbours that the two models have in common in the sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> new = rng.standard_normal((200, 8))
    >>> PairedSample.from_arrays(new @ rng.standard_normal((8, 6)), new)
    PairedSample(200 items, 6 to 8 dimensions, paired by position)
    """

    old: NDArray[Any]
    new: NDArray[Any]
    ids: NDArray[Any]
    paired_by: Literal["id", "position"]
    texts: Sequence[str] | None = None
    old_queries: NDArray[Any] | None = None
    new_queries: NDArray[Any] | None = None
    gold: Sequence[NDArray[np.int64]] | None = None
    agreement: float = 0.0

    @classmethod
    def from_arrays(
        cls,
        old: ArrayLike,
        new: ArrayLike,
        *,
        old_ids: Iterable[Hashable] | None = None,
        new_ids: Iterable[Hashable] | None = None,
        texts: Sequence[str] | None = None,
        old_queries: ArrayLike | None = None,
        new_queries: ArrayLike | None = None,
        gold: Sequence[Any] | None = None,
    ) -> Self:
        """Make a sample of arrays.

        Parameters
        ----------
        old, new : array of shape (n, d1), (m, d2)
            The items' vectors by either model.
        old_ids, new_ids : iterable, optional
            Ids of the rows. With both, rows with the same id are paired; without ``new_ids``, row i of ``new`` has the
            id of row i of ``old``.
        texts : sequence of str, optional
            The texts of the rows of ``old``.
        old_queries, new_queries : array of shape (q, d1), (q, d2), optional
            Queries embedded by both models, or by the new one only.
        gold : sequence, optional
            For each query, the id of the item that answers it, or a list of several. Without ids, row numbers.

        Returns
        -------
        PairedSample

        Raises
        ------
        FippError
            If the neighbours of the two sides agree no more than chance would have it.
        """
        first = _table("old", old, old_ids, texts)
        second = _table("new", new, new_ids if old_ids is None or new_ids is not None else None)
        by_old = None if old_queries is None else as_matrix(old_queries, "old_queries")
        by_new = None if new_queries is None else as_matrix(new_queries, "new_queries")
        return cls._paired(first, second, by_old, by_new, gold)

    @classmethod
    def load(cls, old: Any, new: Any = None, *, queries: Any = None, id_column: str | None = None) -> Self:
        """Read a sample from files or tables.

        Parameters
        ----------
        old : path, data frame or Arrow table
            The items by the old model; without ``new``, a table with columns ``old`` and ``new``, or a folder that
            `fipp migrate sample` wrote, with ``new.parquet`` and perhaps ``queries.parquet`` added to it.
        new : path, data frame or Arrow table, optional
            The items by the new model. Rows are paired by id if both sides have ids, otherwise by position.
        queries : path, data frame or Arrow table, optional
            Queries with the columns ``new`` and, if there are any, ``old`` and ``gold`` (an id or a list of ids).
        id_column : str, optional
            The name of the column with the ids; by default ``id`` or something like it.

        Returns
        -------
        PairedSample

        Notes
        -----
        Parquet, Arrow and Feather files, folders of Parquet files, ``.npy`` matrices (ids beside them in ``x.ids.npy``,
        or one per line in ``x.txt``), and data frames of pandas, polars or anything else that speaks Arrow.
        """
        if new is None:
            old, new, queries = sample_files(old, queries) or (old, new, queries)
        first = read_items(old, id_column=id_column)
        if new is None:
            sides = {name: first.vectors[name] for name in ("old", "new") if name in first.vectors}
            if len(sides) < 2:
                raise FippError(
                    f"{first.name} must have two columns of vectors, 'old' and 'new', unless the new model's vectors "
                    f"are in another file; it has {', '.join(first.vectors) or 'none'}"
                )
            first, second = (first._replace(vectors={name: sides[name]}) for name in ("old", "new"))
        else:
            second = read_items(new, id_column=id_column)
        if queries is None:
            return cls._paired(first, second, None, None, None)
        asked = read_items(queries)
        by_old = asked.vectors.get("old")
        by_new = asked.only_vectors(("new", "vector")) if by_old is None else asked.vectors.get("new")
        return cls._paired(first, second, by_old, by_new, asked.gold)

    @classmethod
    def _paired(
        cls,
        first: ItemTable,
        second: ItemTable,
        old_queries: NDArray[Any] | None,
        new_queries: NDArray[Any] | None,
        gold: Sequence[Any] | None,
    ) -> Self:
        old, new = (
            first.only_vectors(("old", "vector", "embedding")),
            second.only_vectors(("new", "vector", "embedding")),
        )
        ids, by_id = first.ids, first.ids is not None and second.ids is not None
        rows = np.arange(len(old))
        if by_id and first.ids is not second.ids:
            rows, others = match_ids(first, second)
            missing = max(len(old), len(new)) - len(rows)
            if missing:
                warn(f"{missing:,} items have no partner on the other side and are left out; {len(rows):,} have one")
            new = new[others]
        elif len(old) != len(new):
            raise FippError(
                f"{first.name} has {len(old):,} rows and {second.name} {len(new):,}, and without ids on both sides "
                "row i of one belongs to row i of the other: give ids, or the same items in the same order"
            )
        ids = np.arange(len(old)) if ids is None else ids
        texts = None if first.texts is None else [first.texts[row] for row in rows]
        sample = cls(old[rows], new, ids[rows], "id" if by_id else "position", texts)
        return sample._without_zeros()._checked()._asked(old_queries, new_queries, gold)

    def __len__(self) -> int:
        return len(self.old)

    def __repr__(self) -> str:
        asked = f", {len(self.new_queries):,} queries" if self.new_queries is not None else ""
        return (
            f"PairedSample({len(self):,} items, {self.old.shape[1]} to {self.new.shape[1]} dimensions, "
            f"paired by {self.paired_by}{asked})"
        )

    def head(self, n: int) -> Self:
        """Return the first ``n`` items, with all queries; gold that is not among them is dropped."""
        gold = None if self.gold is None else [rows[rows < n] for rows in self.gold]
        texts = None if self.texts is None else self.texts[:n]
        return replace(self, old=self.old[:n], new=self.new[:n], ids=self.ids[:n], texts=texts, gold=gold)

    def _without_zeros(self) -> Self:
        filled = np.asarray(self.old.any(axis=1) & self.new.any(axis=1))
        if filled.all():
            return self
        warn(
            f"{int((~filled).sum()):,} items have a vector of zeros and are left out (first: {self.ids[~filled][0]!r})"
        )
        texts = None if self.texts is None else [text for text, kept in zip(self.texts, filled, strict=True) if kept]
        return replace(self, old=self.old[filled], new=self.new[filled], ids=self.ids[filled], texts=texts)

    def _checked(self) -> Self:
        """Refuse sides that do not belong together, and notice stretches of rows that do not."""
        if len(self) < _FEWEST:
            raise FippError(f"{len(self)} items are too few to learn anything from: embed a few hundred, better 2,000")
        if self.old.shape == self.new.shape and np.array_equal(self.old, self.new):
            raise FippError("the old and the new vectors are the same: was one file given twice?")
        shown = slice(0, _COMPARED)
        agreeing = _shared_neighbours(self.old[shown], self.new[shown])
        n, k = len(agreeing), min(_NEIGHBOURS, len(agreeing) - 1)
        chance, error = k / (n - 1), np.sqrt(k / (n - 1) / (n * k))
        if agreeing.mean() < chance + 4 * error + 0.01:
            raise FippError(
                f"the two sides do not belong together: of the {k} nearest neighbours of an item by the old model "
                f"{100 * agreeing.mean():.1f} % are near it by the new one too; chance gives {100 * chance:.1f} %. "
                f"Rows were paired by {self.paired_by}: are they in the same order, of the same items, and all there?"
            )
        self._warn_of_stretches(agreeing, chance)
        return replace(self, agreement=float(agreeing.mean()))

    def _warn_of_stretches(self, agreeing: NDArray[np.float64], chance: float) -> None:
        """Warn if neighbours agree in some stretches of rows only, as when a row was lost in the middle of a file."""
        if self.paired_by == "id" or len(agreeing) < 4 * _STRETCH:
            return
        means = np.array([part.mean() for part in np.array_split(agreeing, len(agreeing) // _STRETCH)])
        bad = means < max(2 * chance, _MUCH_LESS * np.median(means))
        if bad.any():
            first = int(np.flatnonzero(bad)[0] * (len(agreeing) / len(means)))
            warn(
                f"in {int(bad.sum())} of {len(means)} stretches of about {_STRETCH} rows, the first from row {first:,} "
                "on, neighbours agree far less than elsewhere: was a row lost or added there? Give ids to pair rows by"
            )

    def _asked(self, old: NDArray[Any] | None, new: NDArray[Any] | None, gold: Sequence[Any] | None) -> Self:
        """Add queries, with gold as row numbers."""
        if new is None:
            if old is not None or gold is not None:
                raise FippError("queries must be embedded by the new model: give new_queries")
            return self
        for queries, items, name in ((old, self.old, "old"), (new, self.new, "new")):
            if queries is not None and queries.shape[1] != items.shape[1]:
                raise FippError(
                    f"the {name} model's queries have {queries.shape[1]} dimensions and its items {items.shape[1]}: "
                    "are they of the same model, and old and new not swapped?"
                )
            if queries is not None and len(queries) != len(new):
                raise FippError(f"there are {len(new):,} queries by the new model but {len(queries):,} by the {name}")
        if gold is not None and len(gold) != len(new):
            raise FippError(f"there are {len(new):,} queries but gold for {len(gold):,}")
        filled = np.logical_and.reduce([side.any(axis=1) for side in (old, new) if side is not None])
        if not filled.all():
            warn(f"{int((~filled).sum()):,} queries have a vector of zeros and are left out")
            old, new = None if old is None else old[filled], new[filled]
            gold = None if gold is None else [each for each, kept in zip(gold, filled, strict=True) if kept]
        if gold is None:
            return replace(self, old_queries=old, new_queries=new)
        row_of = {key: row for row, key in enumerate(self.ids.tolist())}
        answers = [each if isinstance(each, (list, tuple, set, np.ndarray)) else [each] for each in gold]
        rows = [np.array([row_of[key] for key in each if key in row_of], np.int64) for each in answers]
        if not any(map(len, rows)):
            raise FippError(f"no gold item is in the sample; the first is {gold[0]!r}, the first id {self.ids[0]!r}")
        return replace(self, old_queries=old, new_queries=new, gold=rows)


def _table(name: str, X: ArrayLike, ids: Iterable[Hashable] | None, texts: Sequence[str] | None = None) -> ItemTable:
    matrix = as_matrix(X, name)
    keys = None
    if ids is not None:
        listed = list(ids)
        if len(listed) != len(matrix):
            raise FippError(f"{name} has {len(matrix):,} rows but {len(listed):,} ids")
        keys = np.empty(len(listed), dtype=object)
        keys[:] = listed
    if texts is not None and len(texts) != len(matrix):
        raise FippError(f"{name} has {len(matrix):,} rows but {len(texts):,} texts")
    return ItemTable(name, keys, {name: matrix}, None if texts is None else list(texts))


def _shared_neighbours(old: NDArray[Any], new: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for each row, the share of its nearest rows that both sides have in common."""
    k = min(_NEIGHBOURS, len(old) - 1)
    near = [_others(unit_rows(side), k) for side in (old, new)]
    return np.array([len(set(a) & set(b)) / k for a, b in zip(*near, strict=True)])


def _others(X: NDArray[Any], k: int) -> list[list[int]]:
    """Return the k nearest rows of each row, without itself."""
    found = neighbours(X, X, k + 1).indices.tolist()
    return [[other for other in row if other != own][:k] for own, row in enumerate(found)]
