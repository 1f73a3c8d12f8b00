"""How well inferences were told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate._resampling import Interval, bootstrap_interval
from fipp.evaluate._tokens import Coverage
from fipp.evaluate.inference._corpus import LABELS


@dataclass(frozen=True)
class InferenceResult:
    """Labels that were given to pairs of sentences beside the true ones.

    Attributes
    ----------
    predicted, labels : ndarray of int8
        Numbers of labels: entailment 0, neutral 1, contradiction 2.
    classifier : str
        What decided.
    training, test : Coverage
        How many words of the source's and the target's sentences had vectors.

    Examples
    --------
    >>> some = Coverage(10, 9, 5, 4, 2, 0)
    >>> result = InferenceResult(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]), "esim", some, some)
    >>> result.accuracy, result.confusion[2].tolist()
    (0.75, [0, 1, 1])
    """

    predicted: NDArray[np.int8]
    labels: NDArray[np.int8]
    classifier: str
    training: Coverage
    test: Coverage

    @property
    def accuracy(self) -> float:
        """The share of the pairs whose label is right."""
        return float((self.predicted == self.labels).mean())

    @property
    def chance(self) -> float:
        """The accuracy of always saying the most frequent label."""
        return float(np.bincount(self.labels, minlength=len(LABELS)).max() / len(self.labels))

    @property
    def confusion(self) -> NDArray[np.int64]:
        """How often each label (row) was told as each (column)."""
        table = np.zeros((len(LABELS), len(LABELS)), dtype=np.int64)
        np.add.at(table, (self.labels.astype(int), self.predicted.astype(int)), 1)
        return table

    def interval(self, level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0) -> Interval:
        """Return the bootstrap interval of the accuracy: how far it would move with other pairs."""
        right = (self.predicted == self.labels).astype(np.float64)
        return bootstrap_interval(right, level, n_resamples=n_resamples, random_state=random_state)

    def as_dict(self, *, interval: float | None = None) -> dict[str, Any]:
        """Return everything as numbers that JSON can hold."""
        ends = {} if interval is None else {"interval": list(self.interval(interval))}
        return {
            "classifier": self.classifier,
            "accuracy": self.accuracy,
            **ends,
            "chance": self.chance,
            "pairs": len(self.labels),
            "confusion": self.confusion.tolist(),
            "training_coverage": self.training.as_dict(),
            "test_coverage": self.test.as_dict(),
        }

    def __str__(self) -> str:
        return (
            f"{self.classifier}: accuracy {self.accuracy:.4f} (chance {self.chance:.4f}); "
            f"{len(self.labels):,} pairs, {100 * self.test.share:.1f} % of their words have vectors"
        )
