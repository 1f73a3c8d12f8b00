"""The multi-step framework of linear maps: whitening, rotation, re-weighting, de-whitening, fewer dimensions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import cross_products, single_threaded_blas


class Rotations(NamedTuple):
    """U and V of shape (d1, k) and (d2, k) with UᵀCV = diag(s), s falling, k at most the rank of C."""

    U: NDArray[np.float64]
    s: NDArray[np.float64]
    V: NDArray[np.float64]


class Whitening(NamedTuple):
    """The root of a scatter matrix, and its inverse."""

    apply: NDArray[np.float64]
    undo: NDArray[np.float64]


class Maps(NamedTuple):
    """What either side is multiplied by, and the singular values of the seed's cross-covariance."""

    source: NDArray[np.float64]
    target: NDArray[np.float64]
    singular_values: NDArray[np.float64]


@single_threaded_blas
def rotations(C: NDArray[np.float64]) -> Rotations:
    """Return the orthogonal maps of both sides that maximise tr(UᵀCV); directions without anything are left out.

    Examples
    --------
    >>> rotations(np.array([[0.0, 3.0, 0.0], [2.0, 0.0, 0.0]])).s
    array([3., 2.])
    """
    U, s, Vt = np.linalg.svd(C, full_matrices=False)
    present = s > np.finfo(np.float32).eps * s.max(initial=0)
    return Rotations(U[:, present], s[present], Vt[present].T)


@single_threaded_blas
def whitening(scatter: NDArray[np.float64], regularization: float) -> Whitening:
    """Return (S + λI)^(-1/2) and (S + λI)^(1/2), λ = ``regularization`` times the mean eigenvalue of S.

    Directions in which S + λI has nothing are left out by both.

    Examples
    --------
    >>> whitening(np.diag([4.0, 0.0]), 0.0)
    Whitening(apply=array([[0.5, 0. ], [0. , 0. ]]), undo=array([[2., 0.], [0., 0.]]))
    """
    values, V = np.linalg.eigh(scatter)
    values = values + regularization * max(np.trace(scatter) / len(scatter), 0.0)
    present = values > np.finfo(np.float32).eps * values.max(initial=0)
    root, V = np.sqrt(values[present]), V[:, present]
    return Whitening((V / root) @ V.T, (V * root) @ V.T)


@single_threaded_blas
def multi_step_maps(
    X_s: NDArray[np.float32],
    X_t: NDArray[np.float32],
    *,
    whiten: bool,
    regularization: tuple[float, float],
    reweight: tuple[float, float],
    dewhiten: tuple[str | None, str | None],
    n_components: int | None,
) -> Maps:
    """Fit the framework to the vectors of known pairs.

    Parameters
    ----------
    X_s, X_t : ndarray of shape (c, d1), (c, d2)
    whiten : bool
        Whether both sides are whitened before they are rotated.
    regularization : tuple of float
        Of the whitening of source and target.
    reweight : tuple of float
        Powers of the singular values that source and target are multiplied by.
    dewhiten : tuple of {"source", "target", None}
        The language whose scatter source and target are given back.
    n_components : int or None
        How many dimensions are kept.

    Returns
    -------
    Maps

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    >>> maps = multi_step_maps(
    ...     X,
    ...     X,
    ...     whiten=True,
    ...     regularization=(0, 0),
    ...     reweight=(0.5, 0.5),
    ...     dewhiten=("source", "target"),
    ...     n_components=None,
    ... )
    >>> maps.singular_values.round(5)
    array([1., 1., 1.])
    """
    C = cross_products(X_s, X_t)
    sides = {"source": X_s, "target": X_t}
    white = {}
    if whiten:
        for (side, rows), ridge in zip(sides.items(), regularization, strict=True):
            white[side] = whitening(cross_products(rows, rows), ridge)
        C = white["source"].apply @ C @ white["target"].apply
    U, s, V = rotations(C)
    turned = {"source": U, "target": V}
    maps = []
    for side, power, back in zip(sides, reweight, dewhiten, strict=True):
        linear = (white[side].apply @ turned[side] if whiten else turned[side]) * s**power
        if whiten and back is not None:
            linear = linear @ (turned[back].T @ white[back].undo @ turned[back])
        maps.append(linear[:, :n_components])
    return Maps(maps[0], maps[1], s)
