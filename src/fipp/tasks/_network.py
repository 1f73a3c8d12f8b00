"""What the networks of all tasks share: training on encoded texts, and prediction block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fipp._optional import require
from fipp._progress import Progress
from fipp.exceptions import FippError

if TYPE_CHECKING:
    import torch


class NetworkClassifier(BaseEstimator, ABC):
    """A classifier by a network over fixed word vectors; subclasses fill in the steps at the end.

    Its settings include ``dropout``, ``max_words``, ``device``, ``random_state`` and those of `TrainingSettings`. Only
    its methods import torch, so that the classifiers can be listed without it.
    """

    _what: ClassVar[str]
    _predict_at_once: ClassVar[int]
    dropout: float
    max_words: int
    device: str
    random_state: int

    def fit(self, texts: Any, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Self:
        """Train on encoded texts and their labels."""
        torch = require("torch", self._what, extra="torch")
        from fipp.tasks._training import TrainingSettings, choose_device, fingerprint_of, seeded, train

        self._check()
        if self.max_words < 1 or not 0 <= self.dropout < 1:
            raise FippError("max_words must be 1 or more, and dropout at least 0 and below 1")
        labels = np.ascontiguousarray(labels, dtype=np.int8)
        self.span_ = texts.span()
        texts = texts.within(self.span_)
        device = choose_device(self.device)
        with torch.random.fork_rng():
            torch.manual_seed(seeded(self.random_state))
            self.network_ = self._make_network(texts.dim, labels).to(device)
        wanted = torch.tensor(labels, device=device)
        names = set(TrainingSettings.__dataclass_fields__) & set(self.get_params())
        self.history_, self.best_epoch_ = train(
            self.network_,
            lambda rows: self._loss(self._scores(texts, rows), wanted[torch.from_numpy(rows).to(device)]),
            len(texts),
            TrainingSettings(**{name: getattr(self, name) for name in names}),
            fingerprint=fingerprint_of(self.get_params(), *texts.arrays(), labels),
            progress=progress,
        )
        return self

    def predict(self, texts: Any) -> NDArray[Any]:
        """Return the labels of encoded texts."""
        torch = require("torch", self._what, extra="torch")
        texts = texts.within(self.span_)
        rows = np.arange(len(texts))
        blocks = []
        with torch.no_grad():
            for start in range(0, len(rows), self._predict_at_once):
                scores = self._scores(texts, rows[start : start + self._predict_at_once])
                blocks.append(self._decide(scores).cpu().numpy())
        return np.concatenate(blocks)

    @abstractmethod
    def _check(self) -> None:
        """Refuse settings of this kind of network that make no sense."""

    @abstractmethod
    def _make_network(self, dim: int, labels: NDArray[np.int8]) -> torch.nn.Module:
        """Return the network with its initial parameters."""

    @abstractmethod
    def _scores(self, texts: Any, rows: NDArray[np.int64]) -> torch.Tensor:
        """Return the output of the network for the texts with these row numbers."""

    @abstractmethod
    def _loss(self, scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of that output."""

    @abstractmethod
    def _decide(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the labels that follow from that output."""
