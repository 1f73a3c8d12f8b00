"""Classifiers by a network over fixed word vectors: their settings, training and prediction."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fipp._optional import require
from fipp._progress import Progress
from fipp.exceptions import FippError
from fipp.tasks._texts import EncodedTexts

if TYPE_CHECKING:
    import torch

    from fipp.tasks._torch_networks import ESIM, TopicCNN


@dataclass(kw_only=True, repr=False, eq=False)
class NetworkClassifier(BaseEstimator, ABC):
    """What the networks of all tasks share; `CNNClassifier` describes the settings.

    Only its methods import torch, so that the classifiers can be listed without it.
    """

    _what: ClassVar[str]
    _predict_at_once: ClassVar[int]
    max_words: int = 500
    dropout: float = 0.5
    epochs: int = 20
    patience: int = 3
    holdout: float = 0.1
    batch_size: int = 50
    learning_rate: float = 1e-3
    device: str = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    random_state: int = 0

    def fit(self, texts: EncodedTexts, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Self:
        """Train on encoded texts and their labels."""
        torch = require("torch", self._what, extra="torch")
        from fipp.tasks._training import choose_device, fingerprint_of, seeded, train

        self._check()
        labels = np.ascontiguousarray(labels, dtype=np.int8)
        self.span_ = texts.span()
        texts = texts.within(self.span_)
        device = choose_device(self.device)
        with torch.random.fork_rng():
            torch.manual_seed(seeded(self.random_state))
            self.network_ = self._make_network(texts.dim, labels).to(device)
        wanted = torch.tensor(labels, device=device)
        self.history_, self.best_epoch_ = train(
            self.network_,
            lambda rows: self.network_.loss(self._scores(texts, rows), wanted[torch.from_numpy(rows).to(device)]),
            len(texts),
            self,
            fingerprint=fingerprint_of(self.get_params(), texts.ids, texts.offsets, texts.matrix, labels),
            progress=progress,
        )
        return self

    def predict(self, texts: EncodedTexts) -> NDArray[Any]:
        """Return the labels of encoded texts."""
        torch = require("torch", self._what, extra="torch")
        texts = texts.within(self.span_)
        rows = np.arange(len(texts))
        blocks = []
        with torch.no_grad():
            for start in range(0, len(rows), self._predict_at_once):
                scores = self._scores(texts, rows[start : start + self._predict_at_once])
                blocks.append(self.network_.decide(scores).cpu().numpy())
        return np.concatenate(blocks)

    @abstractmethod
    def _make_network(self, dim: int, labels: NDArray[np.int8]) -> TopicCNN | ESIM:
        """Return the network with its initial parameters."""

    def _check(self) -> None:
        """Refuse settings that make no sense."""
        for name in ("epochs", "patience", "batch_size", "max_words"):
            if getattr(self, name) < 1:
                raise FippError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if not 0 < self.holdout < 1:
            raise FippError(f"holdout must lie between 0 and 1, such as 0.1, not {self.holdout}")
        if not 0 <= self.dropout < 1:
            raise FippError(f"dropout must be at least 0 and below 1, not {self.dropout}")
        if not self.learning_rate > 0:
            raise FippError(f"learning_rate must be above 0, not {self.learning_rate}")

    def _scores(self, texts: EncodedTexts, rows: NDArray[np.int64]) -> torch.Tensor:
        """Return the output of the network for the texts with these row numbers."""
        from fipp.tasks._training import look_up

        parts = (look_up(part, rows, self.max_words, self.network_) for part in texts.parts)
        scores: torch.Tensor = self.network_(*(tensor for part in parts for tensor in part))
        return scores
