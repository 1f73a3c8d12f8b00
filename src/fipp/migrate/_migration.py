"""A fitted migration: one map, in one direction, that knows the vectors of both models and refuses those of others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp._progress import Progress
from fipp._validation import as_matrix
from fipp.aligners import KernelRidge, below, from_model, to_model
from fipp.exceptions import FippError, warn
from fipp.io import MismatchError, Sizes, check_value, read_model, write_model
from fipp.linalg import row_blocks, unit_rows
from fipp.migrate._export import export
from fipp.migrate._fingerprint import Fingerprint
from fipp.migrate._maps import Direction, best_map
from fipp.migrate._sample import PairedSample

MIGRATION = "migration"
"""The key of a migration in the header of a model file."""

_COUNT = [Interval(Integral, 0, None, closed="left")]
_HEADER = {
    "direction": [StrOptions({"documents", "queries"})],
    "map": [StrOptions({"linear", "kernel"})],
    "recall": [Interval(Real, 0, 1, closed="both")],
    "n_items": _COUNT,
    "n_queries": _COUNT,
    "old": [dict],
    "new": [dict],
}


@dataclass(frozen=True, eq=False, repr=False)
class Migration:
    """A map between two embedding models, in one direction.

    With ``direction="documents"``, stored vectors of the old model become vectors of the new one (`convert_documents`).
    With ``"queries"``, the stored vectors stay, and queries of the new model become queries of the old one
    (`adapt_queries`). The wrong verb is refused, and so are vectors that do not look like those of the model that they
    should come from. Use `fit` or `load`.

    Attributes
    ----------
    direction : {"documents", "queries"}
        What it is for.
    old, new : Fingerprint
        The names of both models, and what their vectors look like.
    aligner : KernelRidge
        The map.
    map : {"linear", "kernel"}
        The kind of map.
    recall : float
        The share of the new model's ten nearest neighbours in the sample that is kept, by a map that was not fitted on
        the item.
    n_items, n_queries : int
        The number of items and of queries that the map was fitted on.

    Examples
    --------
    >>> from fipp.migrate import Migration, PairedSample
    >>> rng = np.random.default_rng(0)
    >>> new = rng.standard_normal((500, 8)) * np.geomspace(1, 0.2, 8)
    >>> old = new @ rng.standard_normal((8, 6))
    >>> sample = PairedSample.from_arrays(old, new)
    >>> migration = Migration.fit(sample, direction="documents", old_name="v1", new_name="v2")
    >>> migration
    Migration(documents of 'v1' to 'v2', 6 to 8 dimensions, linear map from 500 items)
    >>> migration.convert_documents(old).shape
    (500, 8)
    """

    direction: Direction
    old: Fingerprint
    new: Fingerprint
    aligner: KernelRidge
    map: str
    recall: float
    n_items: int
    n_queries: int

    @classmethod
    def fit(
        cls,
        sample: PairedSample,
        *,
        direction: Direction,
        old_name: str = "old",
        new_name: str = "new",
        progress: Progress | None = None,
    ) -> Self:
        """Fit the best map for a direction.

        Parameters
        ----------
        sample : PairedSample
            A few thousand items embedded by both models. To adapt queries, it should have queries by both models too.
        direction : {"documents", "queries"}
            Convert stored vectors of the old model to the new one, or adapt queries of the new model to the old one.
        old_name, new_name : str
            The names of the models, for messages and files.
        progress : callable, optional
            Called as ``progress(done, total)``.

        Returns
        -------
        Migration
        """
        if direction not in ("documents", "queries"):
            raise FippError(f"direction is 'documents' or 'queries', not {direction!r}")
        n_queries = 0
        if direction == "queries" and sample.old_queries is not None and sample.new_queries is not None:
            n_queries = len(sample.new_queries)
        elif direction == "queries":
            warn(
                "the sample has no queries embedded by both models, so that the query adapter is fitted on documents "
                "only: real queries are shorter, and it may find far less for them"
            )
        best = best_map(sample, direction, progress=progress)
        # Queries look different from documents of the same model.
        old, new = (
            Fingerprint.of(items if queries is None else np.vstack([items, queries]), name)
            for items, queries, name in (
                (sample.old, sample.old_queries, old_name),
                (sample.new, sample.new_queries, new_name),
            )
        )
        return cls(direction, old, new, best.aligner, best.name, best.recall, len(sample), n_queries)

    @property
    def source(self) -> Fingerprint:
        """The model whose vectors are mapped."""
        return self.old if self.direction == "documents" else self.new

    @property
    def target(self) -> Fingerprint:
        """The model whose vectors they become."""
        return self.new if self.direction == "documents" else self.old

    def expect(self, direction: Direction, dimensions: int | None = None) -> None:
        """Raise a FippError if this is the other direction, or for vectors of another number of dimensions.

        Call it before anything is opened or written.

        Parameters
        ----------
        direction : {"documents", "queries"}
            What shall be mapped.
        dimensions : int, optional
            The number of dimensions of the vectors.
        """
        old, new = repr(self.old.name), repr(self.new.name)
        documents, queries = f"stored vectors of {old} to {new}", f"queries of {new} to {old}"
        if direction != self.direction == "documents":
            raise FippError(f"this migration converts {documents}: to adapt {queries}, fit one for queries")
        if direction != self.direction == "queries":
            raise FippError(f"this migration adapts {queries}: to convert {documents}, fit one for documents")
        if dimensions is not None and dimensions != self.source.dimensions:
            swapped = f", as vectors of {self.target.name!r} have: are old and new swapped?"
            raise FippError(
                f"this migration takes vectors of {self.source.name!r}, which have {self.source.dimensions} "
                f"dimensions; these have {dimensions}{swapped if dimensions == self.target.dimensions else ''}"
            )

    def check(self, X: ArrayLike) -> None:
        """Raise a FippError if vectors are not of the model whose vectors are mapped.

        Fewer than eight vectors, and queries if the map was fitted without any, are only checked for their number of
        dimensions.

        Parameters
        ----------
        X : array of shape (n, d)
        """
        X = as_matrix(X, "X")
        self.expect(self.direction, X.shape[1])
        # A sample without queries cannot say what queries look like.
        if self.direction == "documents" or self.n_queries:
            self.source.check(X, self.target)

    def convert_documents(self, X: ArrayLike, *, check: bool = True) -> NDArray[np.float32]:
        """Return stored vectors of the old model as vectors of the new one.

        Parameters
        ----------
        X : array of shape (n, d1)
            Vectors of the old model. Vectors of zeros stay zero.
        check : bool, default=True
            Refuse vectors that look like those of another model. Switch it off for later batches of the same store.

        Returns
        -------
        ndarray of shape (n, d2), float32
            All of the length that the new model's vectors have; n × landmarks numbers are never held at once.
        """
        return self._mapped("documents", X, check)

    def adapt_queries(self, X: ArrayLike, *, check: bool = True) -> NDArray[np.float32]:
        """Return queries of the new model as queries of the old one, to search the old vectors with.

        Parameters
        ----------
        X : array of shape (n, d2)
            Queries embedded by the new model.
        check : bool, default=True
            Refuse vectors that look like those of another model.

        Returns
        -------
        ndarray of shape (n, d1), float32
        """
        return self._mapped("queries", X, check)

    def _mapped(self, direction: Direction, X: ArrayLike, check: bool) -> NDArray[np.float32]:
        self.expect(direction)
        X = as_matrix(X, "X")
        self.expect(direction, X.shape[1])
        if check:
            self.check(X)
        mapped = self.aligner.transform(X)
        for rows in row_blocks(len(mapped)):
            mapped[rows] = unit_rows(mapped[rows]) * np.float32(self.target.length)
        return mapped

    def as_dict(self) -> dict[str, Any]:
        """Return what is known of it as JSON can hold it, without arrays."""
        models = {side: {"name": each.name, "dimensions": each.dimensions, "length": each.length}
                  for side, each in (("old", self.old), ("new", self.new))}  # fmt: skip
        rest = {name: getattr(self, name) for name in ("direction", "map", "recall", "n_items", "n_queries")}
        return {**rest, **models}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the migration to one file (safetensors with a JSON header), whole or not at all.

        Parameters
        ----------
        path : str or path-like
        """
        tensors, header = to_model(self.aligner)
        described = {name: getattr(self, name) for name in _HEADER if name not in ("old", "new")}
        for side in ("old", "new"):
            arrays, described[side] = getattr(self, side).to_state()
            tensors |= {f"{side}.{name}": array for name, array in arrays.items()}
        write_model(path, tensors, {**header, MIGRATION: described})

    def export(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the map for programs that do not have fipp, with preprocessing included.

        Parameters
        ----------
        path : str or path-like
            A file that ends in ``.onnx``, which needs ``fipp[onnx]`` to write; or in ``.npz``, for numpy: the few lines
            of Python that use it are written beside it. Neither checks whether vectors are of the right model.

        Returns
        -------
        list of Path
            The files that were written.
        """
        return export(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a migration that `save` wrote.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        Migration
        """
        tensors, header = read_model(path)
        aligner = from_model(tensors, header, path)
        if MIGRATION not in header:
            raise FippError(f"{path} is a model of fipp, but no migration between embedding models")
        try:
            return cls._restored(tensors, header[MIGRATION], aligner)
        except MismatchError as mismatch:
            raise FippError(f"{path} is damaged, or was written by a newer fipp: {mismatch}") from None

    @classmethod
    def _restored(cls, tensors: Mapping[str, NDArray[Any]], described: Mapping[str, Any], aligner: Any) -> Self:
        check_value(described, _HEADER, "its header", Sizes())
        if not isinstance(aligner, KernelRidge):
            raise MismatchError(f"its map is of the class {type(aligner).__name__}")
        sizes = aligner.n_features_in_, aligner.n_features_out_
        old, new = sizes if described["direction"] == "documents" else sizes[::-1]
        models = {
            side: Fingerprint.from_state(below(tensors, side), described[side], size, f"its {side} model")
            for side, size in (("old", old), ("new", new))
        }
        return cls(aligner=aligner, **{**described, **models})

    def __repr__(self) -> str:
        old, new = self.old, self.new
        first, second = (old, new) if self.direction == "documents" else (new, old)
        queries = f" and {self.n_queries:,} queries" if self.n_queries else ""
        return (
            f"Migration({self.direction} of {first.name!r} to {second.name!r}, {first.dimensions} to "
            f"{second.dimensions} dimensions, {self.map} map from {self.n_items:,} items{queries})"
        )
