"""Inference between sentences: the corpus, the paper's network and a quick baseline, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from fipp._progress import Progress, Steps
from fipp.evaluate import Side
from fipp.exceptions import FippError
from fipp.tasks._network import NetworkClassifier
from fipp.tasks._texts import Coverage, EncodedTexts, encode
from fipp.tasks._transfer import Corpus, TransferResult

if TYPE_CHECKING:
    from fipp.tasks._torch_networks import ESIM

_LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True)
class InferenceResult(TransferResult):
    """Predicted labels of pairs of sentences beside the true ones: entailment 0, neutral 1, contradiction 2.

    Examples
    --------
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> result = InferenceResult(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]), "esim", some, some)
    >>> result.accuracy, result.confusion[2].tolist()
    (0.75, [0, 1, 1])
    """

    @property
    def accuracy(self) -> float:
        """The share of the pairs whose label is right."""
        return float((self.predicted == self.labels).mean())

    @property
    def chance(self) -> float:
        """The accuracy of always predicting the most frequent label."""
        return float(np.bincount(self.labels, minlength=len(_LABELS)).max() / len(self.labels))

    @property
    def confusion(self) -> NDArray[np.int64]:
        """How often each label (row) was predicted as each (column)."""
        from sklearn.metrics import confusion_matrix

        table: NDArray[np.int64] = confusion_matrix(self.labels, self.predicted, labels=range(len(_LABELS)))
        return table

    def _counts(self) -> list[NDArray[np.int64]]:
        right = self.predicted == self.labels
        return [right.astype(np.int64), np.ones(len(right), dtype=np.int64)]

    @staticmethod
    def _score(*sums: NDArray[np.int64]) -> NDArray[np.float64]:
        right, pairs = sums
        return right / pairs

    def _figures(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "pairs": len(self.labels), "confusion": self.confusion.tolist()}

    def __str__(self) -> str:
        return (
            f"{self.classifier}: accuracy {self.accuracy:.4f} (chance {self.chance:.4f}); "
            f"{len(self.labels):,} pairs, {100 * self.test.share:.1f} % of their words have vectors"
        )


@dataclass(kw_only=True, repr=False, eq=False)
class LogisticInference(BaseEstimator):
    """Logistic regression on u, v, |u − v| and u∘v, where u and v are the sentences' mean vectors.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the regularisation.
    random_state : int, default=0
        Not used: the solver is deterministic.

    Examples
    --------
    >>> LogisticInference(C=0.1)
    LogisticInference(C=0.1)
    """

    C: float = 1.0
    random_state: int = 0

    def fit(self, pairs: EncodedTexts, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Self:
        """Learn from encoded pairs and the numbers of their labels."""
        from sklearn.linear_model import LogisticRegression

        if len(np.unique(labels)) < 2:
            raise FippError("all pairs have the same label; there is nothing to learn")
        self.model_ = LogisticRegression(C=self.C, max_iter=1000).fit(_features(pairs), labels)
        Steps(progress, 1).finish()
        return self

    def predict(self, pairs: EncodedTexts) -> NDArray[np.int8]:
        """Return the number of the label of each pair."""
        return np.asarray(self.model_.predict(_features(pairs)), dtype=np.int8)


def _features(pairs: EncodedTexts) -> NDArray[np.float32]:
    u, v = (part.means() for part in pairs.parts)
    # Products of entries of unit vectors are small beside the entries: √d brings both to the same scale.
    return np.hstack([u, v, np.abs(u - v), u * v * np.sqrt(np.float32(u.shape[1]))])


@dataclass(kw_only=True, repr=False, eq=False)
class ESIMClassifier(NetworkClassifier):
    """ESIM (Chen et al. 2017), the model of the paper's section 5.2, with word vectors fixed.

    A BiLSTM encodes both sentences, their words are softly aligned and compared, a second BiLSTM composes the result,
    and a hidden layer decides from its mean and maximum. The vectors are fixed, so that those of another language can
    replace them.

    Parameters
    ----------
    hidden : int, default=300
        Units of each LSTM and layer.
    max_words, holdout, batch_size, learning_rate : default=100, 0.05, 32, 4e-4
        As for `CNNClassifier`, with other defaults; the last two are those of the paper of ESIM.
    dropout, epochs, patience, device, checkpoint, random_state : default=0.5, 20, 3, "auto", None, 0
        As for `CNNClassifier`.

    Attributes
    ----------
    history_, best_epoch_
        As for `CNNClassifier`.

    Examples
    --------
    >>> ESIMClassifier(hidden=50)
    ESIMClassifier(hidden=50)
    """

    hidden: int = 300
    max_words: int = 100
    holdout: float = 0.05
    batch_size: int = 32
    learning_rate: float = 4e-4
    _what: ClassVar = "ESIM"
    _predict_at_once: ClassVar = 128

    def _check(self) -> None:
        super()._check()
        if self.hidden < 1:
            raise FippError("hidden must be 1 or more")

    def _make_network(self, dim: int, labels: NDArray[np.int8]) -> ESIM:
        from fipp.tasks._torch_networks import ESIM

        return ESIM(dim, self.hidden, len(_LABELS), self.dropout)


class InferenceCorpus(Corpus[InferenceResult]):
    """Premises and hypotheses, and whether each hypothesis follows from its premise.

    Parameters
    ----------
    premises, hypotheses : sequence of str
        The sentences.
    labels : sequence of str or int
        One of ``"entailment"``, ``"neutral"`` and ``"contradiction"`` for each pair, or its number 0, 1, 2.
    left_out : int, default=0
        Pairs of the file on which the annotators did not agree.

    Examples
    --------
    >>> corpus = InferenceCorpus(["A cat sleeps."], ["An animal sleeps."], ["entailment"])
    >>> corpus, corpus.labels
    (InferenceCorpus(1 pairs), array([0], dtype=int8))
    """

    classifiers: ClassVar = {"esim": ESIMClassifier, "logistic": LogisticInference}
    label_names: ClassVar = _LABELS

    def __init__(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        labels: Sequence[str] | ArrayLike,
        left_out: int = 0,
    ) -> None:
        self.premises, self.hypotheses, self.left_out = tuple(premises), tuple(hypotheses), left_out
        self.labels = np.array([_number(label) for label in np.asarray(labels).tolist()], dtype=np.int8)
        if not len(premises) == len(hypotheses) == len(self.labels):
            raise FippError(
                f"there are {len(premises):,} premises, {len(hypotheses):,} hypotheses and {len(self.labels):,} labels"
            )
        if not len(premises):
            raise FippError("a corpus needs at least one pair of sentences")

    def __repr__(self) -> str:
        return f"InferenceCorpus({len(self)} pairs)"

    def take(self, rows: ArrayLike) -> Self:
        """Return the pairs with these row numbers."""
        numbers = np.asarray(rows, dtype=np.int64)
        premises, hypotheses = ([side[row] for row in numbers.tolist()] for side in (self.premises, self.hypotheses))
        return type(self)(premises, hypotheses, self.labels[numbers])

    def _encode(self, side: Side) -> EncodedTexts:
        # Both together, so that a word is looked up and mapped once.
        return replace(encode((*self.premises, *self.hypotheses), *side), n_parts=2)

    def _result(self, predicted: NDArray[Any], classifier: str, training: Coverage, test: Coverage) -> InferenceResult:
        return InferenceResult(predicted, self.labels, classifier, training, test)


def _number(label: str | int) -> int:
    if isinstance(label, int) and 0 <= label < len(_LABELS):
        return label
    if label in _LABELS:
        return _LABELS.index(str(label))
    raise FippError(f"{label!r} is no label; there are {', '.join(_LABELS)}")
