r"""Preprocessing of vectors before they are aligned, as transformers with ``fit`` and ``transform``.

Their statistics (means, removed components) are taken from a whole vocabulary and kept with the fitted aligner, so that
new vectors are treated exactly as the training vectors were. A vector of zeros stands for a missing one and stays zero.

`Isotropic` is the paper's preprocessing and FIPP's default. It comes in two variants. ``"published"`` is what the
authors' code does: it subtracts the projection of the *uncentred* vectors on the removed components u, so that every
word keeps the constant −µ·u there. ``"textbook"`` (Mu and Viswanath, 2018) subtracts that of the centred vectors. The
published one is the default because the paper's results were obtained with it. On eight pairs of vectors and two sizes
of dictionary, both are equally good on average, but the constant can do harm if the target has fewer dimensions than
the source (docs/results/fipp.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from fipp._validation import LARGEST_NUMBER, as_matrix
from fipp.exceptions import FippError
from fipp.linalg import map_rows, mean_and_scatter, single_threaded_blas, unit_rows


class _Preprocessor(TransformerMixin, BaseEstimator):
    """A transformer of rows, applied block by block, that leaves vectors of zeros at zero."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    """None: `_check_fitted` checks the settings, because what they may be depends on the dimensions."""

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {"n_features_in_": "d"}
    """What a fitted one holds, checked when a model is saved and when it is loaded; see `fipp.io`."""

    _largest: ClassVar[float] = LARGEST_NUMBER
    """The largest number that it takes; what first scales vectors takes any."""

    def fit(self, X: NDArray[Any], y: object = None) -> Self:
        """Learn the statistics of a vocabulary.

        Parameters
        ----------
        X : array of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        X = as_matrix(X, "X", largest=self._largest)
        self.n_features_in_ = X.shape[1]
        self._check_fitted()
        self._learn(X)
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Return the preprocessed rows of ``X``.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d), float32
        """
        check_is_fitted(self)
        X = as_matrix(X, "X", n_columns=self.n_features_in_, owner=type(self).__name__, largest=self._largest)

        def apply(rows: NDArray[Any]) -> NDArray[np.float32]:
            missing = ~rows.any(axis=1)
            applied = self._apply(rows)
            if missing.any():
                applied = applied.copy()  # it may be the caller's
                applied[missing] = 0
            return applied

        return map_rows(apply, X, X.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _check_fitted(self) -> None:
        """Refuse settings that make no sense, or not for vectors of this dimension."""

    def _learn(self, X: NDArray[Any]) -> None:
        """Set the fitted attributes, if the preprocessing has any."""

    def _apply(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Return a block of preprocessed rows; vectors of zeros need no care."""
        return X.astype(np.float32, copy=False)


class UnitLength(_Preprocessor):
    """Scale every vector to length 1.

    Examples
    --------
    >>> UnitLength().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """

    _largest = np.inf

    def _apply(self, X: NDArray[Any]) -> NDArray[np.float32]:
        return unit_rows(X)


class Centre(_Preprocessor):
    """Subtract the vocabulary's mean.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)

    Examples
    --------
    >>> Centre().fit_transform([[1.0, 2.0], [3.0, 2.0]])
    array([[-1.,  0.],
           [ 1.,  0.]], dtype=float32)
    """

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {**_Preprocessor._fitted_constraints, "mean_": "float32 d"}

    def _learn(self, X: NDArray[Any]) -> None:
        self.mean_ = mean_and_scatter(X, super()._apply, scatter=False)[0].astype(np.float32)

    def _apply(self, X: NDArray[Any]) -> NDArray[np.float32]:
        return super()._apply(X) - self.mean_


class Isotropic(_Preprocessor):
    """Unit length, centring, and removal of the top principal components (Mu and Viswanath, 2018).

    Parameters
    ----------
    n_components : int, default=1
        The number of components to remove: one in the paper; for many vectors two to six are better.
    variant : {"published", "textbook"}, default="published"
        Whether to subtract the projection of the uncentred vectors, as in the authors' code, or that of the centred
        ones.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the vectors of unit length.
    components_ : ndarray of shape (n_components, d)
        The removed directions.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4)) + [5, 0, 0, 0]
    >>> removed = Isotropic(n_components=2, variant="textbook").fit(X)
    >>> bool(np.abs(removed.transform(X) @ removed.components_.T).max() < 1e-6)
    True
    """

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **_Preprocessor._fitted_constraints,
        "mean_": "float32 d",
        "components_": "float32 r d",
    }

    _largest = np.inf

    def __init__(self, n_components: int = 1, variant: Literal["published", "textbook"] = "published") -> None:
        self.n_components = n_components
        self.variant = variant

    def _check_fitted(self) -> None:
        d = self.n_features_in_
        if self.variant not in ("published", "textbook"):
            raise FippError(f"variant must be 'published' or 'textbook', not {self.variant!r}")
        if not (isinstance(self.n_components, (int, np.integer)) and 0 <= self.n_components < max(d, 2)):
            raise FippError(f"n_components must be a whole number from 0 to {d - 1}, not {self.n_components!r}")

    def _learn(self, X: NDArray[Any]) -> None:
        d = X.shape[1]
        # With one dimension, removing the only component would leave nothing.
        n_components = min(self.n_components, d - 1)
        mean, scatter = mean_and_scatter(X, unit_rows)
        components = np.zeros((0, d))
        if n_components:
            with single_threaded_blas:
                _, top = scipy.linalg.eigh(scatter, subset_by_index=[d - n_components, d - 1])
            components = top.T[::-1]
        self.mean_ = mean.astype(np.float32)
        self.components_ = components.astype(np.float32)

    def _apply(self, X: NDArray[Any]) -> NDArray[np.float32]:
        unit = unit_rows(X)
        centred: NDArray[np.float32] = unit - self.mean_
        projected = unit if self.variant == "published" else centred
        centred -= (projected @ self.components_.T) @ self.components_
        return centred


class IterativeNormalization(_Preprocessor):
    """Alternate unit length and centring, which brings vectors close to both (Zhang et al., 2019).

    Parameters
    ----------
    n_iterations : int, default=5

    Attributes
    ----------
    means_ : ndarray of shape (n_iterations, d)
        The mean subtracted in each iteration; new vectors go through the same steps.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4)) + [5, 0, 0, 0]
    >>> Z = IterativeNormalization(n_iterations=20).fit_transform(X)
    >>> bool(np.abs(Z.mean(axis=0)).max() < 1e-5), bool(np.abs(np.linalg.norm(Z, axis=1) - 1).max() < 1e-3)
    (True, True)
    """

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {**_Preprocessor._fitted_constraints, "means_": "float32 n d"}

    _largest = np.inf

    def __init__(self, n_iterations: int = 5) -> None:
        self.n_iterations = n_iterations

    def _check_fitted(self) -> None:
        if not (isinstance(self.n_iterations, (int, np.integer)) and self.n_iterations >= 1):
            raise FippError(f"n_iterations must be a whole number from 1, not {self.n_iterations!r}")

    def _learn(self, X: NDArray[Any]) -> None:
        self.means_ = np.zeros((0, X.shape[1]), dtype=np.float32)
        for _ in range(self.n_iterations):
            mean, _ = mean_and_scatter(X, lambda rows: unit_rows(self._apply(rows)), scatter=False)
            self.means_ = np.vstack([self.means_, mean.astype(np.float32)])

    def _apply(self, X: NDArray[Any]) -> NDArray[np.float32]:
        zero = ~X.any(axis=1)
        for mean in self.means_:
            X = unit_rows(X) - mean
            X[zero] = 0
        return X


class Unchanged(_Preprocessor):
    """Leave vectors unchanged.

    Examples
    --------
    >>> Unchanged().fit_transform([[1.0, 2.0]])
    array([[1., 2.]], dtype=float32)
    """


_BY_NAME: dict[str, Any] = {
    "none": Unchanged,
    "unit": UnitLength,
    "centre": Centre,
    "isotropic": Isotropic,
    "isotropic-textbook": lambda: Isotropic(variant="textbook"),
    "iterative": IterativeNormalization,
}
# What the number after a colon sets: "isotropic:3" removes three components.
_NUMBERS = {"isotropic": "n_components", "isotropic-textbook": "n_components", "iterative": "n_iterations"}


def make_preprocess(preprocess: str | Any | None) -> Any:
    """Return a fresh transformer for the name of a preprocessing, a chain of names, or a transformer.

    Parameters
    ----------
    preprocess : str, transformer or None
        ``"isotropic"``, ``"isotropic-textbook"``, ``"iterative"``, ``"unit"``, ``"centre"``, ``"none"`` (as None), or
        several joined by ``+`` and applied from left to right, such as ``"unit+centre+unit"``. A number after a colon
        is how many components ``"isotropic:3"`` removes, or how many iterations ``"iterative:10"`` takes. A
        scikit-learn transformer is returned unchanged.

    Returns
    -------
    transformer

    Examples
    --------
    >>> make_preprocess("isotropic")
    Isotropic()
    >>> make_preprocess("isotropic-textbook:3")
    Isotropic(n_components=3, variant='textbook')
    >>> [step for step, _ in make_preprocess("unit+centre+unit").steps]
    ['unitlength-1', 'centre', 'unitlength-2']
    """
    if preprocess is None:
        return Unchanged()
    if not isinstance(preprocess, str):
        if not (hasattr(preprocess, "fit") and hasattr(preprocess, "transform")):
            raise FippError(f"preprocess must be a name or a transformer with fit and transform, not {preprocess!r}")
        return preprocess
    steps = [_make_step(name.strip()) for name in preprocess.split("+")]
    return steps[0] if len(steps) == 1 else make_pipeline(*steps)


def _make_step(text: str) -> Any:
    name, colon, number = text.partition(":")
    if name not in _BY_NAME:
        raise FippError(f"there is no preprocessing {name!r}; known are {', '.join(_BY_NAME)}")
    step = _BY_NAME[name]()
    if not colon:
        return step
    if name not in _NUMBERS:
        raise FippError(f"the preprocessing {name!r} takes no number, but {text!r} has one")
    if not number.isdecimal():
        raise FippError(f"a whole number must follow the colon, as in '{name}:3', not {text!r}")
    return step.set_params(**{_NUMBERS[name]: int(number)})


def with_components(preprocess: str | Any | None, n_components: int) -> Any:
    """Return a preprocessing with another number of components to remove.

    Parameters
    ----------
    preprocess : str, transformer or None
        As for `make_preprocess`; it must be one that removes components.
    n_components : int
        The number of components to remove.

    Returns
    -------
    transformer

    Examples
    --------
    >>> with_components("isotropic", 3)
    Isotropic(n_components=3)
    """
    transformer = clone(make_preprocess(preprocess))
    names = [name for name in transformer.get_params() if name.split("__")[-1] == "n_components"]
    if not names:
        raise FippError(f"the preprocessing {preprocess!r} removes no components; 'isotropic' does")
    return transformer.set_params(**dict.fromkeys(names, n_components))


__all__ = [
    "Centre",
    "Isotropic",
    "IterativeNormalization",
    "Unchanged",
    "UnitLength",
    "make_preprocess",
    "with_components",
]
