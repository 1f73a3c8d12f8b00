"""The contract that every aligner keeps: ``fit(X, Y, pairs)``, ``transform``, ``transform_target``, ``score``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from fipp._progress import Progress
from fipp._validation import LARGEST_NUMBER, as_matrix, as_pairs, as_weights, require_usable, rows_not_finite, too_long
from fipp.aligners._preprocessing import fit_preprocess
from fipp.aligners._state import from_model, to_model
from fipp.exceptions import FippError, warn
from fipp.io import read_model, write_model
from fipp.linalg import affine, map_rows, single_threaded_blas
from fipp.retrieve import ranks_of_gold

NO_PAIRS = np.empty((0, 2), np.int64)
NO_PAIRS.flags.writeable = False

INPUT: Mapping[str, Any] = {
    "n_features_in_": "d1",
    "n_features_out_": "d2",
    "source_preprocess_": "preprocess d1",
    "target_preprocess_": "preprocess d2",
    "pairs_": "int64 c 2",
}
"""The fitted attributes that every aligner has, as in ``_fitted_constraints``."""

LearnsFrom = Literal["pairs", "identical", "spelling", "nothing"]


def rows_with_vectors(X: NDArray[Any], side: str) -> NDArray[np.int64]:
    """Return the numbers of the rows that are not zero; raise an error if there are none."""
    rows = np.flatnonzero(X.any(axis=1))
    if not len(rows):
        raise FippError(f"every {side} vector is zero: there is nothing to learn from")
    return rows


class BaseAligner(TransformerMixin, BaseEstimator):
    """The base class of all aligners: it checks the input, keeps the preprocessing with the model, and maps vectors.

    A subclass sets ``map_`` of shape (d1, k) in ``_fit_seed``, or in ``_fit_vocabulary`` if it learns from more than
    the pairs. If its mathematics has them, it also sets ``target_map_`` of shape (d2, k) and the offset of either side.
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """Values of the settings that `fipp.tune` tries unless told otherwise."""

    linear: ClassVar[bool] = True
    """Whether it maps a preprocessed vector by a product with ``map_`` and an offset alone."""

    takes_weights: ClassVar[bool] = False
    """Whether `fit` takes ``sample_weight``."""

    calculated_before_saving: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that are calculated when first read, and that a saved model should have."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    """The values that settings may take; ``preprocess`` and ``aligner`` are checked where they are used."""

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **INPUT,
        "induced_pairs_?": "int64 i 2",
        "map_": "float32 d1 k",
        "target_map_?": "float32 d2 k",
        "offset_?": "float32 k",
        "target_offset_?": "float32 k",
    }
    """What a fitted aligner holds, checked when it is saved and when it is loaded; see ``_state`` for the language."""

    preprocess: Any

    pairs_: NDArray[np.int64]
    """The known pairs as given, without those that have a vector of zeros; empty if the method learns from none."""
    induced_pairs_: NDArray[np.int64] = NO_PAIRS
    """Pairs that the method found itself and learned from; empty unless it looks for some."""

    _sample_weight: NDArray[np.float64] | None = None
    """The weight of each of ``pairs_``, during `fit`."""
    _guesses: NDArray[np.int64] | None = None
    """Pairs that may be right, during `fit`; None if none were given."""

    map_: NDArray[np.float32]
    target_map_: NDArray[np.float32] | None = None
    """What target vectors are multiplied by; None leaves them as they are."""
    offset_: NDArray[np.float32] | None = None
    """What is added to every mapped source vector."""
    target_offset_: NDArray[np.float32] | None = None
    """What is added to every mapped target vector."""

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from.

        ``"pairs"``: known pairs. ``"identical"``: words that both vocabularies have. ``"spelling"``: words spelled
        alike, if there are any. ``"nothing"``: the vocabularies alone. Methods that learn from identical words or from
        spelling take them as ``guesses`` in `fit`, and treat pairs that are given as guesses too.
        """
        return "pairs"

    guesses_below: ClassVar[int] = 0
    """Beside known pairs of fewer source words than this, `fit` makes use of ``guesses``."""

    @property
    def takes_guesses(self) -> bool:
        """Whether `fit` takes ``guesses``."""
        return self.learns_from in ("identical", "spelling")

    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None = None,
        *,
        guesses: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the map from known pairs, or from what else the method learns from.

        Parameters
        ----------
        X : array of shape (n, d1)
            The source vocabulary.
        Y : array of shape (m, d2)
            The target vocabulary.
        pairs : array of shape (c, 2), optional
            Row numbers of known pairs. Without it, row i of X belongs to row i of Y.
        guesses : array of shape (g, 2), optional
            Row numbers of pairs that may be right, instead of known ones or, for ``Auto``, beside them; it may be
            empty. Only for methods with ``takes_guesses``.
        progress : callable, optional
            Called as ``progress(done, total)`` during the long part.

        Returns
        -------
        self
        """
        return self._fit(X, Y, pairs, guesses=guesses, progress=progress)

    def _fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None,
        *,
        guesses: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        if guesses is None and self.learns_from in ("identical", "spelling"):
            guesses = np.empty((0, 2), np.int64) if pairs is None and self.learns_from == "spelling" else pairs
        # `ordered_map` divides the work among threads; threads of BLAS would make rounding depend on their number.
        with single_threaded_blas:
            X, Y = self._check(X, Y, pairs, guesses=guesses, sample_weight=sample_weight)
            self._fit_vocabulary(X, Y, progress)
        self._refuse_overflow()
        # They belong to this fit and are not kept with the model.
        self._sample_weight = self._guesses = None
        return self

    @property
    def path_settings(self) -> tuple[str, ...]:
        """Names of the settings whose values share most of the work in `fit_many`."""
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
        """Fit a copy of this aligner for each of several settings.

        Settings that differ in ``path_settings`` only share most of the work.

        Parameters
        ----------
        X, Y, pairs, progress
            As for `fit`.
        settings : sequence of dict
            The settings in which each copy differs from this aligner.

        Returns
        -------
        list of aligners
            Fitted, in the order of ``settings``.

        Examples
        --------
        One pass over the Gram tiles serves any number of ε and λ:

        >>> from fipp import FIPP
        >>> X = np.random.default_rng(0).standard_normal((50, 8))
        >>> fitted = FIPP().fit_many(X, X[:, ::-1], settings=[{"epsilon": 0.05}, {"epsilon": 0.1, "lam": 0.5}])
        >>> [(aligner.epsilon, aligner.lam) for aligner in fitted]
        [(0.05, 1.0), (0.1, 0.5)]
        """
        copies = [clone(self).set_params(**changed) for changed in settings]
        if not self.path_settings or not all(set(changed) <= set(self.path_settings) for changed in settings):
            return [copy.fit(X, Y, pairs, progress=progress) for copy in copies]
        for copy in copies:
            copy._validate_params()
        shared = clone(self)
        with single_threaded_blas:
            X_s, X_t = shared._seed_rows(*shared._check(X, Y, pairs), progress)
            for copy in copies:
                vars(copy).update({name: value for name, value in vars(shared).items() if name.endswith("_")})
            self._fit_together(copies, X_s, X_t, progress)
        for copy in copies:
            copy._refuse_overflow()
        return copies

    def _fit_together(
        self, copies: list[Self], X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None
    ) -> None:
        """Fit copies that differ in ``path_settings`` only on the preprocessed vectors of the same pairs."""
        raise AssertionError("every aligner with path_settings has its own")

    def _check(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None,
        *,
        guesses: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Check everything, fit the preprocessing, set ``pairs_``, and return both vocabularies as arrays."""
        self._validate_params()
        if Y is None:
            raise FippError("requires y to be passed, but the target y is None: fit takes source and target vectors")
        X, Y = as_matrix(X, "X", largest=LARGEST_NUMBER), as_matrix(Y, "Y", largest=LARGEST_NUMBER)
        given, weights = self._check_pairs(pairs, guesses, sample_weight, len(X), len(Y))
        for fitted_before in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, fitted_before)
        self.n_features_in_, self.n_features_out_ = X.shape[1], Y.shape[1]
        self.source_preprocess_, self.target_preprocess_ = self._fit_preprocess(X, "X"), self._fit_preprocess(Y, "Y")
        filled = self._filled(X, Y, given)
        self.pairs_ = given[filled]
        if weights is not None:
            weights = weights[filled]
            require_usable(weights)
        self._sample_weight = weights
        self._guesses = None if guesses is None else self._checked_guesses(X, Y, guesses)
        return X, Y

    def _check_pairs(
        self,
        pairs: ArrayLike | None,
        guesses: ArrayLike | None,
        sample_weight: ArrayLike | None,
        n_source: int,
        n_target: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """Return the known pairs, each once, and their weights if any were given."""
        name = type(self).__name__
        if guesses is not None and not self.takes_guesses:
            raise FippError(f"{name} takes no guesses: it learns from {self.learns_from}")
        beside = pairs is not None and self.learns_from == "pairs"
        if (guesses is not None and not beside) or self.learns_from == "nothing":
            return NO_PAIRS, None
        given = as_pairs(pairs, n_source, n_target)
        if sample_weight is None:
            return given, None
        return given, as_weights(sample_weight, given if pairs is None else pairs, given)

    def _checked_guesses(self, X: NDArray[Any], Y: NDArray[Any], guesses: ArrayLike) -> NDArray[np.int64]:
        """Return the guesses that have vectors on both sides, each once."""
        if not np.size(guesses):
            return NO_PAIRS
        checked = as_pairs(guesses, len(X), len(Y))
        return checked[X[checked[:, 0]].any(axis=1) & Y[checked[:, 1]].any(axis=1)]

    def _fit_preprocess(self, X: NDArray[Any], name: str) -> Any:
        """Return the preprocessing of one side, fitted."""
        return fit_preprocess(self.preprocess, X, name)

    def _seed_rows(
        self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the preprocessed vectors of the pairs to fit on, X_s and X_t."""
        source, target = self._extend_pairs(X, Y, progress).T
        return self.source_preprocess_.transform(X[source]), self.target_preprocess_.transform(Y[target])

    def _refuse_overflow(self) -> None:
        """Refuse settings that make a map too large for float32."""
        parts = (self.map_, self.target_map_, self.offset_, self.target_offset_)
        if not all(part is None or np.isfinite(part).all() for part in parts):
            settings = " ".join(repr(self).split())
            raise FippError(
                f"{settings} makes a map of these vectors that leaves the range of float32: choose settings nearer to "
                "the defaults"
            )

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return source vectors in the shared space.

        Parameters
        ----------
        X : array of shape (n, d1)

        Returns
        -------
        ndarray of shape (n, k), float32
            k is d2 unless the method maps the target as well.
        """
        check_is_fitted(self)
        X = as_matrix(X, "X", n_columns=self.n_features_in_, owner=type(self).__name__, largest=LARGEST_NUMBER)
        return self._mapped(lambda rows: self._map_source(self.source_preprocess_.transform(rows)), X, "X")

    def transform_target(self, Y: ArrayLike) -> NDArray[np.float32]:
        """Return target vectors in the shared space: preprocessed, and mapped only if the method maps the target too.

        Parameters
        ----------
        Y : array of shape (m, d2)

        Returns
        -------
        ndarray of shape (m, k), float32
        """
        check_is_fitted(self)
        Y = as_matrix(Y, "Y", n_columns=self.n_features_out_, owner=type(self).__name__, largest=LARGEST_NUMBER)
        return self._mapped(lambda rows: self._map_target(self.target_preprocess_.transform(rows)), Y, "Y")

    def _mapped(
        self, function: Callable[[NDArray[Any]], NDArray[Any]], X: NDArray[Any], name: str
    ) -> NDArray[np.float32]:
        """Return what ``function`` makes of each row of X; refuse rows that leave the range of float32 by it."""

        def map_block(rows: NDArray[Any]) -> NDArray[Any]:
            with np.errstate(over="ignore"):
                return function(rows)

        mapped = map_rows(map_block, X, self.map_.shape[1])
        for row in rows_not_finite(mapped):
            raise too_long(X, row, name)
        return mapped

    def _map_source(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map preprocessed source vectors."""
        return affine(rows, self.map_, self.offset_)

    def _map_target(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map preprocessed target vectors; most methods leave them unchanged."""
        return affine(rows, self.target_map_, self.target_offset_)

    def score(self, X: ArrayLike, Y: ArrayLike) -> float:
        """Return the mean reciprocal rank of row i of Y among all rows of Y for row i of X, by cosine.

        Parameters
        ----------
        X : array of shape (n, d1)
        Y : array of shape (n, d2)

        Returns
        -------
        float
        """
        rows = as_pairs(None, len(np.asarray(X)), len(np.asarray(Y)))
        ranks = ranks_of_gold(self.transform(X), self.transform_target(Y), rows[:, 0], rows[:, 1])
        return float(np.mean(1 / ranks))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted aligner to one small file (safetensors with a JSON header), without any vectors.

        Parameters
        ----------
        path : str or path-like
            The file; written whole or not at all.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from fipp import Procrustes
        >>> X = np.random.default_rng(0).standard_normal((20, 4))
        >>> path = pathlib.Path(tempfile.mkdtemp(), "old-to-new.fipp")
        >>> Procrustes().fit(X, X[:, ::-1]).save(path)
        >>> Procrustes.load(path).transform(X).shape
        (20, 4)
        """
        check_is_fitted(self)
        write_model(path, *to_model(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an aligner that `save` wrote, or that of a file that `fipp.Alignment.save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file. ``BaseAligner.load`` takes any aligner; a method's own ``load`` refuses other methods.

        Returns
        -------
        aligner
        """
        aligner = from_model(*read_model(path), path)
        if not isinstance(aligner, cls):
            found = type(aligner).__name__
            raise FippError(f"{path} holds an aligner of the class {found}, not {cls.__name__}: use {found}.load")
        return aligner

    def _check_fitted(self) -> None:
        """Refuse what ``_fitted_constraints`` cannot say: without a map of its own, the target is the shared space."""
        if self.target_map_ is None and self.map_.shape[1] != self.n_features_out_:
            raise FippError(f"the map leads to {self.map_.shape[1]} dimensions, the target has {self.n_features_out_}")

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        """Learn from checked vocabularies and ``pairs_``; most methods use the vectors of the pairs only."""
        self._fit_seed(*self._seed_rows(X, Y, progress), progress)

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        raise AssertionError("every aligner has its own")

    def _extend_pairs(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> NDArray[np.int64]:
        """Return the pairs to fit on: ``pairs_`` or the guesses, and ``induced_pairs_`` if a method adds its own."""
        return self.pairs_ if self._guesses is None else self._guesses

    def _filled(self, X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs have no vector of zeros on either side; warn about the others."""
        filled = np.asarray(X[pairs[:, 0]].any(axis=1) & Y[pairs[:, 1]].any(axis=1))
        if len(pairs) and not filled.any():
            raise FippError("every known pair has a vector of zeros on one side: there is nothing to learn from")
        if not filled.all():
            first = tuple(pairs[~filled][0].tolist())
            warn(f"{int((~filled).sum())} pairs with a vector of zeros on one side are left out (first: rows {first})")
        return filled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.allow_nan = False
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class WeightedAligner(BaseAligner):
    """An aligner whose `fit` takes a weight for each known pair."""

    takes_weights: ClassVar[bool] = True

    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        guesses: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the map as every aligner does, from pairs that may have weights.

        Parameters
        ----------
        X, Y, pairs, guesses, progress
            As for every aligner.
        sample_weight : array of shape (c,), optional
            The weight of each pair, 1 by default.
        """
        return self._fit(X, Y, pairs, guesses=guesses, sample_weight=sample_weight, progress=progress)
