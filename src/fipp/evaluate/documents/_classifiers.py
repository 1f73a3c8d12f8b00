"""Two ways to tell the topics of documents: the paper's network, and a quick baseline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fipp.evaluate._network_classifier import NetworkClassifier
from fipp.evaluate._tokens import EncodedTexts
from fipp.exceptions import FippError
from fipp.linalg import Progress

if TYPE_CHECKING:
    import torch


class LogisticClassifier(BaseEstimator):
    """A logistic regression for each topic on the mean of a text's word vectors: seconds instead of minutes.

    Parameters
    ----------
    C : float, default=100.0
        Inverse strength of the regularisation; for means at unit length.
    balanced : bool, default=False
        Whether texts about a topic and others weigh the same in all.
    random_state : int, default=0
        Kept for the contract; the solver needs no chance.

    Examples
    --------
    >>> from fipp import Vectors
    >>> from fipp.evaluate.documents import encode
    >>> vectors = Vectors(["song", "vote"], [[1.0, 0.0], [0.0, 1.0]])
    >>> texts = encode(["song song vote", "vote"] * 5, vectors)
    >>> LogisticClassifier().fit(texts, np.array([[1], [0]] * 5)).predict(texts)[:2].ravel()
    array([ True, False])
    """

    def __init__(self, *, C: float = 100.0, balanced: bool = False, random_state: int = 0) -> None:
        self.C = C
        self.balanced = balanced
        self.random_state = random_state

    def fit(self, texts: EncodedTexts, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Self:
        """Learn from encoded texts and labels of shape (texts, topics)."""
        from sklearn.linear_model import LogisticRegression

        means = texts.means()
        self.models_: list[Any] = []
        for topic in range(labels.shape[1]):
            counts = labels[:, topic] >= 0
            wanted = labels[counts, topic] == 1
            if wanted.all() or not wanted.any():
                self.models_.append(bool(wanted.any()))  # nothing to tell apart
            else:
                weight = "balanced" if self.balanced else None
                model = LogisticRegression(C=self.C, class_weight=weight, max_iter=1000)
                self.models_.append(model.fit(means[counts], wanted))
            if progress:
                progress(topic + 1, labels.shape[1])
        return self

    def predict(self, texts: EncodedTexts) -> NDArray[np.bool_]:
        """Say for each text and topic whether it is about it."""
        means = texts.means()
        columns = [
            np.full(len(means), model) if isinstance(model, bool) else model.predict(means) for model in self.models_
        ]
        return np.stack(columns, axis=1).astype(bool)


class CNNClassifier(NetworkClassifier):
    """The convolutional network of the paper's section 5.2: a binary decision for each topic, word vectors fixed.

    The paper refers for it to Glavaš et al. (2019) and gives neither widths nor counts; the defaults are ours.

    Parameters
    ----------
    widths : sequence of int, default=(2, 3, 4, 5)
        Widths of the windows, in words.
    filters : int, default=8
        Filters of each width, for each topic.
    shared : bool, default=False
        Whether all topics decide by the same filters. Otherwise there is a network for each topic, as in the paper,
        and the work grows with the topics.
    max_words : int, default=500
        Texts are cut after this many words.
    dropout : float, default=0.5
        Of the pooled features, while training.
    epochs, patience, holdout : int, int, float, default=20, 3, 0.1
        At most so many epochs; fewer if the loss on the held-out share of the training texts has no new best for
        ``patience`` epochs. No text of the target language is seen.
    batch_size, learning_rate : int, float, default=50, 1e-3
        Of Adam.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, …; ``"auto"`` is the GPU if there is one.
    checkpoint : path-like, optional
        A file to keep the state in after each epoch, and to go on from.
    random_state : int, default=0
        Settles first parameters, order, dropout and the held-out texts.

    Attributes
    ----------
    history_ : list of (float, float)
        Loss of each epoch while training and on the held-out texts.
    best_epoch_ : int
        The epoch whose parameters were kept, from 0.

    Examples
    --------
    >>> CNNClassifier(filters=4, epochs=5)
    CNNClassifier(epochs=5, filters=4)
    """

    _what = "the CNN classifier"
    _predict_at_once = 256

    def __init__(
        self,
        *,
        widths: Sequence[int] = (2, 3, 4, 5),
        filters: int = 8,
        shared: bool = False,
        max_words: int = 500,
        dropout: float = 0.5,
        epochs: int = 20,
        patience: int = 3,
        holdout: float = 0.1,
        batch_size: int = 50,
        learning_rate: float = 1e-3,
        device: str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self.widths = widths
        self.filters = filters
        self.shared = shared
        self.max_words = max_words
        self.dropout = dropout
        self.epochs = epochs
        self.patience = patience
        self.holdout = holdout
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _check(self) -> None:
        if not self.widths or min(self.widths) < 1 or self.filters < 1:
            raise FippError("widths and filters are numbers of 1 or more")

    def _make_network(self, dim: int, labels: NDArray[np.int8]) -> torch.nn.Module:
        from fipp.evaluate.documents._cnn import TopicCNN

        return TopicCNN(dim, labels.shape[1], self.widths, self.filters, shared=self.shared, dropout=self.dropout)

    def _scores(self, texts: EncodedTexts, rows: NDArray[np.int64]) -> torch.Tensor:
        from fipp.evaluate._torch_lookup import look_up

        words, lengths = look_up(texts, rows, self.max_words, self.network_, at_least=max(self.widths))
        logits: torch.Tensor = self.network_(words, lengths)
        return logits

    def _loss(self, scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        from fipp.evaluate.documents._cnn import masked_loss

        return masked_loss(scores, wanted)

    def _decide(self, scores: torch.Tensor) -> torch.Tensor:
        return scores > 0


CLASSIFIERS: dict[str, type[Any]] = {"cnn": CNNClassifier, "logistic": LogisticClassifier}
"""Classifiers by the name that `transfer` and the command line know them by."""
