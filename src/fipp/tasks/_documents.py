"""Topics of documents: the corpus, the paper's network and a quick baseline, and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
    from fipp.tasks._torch_networks import TopicCNN


def _f1(*counts: Any) -> NDArray[np.float64]:
    """Return F1 = 2r / (2r + w + m) from counts of right, wrong and missed decisions; 0 where there are none."""
    right, wrong, missed = counts
    whole = np.asarray(2 * right + wrong + missed, dtype=np.float64)
    return np.divide(2 * right, whole, out=np.zeros_like(whole), where=whole > 0)


@dataclass(frozen=True)
class DocumentResult(TransferResult):
    """Predicted topics of documents beside the true ones; `TransferResult` describes the other attributes.

    Attributes
    ----------
    predicted, labels : ndarray of bool and int8, shape (texts, topics)
        Whether each text is about each topic; the label -1 does not count.
    topics : tuple of str
        Names of the columns.

    Examples
    --------
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> predicted, labels = np.array([[True, True], [False, False]]), np.array([[1, 0], [1, -1]])
    >>> result = DocumentResult(predicted, labels, "cnn", some, some, ("music", "art"))
    >>> result.micro_f1, result.precision, result.recall  # one right, one wrong, one missed
    (0.5, 0.5, 0.5)
    """

    topics: tuple[str, ...]
    _score = staticmethod(_f1)

    @property
    def micro_f1(self) -> float:
        """F1 of the decisions of all topics together: the measure of the paper."""
        return float(_f1(*self._decisions().sum(axis=(1, 2))))

    @property
    def macro_f1(self) -> float:
        """The mean of the topics' F1."""
        return float(np.mean(list(self.by_topic().values())))

    @property
    def precision(self) -> float:
        """The share of the predicted topics that are right."""
        right, wrong, _ = self._decisions().sum(axis=(1, 2))
        return float(right / (right + wrong)) if right + wrong else 0.0

    @property
    def recall(self) -> float:
        """The share of the true topics that were predicted."""
        right, _, missed = self._decisions().sum(axis=(1, 2))
        return float(right / (right + missed)) if right + missed else 0.0

    @property
    def chance(self) -> float:
        """The micro-averaged F1 of predicting every topic for every text, which needs no text at all."""
        return float(_f1((self.labels == 1).sum(), (self.labels == 0).sum(), 0))

    def by_topic(self) -> dict[str, float]:
        """Return the F1 of each topic."""
        return dict(zip(self.topics, _f1(*self._decisions().sum(axis=1)).tolist(), strict=True))

    def _decisions(self) -> NDArray[np.int64]:
        """Return which decisions are right, wrong and missed, for each text and topic."""
        yes, no = self.labels == 1, self.labels == 0
        return np.stack([self.predicted & yes, self.predicted & no, ~self.predicted & yes]).astype(np.int64)

    def _counts(self) -> list[NDArray[np.int64]]:
        return list(self._decisions().sum(axis=2))

    def _figures(self) -> dict[str, Any]:
        figures = {name: getattr(self, name) for name in ("micro_f1", "macro_f1", "precision", "recall")}
        return {**figures, "texts": len(self.labels), "topics": self.by_topic()}

    def __str__(self) -> str:
        return (
            f"{self.classifier}: micro-averaged F1 {self.micro_f1:.4f}, macro {self.macro_f1:.4f}; "
            f"{len(self.labels):,} texts, {100 * self.test.share:.1f} % of their words have vectors"
        )


@dataclass(kw_only=True, repr=False, eq=False)
class LogisticTopics(BaseEstimator):
    """A logistic regression for each topic on the mean of a text's word vectors: takes seconds instead of minutes.

    Parameters
    ----------
    C : float, default=100.0
        Inverse strength of the regularisation; for means at unit length.
    balanced : bool, default=False
        Whether the texts about a topic weigh as much in total as the others.
    random_state : int, default=0
        Not used: the solver is deterministic.

    Examples
    --------
    >>> from fipp import Vectors
    >>> from fipp.tasks import encode
    >>> vectors = Vectors(["song", "vote"], [[1.0, 0.0], [0.0, 1.0]])
    >>> texts = encode(["song song vote", "vote"] * 5, vectors)
    >>> LogisticTopics().fit(texts, np.array([[1], [0]] * 5)).predict(texts)[:2].ravel()
    array([ True, False])
    """

    C: float = 100.0
    balanced: bool = False
    random_state: int = 0

    def fit(self, texts: EncodedTexts, labels: NDArray[np.int8], *, progress: Progress | None = None) -> Self:
        """Learn from encoded texts and labels of shape (texts, topics)."""
        from sklearn.linear_model import LogisticRegression

        means = texts.means()
        steps = Steps(progress, labels.shape[1])
        self.models_: list[Any] = []
        for topic in range(labels.shape[1]):
            counts = labels[:, topic] >= 0
            wanted = labels[counts, topic] == 1
            if wanted.all() or not wanted.any():
                self.models_.append(bool(wanted.any()))  # one class only
            else:
                weight = "balanced" if self.balanced else None
                model = LogisticRegression(C=self.C, class_weight=weight, max_iter=1000)
                self.models_.append(model.fit(means[counts], wanted))
            steps()
        return self

    def predict(self, texts: EncodedTexts) -> NDArray[np.bool_]:
        """Return for each text and topic whether the text is about it."""
        means = texts.means()
        columns = [
            np.full(len(means), model) if isinstance(model, bool) else model.predict(means) for model in self.models_
        ]
        return np.stack(columns, axis=1).astype(bool)


@dataclass(kw_only=True, repr=False, eq=False)
class CNNClassifier(NetworkClassifier):
    """The convolutional network of the paper's section 5.2: a binary decision for each topic, word vectors fixed.

    The paper refers to Glavaš et al. (2019) for it and gives neither widths nor counts; the defaults are ours.

    Parameters
    ----------
    widths : sequence of int, default=(2, 3, 4, 5)
        Widths of the windows, in words.
    filters : int, default=8
        Filters of each width, for each topic.
    shared : bool, default=False
        Whether all topics share their filters. Otherwise there is a network for each topic, as in the paper, and
        training time grows with the topics.
    max_words : int, default=500
        Texts are cut after this many words.
    dropout : float, default=0.5
        Share of the pooled features that are dropped during training.
    epochs, patience, holdout : int, int, float, default=20, 3, 0.1
        The largest number of epochs. Training ends earlier if the loss on the held-out share of the training texts has
        no new best for ``patience`` epochs. No text of the target language is used.
    batch_size, learning_rate : int, float, default=50, 1e-3
        Settings of Adam.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, …; ``"auto"`` is the GPU if there is one.
    checkpoint : path-like, optional
        A file that keeps the state after each epoch, and from which training resumes.
    random_state : int, default=0
        Seed of the initial parameters, the order, dropout and the held-out texts.

    Attributes
    ----------
    history_ : list of (float, float)
        Loss of each epoch during training and on the held-out texts.
    best_epoch_ : int
        The epoch whose parameters were kept, counted from 0.

    Examples
    --------
    >>> CNNClassifier(filters=4, epochs=5)
    CNNClassifier(epochs=5, filters=4)
    """

    widths: Sequence[int] = (2, 3, 4, 5)
    filters: int = 8
    shared: bool = False
    _what: ClassVar = "the CNN classifier"
    _predict_at_once: ClassVar = 256

    def _check(self) -> None:
        super()._check()
        if not self.widths or min(self.widths) < 1 or self.filters < 1:
            raise FippError("widths and filters must be 1 or more")

    def _make_network(self, dim: int, labels: NDArray[np.int8]) -> TopicCNN:
        from fipp.tasks._torch_networks import TopicCNN

        return TopicCNN(dim, labels.shape[1], self.widths, self.filters, shared=self.shared, dropout=self.dropout)


class DocumentCorpus(Corpus[DocumentResult]):
    """Texts, and for each topic whether a text is about it.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    labels : array-like of shape (texts, topics)
        1 if the text is about the topic, 0 if not, -1 if it does not count for that topic.
    topics : sequence of str
        Their names.

    Examples
    --------
    >>> corpus = DocumentCorpus(["a song", "a vote"], [[1, 0], [0, 1]], ["music", "politics"])
    >>> corpus
    DocumentCorpus(2 texts, 2 topics)
    >>> corpus.labels.sum(axis=0)
    array([1, 1])
    """

    classifiers: ClassVar = {"cnn": CNNClassifier, "logistic": LogisticTopics}

    def __init__(self, texts: Sequence[str], labels: ArrayLike, topics: Sequence[str]) -> None:
        self.texts, self.topics = tuple(texts), tuple(topics)
        self.labels = np.asarray(labels, dtype=np.int8)
        if self.labels.shape != (len(texts), len(topics)):
            raise FippError(
                f"{len(texts):,} texts and {len(topics)} topics need labels of that shape, not {self.labels.shape}"
            )
        if not len(texts) or not len(topics):
            raise FippError("a corpus needs at least one text and one topic")
        if not np.isin(self.labels, (-1, 0, 1)).all():
            raise FippError("a label is 1 (about the topic), 0 (not) or -1 (does not count)")
        if len(set(topics)) < len(topics):
            raise FippError("two topics have the same name")

    @classmethod
    def from_single(
        cls, texts: Sequence[str], topic: Sequence[str], topics: Iterable[str] | None = None
    ) -> DocumentCorpus:
        """Make a corpus of texts that have one topic each.

        Examples
        --------
        >>> DocumentCorpus.from_single(["a song", "a vote"], ["music", "politics"]).labels
        array([[1, 0],
               [0, 1]], dtype=int8)
        """
        names = sorted(set(topic)) if topics is None else list(topics)
        labels = np.zeros((len(texts), len(names)), dtype=np.int8)
        for row, name in enumerate(topic):
            if name not in names:
                raise FippError(f"text {row} has the topic {name!r}, which is not among {', '.join(names)}")
            labels[row, names.index(name)] = 1
        return cls(texts, labels, names)

    def __repr__(self) -> str:
        return f"DocumentCorpus({len(self)} texts, {len(self.topics)} topics)"

    def take(self, rows: ArrayLike) -> Self:
        """Return the texts with these row numbers."""
        numbers = np.asarray(rows, dtype=np.int64)
        return type(self)([self.texts[row] for row in numbers.tolist()], self.labels[numbers], self.topics)

    def _check_task(self, test: Self) -> None:
        super()._check_task(test)
        if self.topics != test.topics:
            raise FippError(
                f"the topics to train on ({', '.join(self.topics)}) are not those to test on ({', '.join(test.topics)})"
            )

    def _encode(self, side: Side) -> EncodedTexts:
        return encode(self.texts, *side)

    def _result(self, predicted: NDArray[Any], classifier: str, training: Coverage, test: Coverage) -> DocumentResult:
        return DocumentResult(predicted, self.labels, classifier, training, test, self.topics)
