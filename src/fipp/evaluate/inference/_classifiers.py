"""Two ways to tell entailment, neutral and contradiction: the paper's network, and a quick baseline."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fipp.evaluate._network_classifier import NetworkClassifier
from fipp.evaluate._tokens import Coverage, EncodedTexts
from fipp.evaluate.inference._corpus import LABELS
from fipp.exceptions import FippError
from fipp.linalg import Progress

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class EncodedPairs:
    """Premises and hypotheses as rows of word vectors, which they share."""

    premises: EncodedTexts
    hypotheses: EncodedTexts

    def __len__(self) -> int:
        return len(self.premises)

    @property
    def dim(self) -> int:
        """Dimensions of the vectors."""
        return self.premises.dim

    @property
    def coverage(self) -> Coverage:
        """How many words of both were found."""
        return self.premises.coverage

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return everything that a training on these pairs depends on."""
        return *self.premises.arrays(), *self.hypotheses.arrays()

    def span(self) -> NDArray[np.float32] | None:
        """Return the directions that hold all vectors in use; None if nothing less than d does."""
        return self.premises.span()

    def within(self, span: NDArray[np.float32] | None) -> EncodedPairs:
        """Return the same pairs with vectors as coordinates in a span."""
        return EncodedPairs(self.premises.within(span), self.hypotheses.within(span))


class LogisticInference(BaseEstimator):
    """Logistic regression on u, v, |u − v| and u∘v, where u and v are the sentences' mean vectors.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the regularisation.
    random_state : int, default=0
        Kept for the contract; the solver needs no chance.

    Examples
    --------
    >>> LogisticInference(C=0.1)
    LogisticInference(C=0.1)
    """

    def __init__(self, *, C: float = 1.0, random_state: int = 0) -> None:
        self.C = C
        self.random_state = random_state

    def fit(self, pairs: EncodedPairs, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Self:
        """Learn from encoded pairs and the numbers of their labels."""
        from sklearn.linear_model import LogisticRegression

        if len(np.unique(labels)) < 2:
            raise FippError("all pairs have the same label; there is nothing to learn")
        self.model_ = LogisticRegression(C=self.C, max_iter=1000).fit(_features(pairs), labels)
        if progress:
            progress(1, 1)
        return self

    def predict(self, pairs: EncodedPairs) -> NDArray[np.int8]:
        """Return the number of the label of each pair."""
        return np.asarray(self.model_.predict(_features(pairs)), dtype=np.int8)


def _features(pairs: EncodedPairs) -> NDArray[np.float32]:
    u, v = pairs.premises.means(), pairs.hypotheses.means()
    # Products of two unit vectors are small beside their entries: √d brings both to one size.
    return np.hstack([u, v, np.abs(u - v), u * v * np.sqrt(np.float32(u.shape[1]))])


class ESIMClassifier(NetworkClassifier):
    """ESIM (Chen et al. 2017), the model of the paper's section 5.2, with word vectors fixed.

    BiLSTM encoder, soft alignment of the words of both sentences, comparison, BiLSTM composition, mean and maximum, and
    a hidden layer. Vectors are fixed, so that the vectors of another language can take their place.

    Parameters
    ----------
    hidden : int, default=300
        Units of each LSTM and layer.
    dropout : float, default=0.5
        While training.
    max_words : int, default=100
        Sentences are cut after this many words.
    epochs, patience, holdout : int, int, float, default=20, 3, 0.05
        At most so many epochs; fewer if the loss on the held-out share of the training pairs has no new best for
        ``patience`` epochs.
    batch_size, learning_rate : int, float, default=32, 4e-4
        Of Adam, as in the paper of ESIM.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, …; ``"auto"`` is the GPU if there is one.
    checkpoint : path-like, optional
        A file to keep the state in after each epoch, and to go on from.
    random_state : int, default=0
        Settles first parameters, order, dropout and the held-out pairs.

    Attributes
    ----------
    history_ : list of (float, float)
        Loss of each epoch while training and on the held-out pairs.
    best_epoch_ : int
        The epoch whose parameters were kept, from 0.

    Examples
    --------
    >>> ESIMClassifier(hidden=50)
    ESIMClassifier(hidden=50)
    """

    _what = "ESIM"
    _predict_at_once = 128

    def __init__(
        self,
        *,
        hidden: int = 300,
        dropout: float = 0.5,
        max_words: int = 100,
        epochs: int = 20,
        patience: int = 3,
        holdout: float = 0.05,
        batch_size: int = 32,
        learning_rate: float = 4e-4,
        device: str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.max_words = max_words
        self.epochs = epochs
        self.patience = patience
        self.holdout = holdout
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _check(self) -> None:
        if self.hidden < 1:
            raise FippError("hidden must be 1 or more")

    def _make_network(self, dim: int, labels: NDArray[np.int8]) -> torch.nn.Module:
        from fipp.evaluate.inference._esim import ESIM

        return ESIM(dim, self.hidden, len(LABELS), self.dropout)

    def _scores(self, texts: EncodedPairs, rows: NDArray[np.int64]) -> torch.Tensor:
        from fipp.evaluate._torch_lookup import look_up

        premises = look_up(texts.premises, rows, self.max_words, self.network_)
        hypotheses = look_up(texts.hypotheses, rows, self.max_words, self.network_)
        scores: torch.Tensor = self.network_(*premises, *hypotheses)
        return scores

    def _loss(self, scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(scores, wanted.long())

    def _decide(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.argmax(dim=1).char()


CLASSIFIERS: dict[str, type[Any]] = {"esim": ESIMClassifier, "logistic": LogisticInference}
"""Classifiers by the name that `transfer` and the command line know them by."""
