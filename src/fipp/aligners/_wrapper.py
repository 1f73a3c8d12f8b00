"""The base class of aligners that fit another aligner and map by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from fipp.aligners._base import INPUT, NO_PAIRS, BaseAligner
from fipp.aligners._spectral import Spectral
from fipp.preprocess import make_preprocess


class WrappingAligner(BaseAligner):
    """An aligner that fits another one, ``aligner_``, and maps by it."""

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {**INPUT, "aligner_": "aligner d1 d2 k"}

    preprocess: Any = None
    aligner: Any = None
    aligner_: BaseAligner
    left_out_pairs_: NDArray[np.int64] = NO_PAIRS
    """Given pairs that ``aligner_`` was fitted without."""

    def _inner(self) -> BaseAligner:
        """Return an unfitted copy of the given aligner; `Spectral` by default."""
        return Spectral() if self.aligner is None else clone(self.aligner)

    @property
    def induced_pairs_(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The pairs that ``aligner_`` was fitted on beyond the given ones, and those that it found itself."""
        check_is_fitted(self)
        inner, n_known = self.aligner_, len(self.pairs_) - len(self.left_out_pairs_)
        return np.concatenate([inner.pairs_[n_known:], inner.induced_pairs_])

    def _fit_preprocess(self, X: NDArray[Any], name: str) -> Any:
        """Leave vectors unchanged: ``aligner_`` has its own preprocessing."""
        return make_preprocess(None).fit(X)

    @property
    def map_(self) -> NDArray[np.float32]:  # type: ignore[override]
        """The map of ``aligner_``."""
        check_is_fitted(self)
        return self.aligner_.map_

    @property
    def target_map_(self) -> NDArray[np.float32] | None:  # type: ignore[override]
        """The target's map of ``aligner_``, if it has one."""
        return self.aligner_.target_map_

    def _check_fitted(self) -> None:
        """Do nothing: what could be wrong is wrong with ``aligner_``."""

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return source vectors in the shared space of ``aligner_``."""
        check_is_fitted(self)
        return self.aligner_.transform(X)

    def transform_target(self, Y: ArrayLike) -> NDArray[np.float32]:
        """Return target vectors in the shared space of ``aligner_``."""
        check_is_fitted(self)
        return self.aligner_.transform_target(Y)
