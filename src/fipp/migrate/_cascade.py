"""The cascade: a map proposes candidates, the new model embeds and ranks them, and what it embedded is kept."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._validation import as_matrix
from fipp.exceptions import FippError
from fipp.linalg import unit_rows
from fipp.migrate._fingerprint import Fingerprint
from fipp.migrate._folder import VectorFolder, VectorStore
from fipp.migrate._migration import Migration
from fipp.retrieve import build_index, check_count

Embed = Callable[[list[Any]], ArrayLike]
Propose = Callable[[NDArray[np.float32], int], Sequence[Sequence[Any]]]


class Hit(NamedTuple):
    """An item that was found, and its cosine with the query by the new model."""

    id: Any
    score: float


class Cascade:
    """Search by the new model without having embedded the collection by it.

    For each query, a map proposes candidates, from the old vectors. Those that the new model has not embedded yet are
    embedded now, and kept; then the new model ranks them all. So the collection is embedded from its most wanted end,
    and every document once at most.

    Parameters
    ----------
    propose : callable
        Called as ``propose(queries, n)`` with queries of the new model, of shape (q, d); returns n ids for each. To
        search arrays by a `Migration`, use `Cascade.over`; to search a database, adapt the queries and ask it.
    embed : callable
        Called with a list of ids, returns their vectors by the new model, one row each.
    store : path or VectorStore
        Where to keep what was embedded: a folder, or any object with ``get(ids)``, which returns a mapping of the ids
        that it has to their vectors, and ``put(ids, vectors)``.
    n_candidates : int, default=100
        How many candidates to propose for each query.
    batch_size : int, default=256
        At most this many documents are embedded at once, and kept before the next are. If ``embed`` fails or the
        process is killed, no finished batch is lost.

    Attributes
    ----------
    n_asked, n_embedded : int
        How many candidates were needed so far, each once per search, and how many of them had to be embedded.

    Examples
    --------
    >>> import tempfile
    >>> from fipp.migrate import Cascade, Migration, PairedSample
    >>> rng = np.random.default_rng(0)
    >>> new = rng.standard_normal((500, 8))
    >>> old = new[:, :6]
    >>> sample = PairedSample.from_arrays(old[:200], new[:200])
    >>> migration = Migration.fit(sample, direction="documents")
    >>> ids = [f"document {row}" for row in range(500)]
    >>> def embed(asked):  # your new model
    ...     return [new[ids.index(each)] for each in asked]
    >>> cascade = Cascade.over(migration, ids, old, embed, store=tempfile.mkdtemp(), n_candidates=20)
    >>> cascade.search(new[[400]], k=1)[0][0].id, cascade.n_embedded
    ('document 400', 20)
    """

    def __init__(
        self,
        propose: Propose,
        embed: Embed,
        *,
        store: str | os.PathLike[str] | VectorStore,
        n_candidates: int = 100,
        batch_size: int = 256,
    ) -> None:
        self.propose, self.embed = propose, embed
        self.store: VectorStore = VectorFolder(store) if isinstance(store, str | os.PathLike) else store
        self.n_candidates = check_count(n_candidates, "n_candidates")
        self.batch_size = check_count(batch_size, "batch_size")
        self.n_asked = self.n_embedded = 0
        self._models: tuple[Fingerprint, Fingerprint] | None = None

    @classmethod
    def over(
        cls,
        migration: Migration,
        ids: Sequence[Hashable],
        vectors: ArrayLike,
        embed: Embed,
        *,
        store: str | os.PathLike[str] | VectorStore,
        n_candidates: int = 100,
        batch_size: int = 256,
        index: str = "exact",
    ) -> Self:
        """Return a cascade over the old vectors of a collection.

        Parameters
        ----------
        migration : Migration
            For documents, the vectors are converted, and searched as they are. For queries, the vectors stay, and
            queries are adapted. What ``embed`` returns must look like vectors of its new model.
        ids : sequence of length n
            The ids of the documents.
        vectors : array of shape (n, d1)
            Their vectors by the old model.
        embed, store, n_candidates, batch_size
            As for the class.
        index : {"exact", "usearch", "faiss"}, default="exact"
            How candidates are searched; see `fipp.retrieve.build_index`.

        Returns
        -------
        Cascade
        """
        vectors = as_matrix(vectors, "vectors")
        if len(ids) != len(vectors):
            raise FippError(f"there are {len(ids):,} ids but {len(vectors):,} vectors")
        if len(set(ids)) != len(ids):
            raise FippError(f"the id {Counter(ids).most_common(1)[0][0]!r} occurs twice")
        adapt: Callable[[NDArray[Any]], NDArray[Any]] = unit_rows
        if migration.direction == "documents":
            vectors = migration.convert_documents(vectors)
        else:
            adapt = migration.adapt_queries
        keys = build_index(vectors, index=index)

        def propose(queries: NDArray[np.float32], n: int) -> list[list[Any]]:
            found = keys.neighbours(adapt(queries), min(n, len(ids))).indices
            return [[ids[row] for row in rows] for rows in found.tolist()]

        cascade = cls(propose, embed, store=store, n_candidates=n_candidates, batch_size=batch_size)
        cascade._models = migration.new, migration.old
        return cascade

    def search(self, queries: ArrayLike, k: int = 10) -> list[list[Hit]]:
        """Return the k nearest candidates of each query by the new model, nearest first.

        Parameters
        ----------
        queries : array of shape (q, d)
            Queries embedded by the new model.
        k : int, default=10

        Returns
        -------
        list of lists of Hit
        """
        k, asked = check_count(k, "k"), unit_rows(as_matrix(queries, "queries"))
        proposed = [list(dict.fromkeys(ids)) for ids in self.propose(asked, self.n_candidates)]
        if len(proposed) != len(asked):
            raise FippError(f"propose returned candidates for {len(proposed):,} queries, not for {len(asked):,}")
        known = self._embedded(proposed, asked.shape[1])
        return [self._ranked(query, ids, known, k) for query, ids in zip(asked, proposed, strict=True)]

    def _ranked(self, query: NDArray[Any], ids: list[Any], known: dict[Any, NDArray[Any]], k: int) -> list[Hit]:
        if not ids:
            return []
        scores = unit_rows(np.stack([known[key] for key in ids])) @ query
        return [Hit(ids[row], float(scores[row])) for row in np.argsort(-scores, kind="stable")[:k]]

    def _embedded(self, proposed: list[list[Any]], dimensions: int) -> dict[Any, NDArray[np.float32]]:
        """Return the new model's vectors of all candidates; those most wanted are embedded first."""
        wanted = Counter(key for ids in proposed for key in ids)
        known = dict(self.store.get(list(wanted)))
        missing = [key for key, _ in wanted.most_common() if key not in known]
        self.n_asked += len(wanted)
        for start in range(0, len(missing), self.batch_size):
            batch = missing[start : start + self.batch_size]
            vectors = self._checked(batch, self.embed(list(batch)), dimensions)
            self.store.put(batch, vectors)
            self.n_embedded += len(batch)
            known.update(zip(batch, vectors, strict=True))
        return known

    def _checked(self, ids: list[Any], vectors: ArrayLike, dimensions: int) -> NDArray[np.float32]:
        """Refuse vectors that are not one for each id, or not of the new model, before they are kept."""
        checked = as_matrix(vectors, "what embed returned").astype(np.float32)
        if checked.shape != (len(ids), dimensions):
            raise FippError(
                f"embed returned an array of shape {checked.shape} for {len(ids):,} ids and queries of {dimensions} "
                "dimensions: one row for each id is expected"
            )
        if self._models is not None:
            self._models[0].check(checked, self._models[1])
        return checked
