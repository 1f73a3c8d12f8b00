"""The CCA that the paper compares with in its section 5.2: scikit-learn's, which is iterative."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.cross_decomposition import CCA

from fipp.aligners import BaseAligner
from fipp.linalg import Progress

# With scikit-learn's 500, a fifth of 300 components is left before it has converged.
_MAX_ITER = 5000


class ScikitCCA(BaseAligner):
    """Canonical correlation analysis by scikit-learn, all components, of vectors of unit length.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((200, 5))
    >>> X = Y @ rng.standard_normal((5, 3))
    >>> aligner = ScikitCCA().fit(X, Y)
    >>> aligner.transform(X).shape, aligner.transform_target(Y).shape
    ((200, 3), (200, 3))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    preprocess = "unit"

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        d1, d2 = X_s.shape[1], X_t.shape[1]
        cca = CCA(min(len(X_s), d1, d2), max_iter=_MAX_ITER).fit(X_s.astype(np.float64), X_t.astype(np.float64))
        # An affine map is known by what it makes of zero and of the unit vectors.
        origins = cca.transform(np.zeros((1, d1)), np.zeros((1, d2)))
        units = cca.transform(np.eye(d1), np.eye(d2))
        self.offset_, self.target_offset_ = (origin[0].astype(np.float32) for origin in origins)
        self.map_, self.target_map_ = (
            (unit - origin).astype(np.float32) for unit, origin in zip(units, origins, strict=True)
        )
