"""Two vocabularies in one space: a classifier is trained on the source language and tried on the target's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray
from sklearn.base import clone

from fipp.evaluate._tokens import Coverage, Map
from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.linalg import Progress

if TYPE_CHECKING:
    from fipp._alignment import Alignment


class Corpus(Protocol):
    """Items with labels, of one language."""

    @property
    def labels(self) -> NDArray[Any]:
        """What is to be told."""


class Encoded(Protocol):
    """Texts as rows of word vectors."""

    @property
    def coverage(self) -> Coverage:
        """How many words were found."""


class Classifier(Protocol):
    """What can be trained on encoded texts, and then tells the labels of others."""

    def fit(self, texts: Any, labels: NDArray[Any], *, progress: Progress | None = None) -> Any:
        """Learn from texts and their labels."""

    def predict(self, texts: Any) -> NDArray[Any]:
        """Return the labels of texts."""


AnyCorpus = TypeVar("AnyCorpus", bound=Corpus)


class Told(NamedTuple):
    """What a classifier told of the target's texts, its name, and how much of the texts it saw."""

    predicted: NDArray[Any]
    classifier: str
    training: Coverage
    test: Coverage


class Side(NamedTuple):
    """A vocabulary, and how its vectors come into the shared space; None if they are there already."""

    vectors: Vectors
    transform: Map | None = None


def train_and_tell(
    space: Alignment | tuple[Vectors, Vectors],
    train: AnyCorpus,
    test: AnyCorpus,
    model: Classifier,
    name: str,
    encode: Callable[[AnyCorpus, Side], Encoded],
    progress: Progress | None,
) -> Told:
    """Train a classifier on one language in the shared space, and let it tell the labels of the other."""
    texts = {}
    for language, corpus, side in zip(("source", "target"), (train, test), sides_of(space), strict=True):
        texts[language] = encode(corpus, side)
        if not texts[language].coverage.found:
            raise FippError(f"no word of the {language} texts has a vector: are the vectors of that language?")
    model.fit(texts["source"], train.labels, progress=progress)
    predicted = model.predict(texts["target"])
    return Told(predicted, name, texts["source"].coverage, texts["target"].coverage)


def make_classifier(
    classifier: str | Classifier, options: Mapping[str, Any], known: Mapping[str, type[Any]]
) -> tuple[Classifier, str]:
    """Return a new classifier of this name, or like the one given, with these settings; and its name.

    Examples
    --------
    >>> from fipp.evaluate.documents import CLASSIFIERS
    >>> make_classifier("logistic", {"C": 1.0}, CLASSIFIERS)
    (LogisticClassifier(C=1.0), 'logistic')
    """
    if not isinstance(classifier, str):
        return clone(classifier).set_params(**options), type(classifier).__name__
    if classifier not in known:
        raise FippError(f"there is no classifier {classifier!r}; known are {', '.join(known)}")
    settings = known[classifier]._get_param_names()
    unknown = sorted(set(options) - set(settings))
    if unknown:
        raise FippError(f"{classifier} has no setting {unknown[0]!r}; it has {', '.join(settings)}")
    return known[classifier](**options), classifier


def sides_of(space: Alignment | tuple[Vectors, Vectors]) -> tuple[Side, Side]:
    """Return source and target of an alignment, or of two sets of vectors taken as they are.

    Examples
    --------
    >>> one = Vectors(["cat"], [[1.0, 0.0]])
    >>> source, target = sides_of((one, one))
    >>> source.vectors.words, source.transform
    (('cat',), None)
    """
    if isinstance(space, tuple):
        source, target = space
        if source.dim != target.dim:
            raise FippError(
                f"vectors of {source.dim} and {target.dim} dimensions share no space as they are: align them first"
            )
        return Side(source), Side(target)
    for side in ("source", "target"):
        if getattr(space, side) is None:
            raise FippError(f"this needs the {side} vectors: Alignment.load(path, source=…, target=…)")
    assert space.source is not None and space.target is not None
    return Side(space.source, space.aligner.transform), Side(space.target, space.aligner.transform_target)
