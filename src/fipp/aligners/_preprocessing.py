"""Fitting the preprocessing of an aligner: once for aligners that share it, and never with rows that stay too long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp._validation import too_long
from fipp.preprocess import make_preprocess

# Numbers up to this stay in the range of float32 when inner products are squared and summed.
_LARGEST = 1e8

# The preprocessing that aligners have in common, by its settings and by the array that it was fitted on, which is kept
# as well, so that no other array can take its place in memory.
_shared: ContextVar[dict[tuple[str, int], tuple[NDArray[Any], Any]] | None] = ContextVar("_shared", default=None)


@contextmanager
def shared_preprocessing() -> Iterator[None]:
    """Let aligners that are fitted inside, on the same arrays, share their preprocessing, which looks at every word."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def fit_preprocess(preprocess: Any, X: NDArray[Any], name: str) -> Any:
    """Return the preprocessing that ``preprocess`` names, fitted to X; it is fitted once if it is shared."""
    shared, key = _shared.get(), (repr(preprocess), id(X))
    if shared is None or preprocess is None:
        return _fit_new(preprocess, X, name)
    if key not in shared:
        shared[key] = X, _fit_new(preprocess, X, name)
    return shared[key][1]


def _fit_new(preprocess: Any, X: NDArray[Any], name: str) -> Any:
    """Fit the preprocessing of one side; refuse vectors that it leaves too long for products in float32."""
    fitted = clone(make_preprocess(preprocess)).fit(X)
    if max(float(X.max()), -float(X.min())) > _LARGEST:
        large = np.flatnonzero(np.abs(X).max(axis=1) > _LARGEST)
        still_large = ~(np.abs(fitted.transform(X[large])).max(axis=1) <= _LARGEST)
        if still_large.any():
            raise too_long(X, int(large[still_large][0]), name)
    return fitted
