"""Two ways to tell entailment, neutral and contradiction: the paper's network, and a quick baseline."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fipp.evaluate._tokens import EncodedTexts
from fipp.evaluate._torch import choose_device, require_torch
from fipp.evaluate.inference._corpus import LABELS
from fipp.exceptions import FippError
from fipp.linalg import Progress

_PREDICT_AT_ONCE = 128


class EncodedPairs(NamedTuple):
    """Premises and hypotheses as rows of word vectors."""

    premises: EncodedTexts
    hypotheses: EncodedTexts

    def within(self, span: NDArray[np.float32] | None) -> EncodedPairs:
        """Give the same pairs with vectors as coordinates in a span."""
        return EncodedPairs(self.premises.within(span), self.hypotheses.within(span))


class InferenceClassifier(Protocol):
    """What `transfer` needs of a classifier."""

    def fit(self, pairs: EncodedPairs, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Any:
        """Learn from pairs and the numbers of their labels."""

    def predict(self, pairs: EncodedPairs) -> NDArray[np.int8]:
        """Give the number of the label of each pair."""


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
        """Give the number of the label of each pair."""
        return np.asarray(self.model_.predict(_features(pairs)), dtype=np.int8)


def _features(pairs: EncodedPairs) -> NDArray[np.float32]:
    u, v = pairs.premises.means(), pairs.hypotheses.means()
    # Products of two unit vectors are small beside their entries: √d brings both to one size.
    return np.hstack([u, v, np.abs(u - v), u * v * np.sqrt(np.float32(u.shape[1]))])


class ESIMClassifier(BaseEstimator):
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
    epochs, patience, held_out : int, int, float, default=20, 3, 0.05
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

    def __init__(
        self,
        *,
        hidden: int = 300,
        dropout: float = 0.5,
        max_words: int = 100,
        epochs: int = 20,
        patience: int = 3,
        held_out: float = 0.05,
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
        self.held_out = held_out
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state

    def fit(self, pairs: EncodedPairs, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Self:
        """Train on encoded pairs and the numbers of their labels."""
        torch = require_torch("ESIM")
        from fipp.evaluate._torch_training import TrainingSettings, fingerprint_of, seeded, train
        from fipp.evaluate.inference._esim import ESIM

        if self.hidden < 1 or self.max_words < 1 or not 0 <= self.dropout < 1:
            raise FippError("hidden and max_words must be 1 or more, and dropout at least 0 and below 1")
        self.span_ = pairs.premises.span()  # premises and hypotheses share their matrix
        pairs = pairs.within(self.span_)
        device = choose_device(self.device)
        with torch.random.fork_rng():
            torch.manual_seed(seeded(self.random_state))
            dim = pairs.premises.matrix.shape[1]
            self.network_ = ESIM(dim, self.hidden, len(LABELS), self.dropout).to(device)
        wanted = torch.tensor(np.asarray(labels, dtype=np.int64), device=device)
        settings = TrainingSettings(
            **{name: getattr(self, name) for name in TrainingSettings.__dataclass_fields__ if hasattr(self, name)}
        )
        arrays = [array for texts in pairs for array in (texts.ids, texts.offsets, texts.matrix)]
        trained = train(
            self.network_,
            lambda rows: torch.nn.functional.cross_entropy(
                self._scores(pairs, rows), wanted[torch.from_numpy(rows).to(device)]
            ),
            len(labels),
            settings,
            fingerprint=fingerprint_of(self.get_params(), *arrays, np.asarray(labels)),
            progress=progress,
        )
        self.history_, self.best_epoch_ = trained.history, trained.best_epoch
        return self

    def predict(self, pairs: EncodedPairs) -> NDArray[np.int8]:
        """Give the number of the label of each pair."""
        torch = require_torch("ESIM")
        pairs = pairs.within(self.span_)
        rows = np.arange(len(pairs.premises))
        blocks = []
        with torch.no_grad():
            for start in range(0, len(rows), _PREDICT_AT_ONCE):
                scores = self._scores(pairs, rows[start : start + _PREDICT_AT_ONCE])
                blocks.append(scores.argmax(dim=1).cpu().numpy())
        return np.concatenate(blocks).astype(np.int8)

    def _scores(self, pairs: EncodedPairs, rows: NDArray[np.int64]) -> Any:
        from fipp.evaluate._torch_lookup import look_up

        premises = look_up(pairs.premises, rows, self.max_words, self.network_)
        hypotheses = look_up(pairs.hypotheses, rows, self.max_words, self.network_)
        return self.network_(*premises, *hypotheses)


CLASSIFIERS: dict[str, type[Any]] = {"esim": ESIMClassifier, "logistic": LogisticInference}
"""Classifiers by the name that `transfer` and the command line know them by."""
