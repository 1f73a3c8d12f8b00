"""The contract that every aligner keeps: ``fit(X, Y, pairs)``, ``transform``, ``transform_target``, ``score``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from fipp._validation import as_matrix, as_pairs
from fipp.exceptions import FippError, FippWarning
from fipp.linalg import Progress, ordered_map, row_blocks
from fipp.preprocess import make_preprocess
from fipp.retrieve import gold_ranks


class BaseAligner(TransformerMixin, BaseEstimator):
    """What all aligners share: checking, preprocessing that is kept with the model, mapping block by block.

    A subclass sets ``map_`` of shape (d1, d2) in ``_fit_seed`` and may override ``transform_target``.
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """Values of the settings that `fipp.selection.select` tries unless told otherwise."""

    preprocess: Any

    def fit(
        self, X: ArrayLike, Y: ArrayLike, pairs: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> Self:
        """Learn the map from known pairs.

        Parameters
        ----------
        X : array of shape (n, d1)
            The source vocabulary.
        Y : array of shape (m, d2)
            The target vocabulary.
        pairs : array of shape (c, 2), optional
            Row numbers of known pairs. Without it, row i of X belongs to row i of Y.
        progress : callable, optional
            Called as ``progress(done, total)`` during the long part.

        Returns
        -------
        self
        """
        X_s, X_t = self._prepare(X, Y, pairs, progress)
        self._fit_seed(X_s, X_t, progress)
        return self

    @property
    def path_settings(self) -> tuple[str, ...]:
        """Names of the settings whose values share most of the work in `fit_many`; none unless a method has some."""
        return ()

    def fit_many(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None = None,
        *,
        settings: Sequence[Mapping[str, Any]],
        progress: Progress | None = None,
    ) -> list[Self]:
        """Fit a copy of this aligner for each of several settings, sharing the work where the method can.

        Parameters
        ----------
        X, Y, pairs, progress
            As for `fit`.
        settings : sequence of dict
            What each copy has other than this aligner.

        Returns
        -------
        list of aligners
            Fitted, in the order of ``settings``.
        """
        return [clone(self).set_params(**changed).fit(X, Y, pairs, progress=progress) for changed in settings]

    def _prepare(
        self, X: ArrayLike, Y: ArrayLike, pairs: ArrayLike | None, progress: Progress | None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Check everything, fit the preprocessing, and give the preprocessed vectors of the pairs, X_s and X_t."""
        self._validate_params()
        if Y is None:
            raise FippError("requires y to be passed, but the target y is None: fit takes source and target vectors")
        X, Y = as_matrix(X, "X"), as_matrix(Y, "Y")
        found = as_pairs(pairs, len(X), len(Y))
        for known_from_an_earlier_fit in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, known_from_an_earlier_fit)
        self.n_features_in_, self.n_features_out_ = X.shape[1], Y.shape[1]
        self.source_preprocess_ = clone(make_preprocess(self.preprocess)).fit(X)
        self.target_preprocess_ = clone(make_preprocess(self.preprocess)).fit(Y)
        self.pairs_ = self._without_empty(X, Y, self._extend_pairs(X, Y, found, progress))
        return (
            self.source_preprocess_.transform(X[self.pairs_[:, 0]]),
            self.target_preprocess_.transform(Y[self.pairs_[:, 1]]),
        )

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Give source vectors in the shared space.

        Parameters
        ----------
        X : array of shape (n, d1)

        Returns
        -------
        ndarray of shape (n, d2), float32
        """
        check_is_fitted(self)
        X = as_matrix(X, "X", n_columns=self.n_features_in_)
        out = np.empty((len(X), self.map_.shape[1]), dtype=np.float32)

        def map_rows(rows: slice) -> None:
            np.matmul(self.source_preprocess_.transform(X[rows]), self.map_, out=out[rows])

        for _ in ordered_map(map_rows, row_blocks(len(X))):
            pass
        return out

    def transform_target(self, Y: ArrayLike) -> NDArray[np.float32]:
        """Give target vectors in the shared space: preprocessed, otherwise as they are.

        Parameters
        ----------
        Y : array of shape (m, d2)

        Returns
        -------
        ndarray of shape (m, d2), float32
        """
        check_is_fitted(self)
        Y = as_matrix(Y, "Y", n_columns=self.n_features_out_)
        mapped: NDArray[np.float32] = self.target_preprocess_.transform(Y)
        return mapped

    def score(self, X: ArrayLike, Y: ArrayLike) -> float:
        """Give the mean reciprocal rank of row i of Y among all rows of Y for row i of X, by cosine.

        Parameters
        ----------
        X : array of shape (n, d1)
        Y : array of shape (n, d2)

        Returns
        -------
        float
        """
        rows = as_pairs(None, len(np.asarray(X)), len(np.asarray(Y)))
        ranks = gold_ranks(self.transform(X), self.transform_target(Y), rows[:, 0], rows[:, 1])
        return float(np.mean(1 / ranks))

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        raise AssertionError("every aligner has its own")

    def _extend_pairs(
        self, X: NDArray, Y: NDArray, pairs: NDArray[np.int64], progress: Progress | None
    ) -> NDArray[np.int64]:
        """Give the pairs to fit on: those given, unless a method adds its own."""
        return pairs

    def _without_empty(self, X: NDArray, Y: NDArray, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leave out pairs with a vector of zeros, which says nothing."""
        filled = X[pairs[:, 0]].any(axis=1) & Y[pairs[:, 1]].any(axis=1)
        if not filled.any():
            raise FippError("every known pair has a vector of zeros on one side: there is nothing to learn from")
        if not filled.all():
            first = tuple(pairs[~filled][0].tolist())
            warnings.warn(
                f"{int((~filled).sum())} pairs with a vector of zeros on one side are left out (first: rows {first})",
                FippWarning,
                stacklevel=3,
            )
        return pairs[filled]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.allow_nan = False
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
