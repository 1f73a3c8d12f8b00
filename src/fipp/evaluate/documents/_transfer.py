"""Training on documents of the source language, testing on documents of the target language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fipp.evaluate._crosslingual import Classifier, make_classifier, train_and_tell
from fipp.evaluate._tokens import encode
from fipp.evaluate.documents._classifiers import CLASSIFIERS
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
    classifier: str | Classifier = "cnn",
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
    model, name = make_classifier(classifier, options, CLASSIFIERS)
    told = train_and_tell(space, train, test, model, name, lambda corpus, side: encode(corpus.texts, *side), progress)
    return DocumentResult(told.predicted, test.labels, test.topics, told.classifier, told.training, told.test)
