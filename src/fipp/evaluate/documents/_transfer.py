"""Training on documents of the source language, testing on documents of the target language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from fipp.evaluate._tokens import encode
from fipp.evaluate._transfer import sides_of
from fipp.evaluate.documents._classifiers import CLASSIFIERS, DocumentClassifier
from fipp.evaluate.documents._corpus import DocumentCorpus
from fipp.evaluate.documents._result import DocumentResult
from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.linalg import Progress

if TYPE_CHECKING:
    from fipp._alignment import Alignment


def transfer(
    space: Alignment | tuple[Vectors, Vectors],
    train: DocumentCorpus,
    test: DocumentCorpus,
    classifier: str | DocumentClassifier = "cnn",
    *,
    progress: Progress | None = None,
    **options: Any,
) -> DocumentResult:
    """Train a classifier on documents of the source language and test it on documents of the target language.

    Parameters
    ----------
    space : Alignment, or (Vectors, Vectors)
        The shared space; two sets of vectors are taken as they are, which shows what comes without alignment.
    train : DocumentCorpus
        Documents in the source language.
    test : DocumentCorpus
        Documents in the target language, of the same topics. Nothing is learned or chosen on them.
    classifier : {"cnn", "logistic"} or classifier, default="cnn"
        The network of the paper, which needs ``fipp[torch]``, or the quick baseline.
    progress : callable, optional
        Called as ``progress(done, total)`` while training.
    **options
        Settings of the classifier, such as ``epochs`` of `CNNClassifier`.

    Returns
    -------
    DocumentResult

    Examples
    --------
    >>> import fipp
    >>> from fipp.evaluate.documents import DocumentCorpus, transfer
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> english = DocumentCorpus.from_single(["bread and cheese", "a red car", "meat and wine", "the train"], "1212")
    >>> french = DocumentCorpus.from_single(["pain et fromage", "le train"], "12")
    >>> transfer(alignment, english, french, "logistic").micro_f1
    1.0
    """
    if train.topics != test.topics:
        raise FippError(
            f"the topics to train on ({', '.join(train.topics)}) are not those to test on ({', '.join(test.topics)})"
        )
    source, target = sides_of(space)
    model = make_classifier(classifier, options)
    training_texts = encode(train.texts, *source)
    test_texts = encode(test.texts, *target)
    for texts, side in ((training_texts, "source"), (test_texts, "target")):
        if not len(texts.ids):
            raise FippError(f"no word of the {side} texts has a vector: are the vectors of that language?")
    model.fit(training_texts, train.labels, progress=progress)
    name = classifier if isinstance(classifier, str) else type(model).__name__
    predicted = model.predict(test_texts)
    return DocumentResult(predicted, test.labels, test.topics, name, training_texts.coverage, test_texts.coverage)


def make_classifier(classifier: str | DocumentClassifier, options: dict[str, Any]) -> DocumentClassifier:
    """Give a new classifier of this name, or like the one given, with these settings.

    Examples
    --------
    >>> make_classifier("logistic", {"C": 1.0})
    LogisticClassifier(C=1.0)
    """
    if not isinstance(classifier, str):
        copy: DocumentClassifier = clone(classifier).set_params(**options)
        return copy
    if classifier not in CLASSIFIERS:
        raise FippError(f"there is no classifier {classifier!r}; known are {', '.join(CLASSIFIERS)}")
    kind = CLASSIFIERS[classifier]
    unknown = sorted(set(options) - set(kind._get_param_names()))
    if unknown:
        raise FippError(f"{classifier} has no setting {unknown[0]!r}; it has {', '.join(kind._get_param_names())}")
    made: DocumentClassifier = kind(**options)
    return made
