"""Training on sentences of the source language, testing on sentences of the target language."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fipp.evaluate._crosslingual import Classifier, Side, make_classifier, train_and_tell
from fipp.evaluate._tokens import EncodedTexts, encode
from fipp.evaluate.inference._classifiers import CLASSIFIERS, EncodedPairs
from fipp.evaluate.inference._corpus import InferenceCorpus
from fipp.evaluate.inference._result import InferenceResult
from fipp.io import Vectors
from fipp.linalg import Progress

if TYPE_CHECKING:
    from fipp._alignment import Alignment


def transfer(
    space: Alignment | tuple[Vectors, Vectors],
    train: InferenceCorpus,
    test: InferenceCorpus,
    classifier: str | Classifier = "esim",
    *,
    progress: Progress | None = None,
    **options: Any,
) -> InferenceResult:
    """Train a classifier on pairs of sentences of the source language and test it on pairs of the target language.

    Parameters
    ----------
    space : Alignment, or (Vectors, Vectors)
        The shared space; two sets of vectors are taken as they are, which shows what comes without alignment.
    train : InferenceCorpus
        Pairs in the source language, such as those of MultiNLI.
    test : InferenceCorpus
        Pairs in the target language, such as those of XNLI. Nothing is learned or chosen on them.
    classifier : {"esim", "logistic"} or classifier, default="esim"
        The network of the paper, which needs ``fipp[torch]``, or the quick baseline.
    progress : callable, optional
        Called as ``progress(done, total)`` while training.
    **options
        Settings of the classifier, such as ``epochs`` of `ESIMClassifier`.

    Returns
    -------
    InferenceResult

    Examples
    --------
    >>> import fipp
    >>> from fipp.evaluate.inference import InferenceCorpus, transfer
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> english = InferenceCorpus(["bread", "car", "cheese", "wine"], ["bread", "red", "cheese", "night"], [0, 1, 0, 1])
    >>> french = InferenceCorpus(["pain", "voiture"], ["pain", "bleu"], [0, 1])
    >>> transfer(alignment, english, french, "logistic", C=100.0).accuracy
    1.0
    """
    model, name = make_classifier(classifier, options, CLASSIFIERS)
    told = train_and_tell(space, train, test, model, name, _encode, progress)
    return InferenceResult(told.predicted, test.labels, told.classifier, told.training, told.test)


def _encode(corpus: InferenceCorpus, side: Side) -> EncodedPairs:
    """Encode premises and hypotheses together, so that a word is looked up and mapped once."""
    both = encode((*corpus.premises, *corpus.hypotheses), *side)
    n = len(corpus)
    middle = both.offsets[n]
    premises = replace(both, ids=both.ids[:middle], offsets=both.offsets[: n + 1])
    hypotheses: EncodedTexts = replace(both, ids=both.ids[middle:], offsets=both.offsets[n:] - middle)
    return EncodedPairs(premises, hypotheses)
