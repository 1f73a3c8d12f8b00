"""What the tasks share: corpora, results, and the transfer of a classifier from one language to the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from fipp._alignment import Alignment
from fipp._progress import Progress
from fipp.evaluate import Interval, Side, bootstrap_interval, side_of
from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.tasks._texts import Coverage


class Classifier(Protocol):
    """What can be trained on encoded texts and can then predict the labels of others."""

    def fit(self, texts: Any, labels: NDArray[Any], *, progress: Progress | None = None) -> Any:
        """Learn from texts and their labels."""

    def predict(self, texts: Any) -> NDArray[Any]:
        """Return the labels of texts."""


@dataclass(frozen=True)
class TransferResult(ABC):
    """Predicted labels beside the true ones.

    Attributes
    ----------
    predicted, labels : ndarray
        The predicted and the true labels of the texts.
    classifier : str
        The name of the classifier.
    training, test : Coverage
        How many words of the source's and the target's texts had vectors.
    """

    predicted: NDArray[Any]
    labels: NDArray[np.int8]
    classifier: str
    training: Coverage
    test: Coverage

    @property
    @abstractmethod
    def chance(self) -> float:
        """The score of the best constant answer, which needs no text at all."""

    @abstractmethod
    def _counts(self) -> list[NDArray[np.int64]]:
        """Return counts for each text; the score is a function of their sums."""

    @staticmethod
    @abstractmethod
    def _score(*sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the paper's measure from the sums of the counts."""

    @abstractmethod
    def _figures(self) -> dict[str, Any]:
        """Return the measures of this task, for `as_dict`."""

    def interval(self, level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0) -> Interval:
        """Return the bootstrap interval of the paper's measure: how far it would move with other texts."""
        return mean_interval([self], level, n_resamples=n_resamples, random_state=random_state)

    def as_dict(self, *, interval: float | None = None) -> dict[str, Any]:
        """Return everything as numbers and text that JSON can hold, with an interval if its level is given."""
        return {
            "classifier": self.classifier,
            **self._figures(),
            **({} if interval is None else {"interval": list(self.interval(interval))}),
            "chance": self.chance,
            "training_coverage": self.training.as_dict(),
            "test_coverage": self.test.as_dict(),
        }


AnyResult = TypeVar("AnyResult", bound=TransferResult)


class Corpus(ABC, Generic[AnyResult]):
    """Texts of one language with their labels."""

    classifiers: ClassVar[Mapping[str, type[Any]]]
    """Classifiers by the names that `transfer` knows; the first is the paper's."""
    labels: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.labels)

    @abstractmethod
    def take(self, rows: ArrayLike) -> Self:
        """Return the texts with these row numbers."""

    def sample(self, count: int | None, random_state: int = 0) -> Self:
        """Return at most ``count`` texts, drawn at random; all of them if it is None."""
        if count is None or count >= len(self):
            return self
        return self.take(np.sort(np.random.default_rng(random_state).choice(len(self), count, replace=False)))

    @classmethod
    def make_classifier(cls, classifier: str | Classifier | None = None, **options: Any) -> tuple[Classifier, str]:
        """Return a new classifier of this name, or like the one given, with these settings; and its name.

        Examples
        --------
        >>> from fipp.tasks import DocumentCorpus
        >>> DocumentCorpus.make_classifier("logistic", C=1.0)
        (LogisticTopics(C=1.0), 'logistic')
        """
        if classifier is None:
            classifier = next(iter(cls.classifiers))
        if not isinstance(classifier, str):
            return clone(classifier).set_params(**options), type(classifier).__name__
        if classifier not in cls.classifiers:
            raise FippError(f"there is no classifier {classifier!r}; known are {', '.join(cls.classifiers)}")
        settings = cls.classifiers[classifier]._get_param_names()
        unknown = sorted(set(options) - set(settings))
        if unknown:
            raise FippError(f"{classifier} has no setting {unknown[0]!r}; it has {', '.join(settings)}")
        return cls.classifiers[classifier](**options), classifier

    def _check_task(self, test: Self) -> None:
        """Refuse a test corpus whose labels mean something else."""
        if type(test) is not type(self):
            raise FippError(f"a {type(self).__name__} to train on needs another one to test on")

    @abstractmethod
    def _encode(self, side: Side) -> Any:
        """Return the texts as rows of word vectors in the shared space."""

    @abstractmethod
    def _result(self, predicted: NDArray[Any], classifier: str, training: Coverage, test: Coverage) -> AnyResult:
        """Put predictions beside the labels."""


def transfer(
    space: Alignment | tuple[Vectors, Vectors],
    train: Corpus[AnyResult],
    test: Corpus[AnyResult],
    classifier: str | Classifier | None = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> AnyResult:
    """Train a classifier on texts of the source language and test it on texts of the target language.

    Parameters
    ----------
    space : Alignment, or (Vectors, Vectors)
        The shared space. Two sets of vectors are used as they are, which shows the score without alignment.
    train : DocumentCorpus or InferenceCorpus
        Texts in the source language.
    test : DocumentCorpus or InferenceCorpus
        Texts in the target language, for the same task. Nothing is learned or chosen on them.
    classifier : str or classifier, optional
        For documents ``"cnn"`` or ``"logistic"``, for inference ``"esim"`` or ``"logistic"``. The default is the
        paper's network, which needs ``fipp[torch]``; ``"logistic"`` is a quick baseline.
    progress : callable, optional
        Called as ``progress(done, total)`` during training.
    **options
        Settings of the classifier, such as ``epochs`` of `CNNClassifier`.

    Returns
    -------
    DocumentResult or InferenceResult

    Examples
    --------
    >>> import fipp
    >>> from fipp.tasks import DocumentCorpus, InferenceCorpus, transfer
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> english = DocumentCorpus.from_single(["bread and cheese", "a red car", "meat and wine", "the train"], "1212")
    >>> french = DocumentCorpus.from_single(["pain et fromage", "le train"], "12")
    >>> transfer(alignment, english, french, "logistic").micro_f1
    1.0
    >>> english = InferenceCorpus(["bread", "car", "cheese", "wine"], ["bread", "red", "cheese", "night"], [0, 1, 0, 1])
    >>> french = InferenceCorpus(["pain", "voiture"], ["pain", "bleu"], [0, 1])
    >>> transfer(alignment, english, french, "logistic", C=100.0).accuracy
    1.0
    """
    train._check_task(test)
    model, name = train.make_classifier(classifier, **options)
    encoded = []
    for language, corpus, side in zip(("source", "target"), (train, test), _sides(space), strict=True):
        encoded.append(corpus._encode(side))
        if not encoded[-1].coverage.found:
            raise FippError(f"no word of the {language} texts has a vector: are the vectors of that language?")
    model.fit(encoded[0], train.labels, progress=progress)
    return test._result(model.predict(encoded[1]), name, encoded[0].coverage, encoded[1].coverage)


def difference_interval(
    first: AnyResult, second: AnyResult, level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0
) -> Interval:
    """Return the paired bootstrap interval of the score of the first result minus that of the second.

    Both results must be on the same texts. If the interval excludes 0, the difference does not come from the choice of
    texts. It may still come from the randomness of training: see ``random_state`` of the classifiers.

    Examples
    --------
    >>> from fipp.tasks import Coverage, DocumentResult
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> labels = np.ones((50, 1), dtype=np.int8)
    >>> right, wrong = (DocumentResult(labels == is_one, labels, "cnn", some, some, ("art",)) for is_one in (1, 0))
    >>> difference_interval(right, wrong)
    Interval(low=1.0, high=1.0)
    """
    return _resampled([first, second], lambda scores: scores[0] - scores[1], level, n_resamples, random_state)


def mean_interval(
    results: Sequence[TransferResult], level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0
) -> Interval:
    """Return the bootstrap interval of the mean score of several trainings, tested on the same texts.

    It says how far the mean would move with other texts, not how far the trainings lie apart.

    Examples
    --------
    >>> from fipp.tasks import Coverage, DocumentResult
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> labels = np.ones((50, 1), dtype=np.int8)
    >>> trainings = [DocumentResult(labels == is_one, labels, "cnn", some, some, ("art",)) for is_one in (1, 0)]
    >>> mean_interval(trainings)  # all right, all wrong
    Interval(low=0.5, high=0.5)
    """
    return _resampled(results, lambda scores: np.mean(scores, axis=0), level, n_resamples, random_state)


def _resampled(
    results: Sequence[TransferResult],
    combine: Callable[[list[NDArray[np.float64]]], Any],
    level: float,
    n_resamples: int,
    random_state: int,
) -> Interval:
    """Return the interval of a combination of scores; each resample draws the same texts for all results."""
    if not all(np.array_equal(each.labels, results[0].labels) for each in results):
        raise FippError("the results are not of the same texts and labels")
    counts = [each._counts() for each in results]
    width = len(counts[0])

    def statistic(*columns: NDArray[np.int64], axis: int) -> Any:
        sums = [column.sum(axis=axis) for column in columns]
        parts = (sums[start : start + width] for start in range(0, len(sums), width))
        return combine([each._score(*part) for each, part in zip(results, parts, strict=True)])

    columns = [column for each in counts for column in each]
    draws = {"n_resamples": n_resamples, "random_state": random_state}
    return bootstrap_interval(*columns, level=level, statistic=statistic, **draws)


def _sides(space: Alignment | tuple[Vectors, Vectors]) -> tuple[Side, Side]:
    """Return source and target of an alignment, or of two sets of vectors used as they are."""
    if not isinstance(space, tuple):
        return side_of(space, "source"), side_of(space, "target")
    source, target = space
    if source.dim != target.dim:
        raise FippError(
            f"vectors of {source.dim} and {target.dim} dimensions share no space as they are: align them first"
        )
    return Side(source), Side(target)
