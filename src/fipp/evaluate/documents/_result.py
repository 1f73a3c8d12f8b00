"""How well the topics of documents were told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate._resampling import Interval, resampled_sums
from fipp.evaluate._tokens import Coverage
from fipp.exceptions import FippError


@dataclass(frozen=True)
class DocumentResult:
    """Decisions about the topics of documents beside the truth.

    Attributes
    ----------
    predicted : ndarray of bool of shape (texts, topics)
        Whether each text was said to be about each topic.
    labels : ndarray of int8 of the same shape
        1, 0, or -1 where it does not count.
    topics : tuple of str
        Names of the columns.
    classifier : str
        What decided.
    training, test : Coverage
        How many words of the source's and the target's texts had vectors.

    Examples
    --------
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> predicted, labels = np.array([[True, True], [False, False]]), np.array([[1, 0], [1, -1]])
    >>> result = DocumentResult(predicted, labels, ("music", "art"), "cnn", some, some)
    >>> result.micro_f1, result.precision, result.recall  # one found, one too many, one missed
    (0.5, 0.5, 0.5)
    """

    predicted: NDArray[np.bool_]
    labels: NDArray[np.int8]
    topics: tuple[str, ...]
    classifier: str
    training: Coverage
    test: Coverage

    def _counts(self) -> NDArray[np.int64]:
        """Return what was found rightly, said wrongly and missed, for each text and topic."""
        yes, no = self.labels == 1, self.labels == 0
        return np.stack([self.predicted & yes, self.predicted & no, ~self.predicted & yes]).astype(np.int64)

    @property
    def micro_f1(self) -> float:
        """F1 of the decisions of all topics together: the measure of the paper."""
        return float(_f1(self._counts().sum(axis=(1, 2))))

    @property
    def macro_f1(self) -> float:
        """The mean of the topics' F1."""
        return float(np.mean(list(self.by_topic().values())))

    @property
    def precision(self) -> float:
        """The share of the decisions for a topic that are right."""
        right, wrong, _ = self._counts().sum(axis=(1, 2))
        return float(right / (right + wrong)) if right + wrong else 0.0

    @property
    def recall(self) -> float:
        """The share of the texts' topics that were found."""
        right, _, missed = self._counts().sum(axis=(1, 2))
        return float(right / (right + missed)) if right + missed else 0.0

    def by_topic(self) -> dict[str, float]:
        """Return the F1 of each topic."""
        return dict(zip(self.topics, _f1(self._counts().sum(axis=1)).tolist(), strict=True))

    @property
    def chance(self) -> float:
        """The micro-averaged F1 of saying yes to every topic of every text, which needs no text at all."""
        return float(_f1(np.array([(self.labels == 1).sum(), (self.labels == 0).sum(), 0])))

    def interval(self, level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0) -> Interval:
        """Return the bootstrap interval of the micro-averaged F1: how far it would move with other texts."""
        return mean_f1_interval([self], level, n_resamples=n_resamples, random_state=random_state)

    def as_dict(self, *, interval: float | None = None) -> dict[str, Any]:
        """Return everything as numbers that JSON can hold."""
        ends = {} if interval is None else {"interval": list(self.interval(interval))}
        return {
            "classifier": self.classifier,
            "micro_f1": self.micro_f1,
            **ends,
            "macro_f1": self.macro_f1,
            "precision": self.precision,
            "recall": self.recall,
            "chance": self.chance,
            "texts": len(self.labels),
            "topics": self.by_topic(),
            "training_coverage": self.training.as_dict(),
            "test_coverage": self.test.as_dict(),
        }

    def __str__(self) -> str:
        return (
            f"{self.classifier}: micro-averaged F1 {self.micro_f1:.4f}, macro {self.macro_f1:.4f}; "
            f"{len(self.labels):,} texts, {100 * self.test.share:.1f} % of their words have vectors"
        )


def f1_difference(
    first: DocumentResult,
    second: DocumentResult,
    level: float = 0.95,
    *,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> Interval:
    """Return the paired bootstrap interval of the micro-averaged F1 of the first less that of the second.

    Both have to be of the same texts. An interval without 0 tells a difference that is not by chance of the texts; the
    chance of the training (see ``random_state`` of the classifiers) is another matter.

    Examples
    --------
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> labels = np.ones((50, 1), dtype=np.int8)
    >>> right, wrong = (DocumentResult(labels == is_one, labels, ("art",), "cnn", some, some) for is_one in (1, 0))
    >>> f1_difference(right, wrong)
    Interval(low=1.0, high=1.0)
    """
    ours, theirs = _resampled_f1([first, second], n_resamples, random_state)
    return _ends(ours - theirs, level)


def mean_f1_interval(
    results: Sequence[DocumentResult], level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0
) -> Interval:
    """Return the bootstrap interval of the mean micro-averaged F1 of several trainings, tested on the same texts.

    It says how far the mean would move with other texts; how far the trainings lie apart, their own F1 say.

    Examples
    --------
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> labels = np.ones((50, 1), dtype=np.int8)
    >>> trainings = [DocumentResult(labels == is_one, labels, ("art",), "cnn", some, some) for is_one in (1, 0)]
    >>> mean_f1_interval(trainings)  # all right, all wrong
    Interval(low=0.5, high=0.5)
    """
    return _ends(np.mean(_resampled_f1(results, n_resamples, random_state), axis=0), level)


def _resampled_f1(results: Sequence[DocumentResult], n_resamples: int, random_state: int) -> list[NDArray[np.float64]]:
    """Return the F1 of each result on resampled texts, the same texts for all."""
    if not all(np.array_equal(each.labels, results[0].labels) for each in results):
        raise FippError("the results are not of the same texts and topics")
    counts = np.concatenate([each._counts().sum(axis=2).T for each in results], axis=1)
    sums = resampled_sums(counts, n_resamples=n_resamples, random_state=random_state)
    return [_f1(sums[:, column : column + 3].T) for column in range(0, counts.shape[1], 3)]


def _ends(values: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _f1(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return F1 = 2r / (2r + w + m) of right, wrong and missed decisions; 0 where there are none."""
    right, wrong, missed = np.asarray(counts, dtype=np.float64)
    whole = 2 * right + wrong + missed
    return np.divide(2 * right, whole, out=np.zeros_like(whole), where=whole > 0)
