"""Training on sentences of the source language, testing on sentences of the target language."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from fipp.evaluate._tokens import EncodedTexts, encode
from fipp.evaluate._transfer import Side, sides_of
from fipp.evaluate.inference._classifiers import CLASSIFIERS, EncodedPairs, InferenceClassifier
from fipp.evaluate.inference._corpus import InferenceCorpus
from fipp.evaluate.inference._result import InferenceResult
from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.linalg import Progress

if TYPE_CHECKING:
    from fipp._alignment import Alignment


def transfer(
    space: Alignment | tuple[Vectors, Vectors],
    train: InferenceCorpus,
    test: InferenceCorpus,
    classifier: str | InferenceClassifier = "esim",
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
    source, target = sides_of(space)
    model = make_classifier(classifier, options)
    training_pairs, test_pairs = _encode(train, source), _encode(test, target)
    for pairs, side in ((training_pairs, "source"), (test_pairs, "target")):
        if not len(pairs.premises.ids) and not len(pairs.hypotheses.ids):
            raise FippError(f"no word of the {side} sentences has a vector: are the vectors of that language?")
    model.fit(training_pairs, train.labels, progress=progress)
    name = classifier if isinstance(classifier, str) else type(model).__name__
    predicted = model.predict(test_pairs)
    coverages = (pairs.premises.coverage for pairs in (training_pairs, test_pairs))
    return InferenceResult(predicted, test.labels, name, *coverages)


def make_classifier(classifier: str | InferenceClassifier, options: dict[str, Any]) -> InferenceClassifier:
    """Give a new classifier of this name, or like the one given, with these settings.

    Examples
    --------
    >>> make_classifier("logistic", {"C": 0.5})
    LogisticInference(C=0.5)
    """
    if not isinstance(classifier, str):
        copy: InferenceClassifier = clone(classifier).set_params(**options)
        return copy
    if classifier not in CLASSIFIERS:
        raise FippError(f"there is no classifier {classifier!r}; known are {', '.join(CLASSIFIERS)}")
    kind = CLASSIFIERS[classifier]
    unknown = sorted(set(options) - set(kind._get_param_names()))
    if unknown:
        raise FippError(f"{classifier} has no setting {unknown[0]!r}; it has {', '.join(kind._get_param_names())}")
    made: InferenceClassifier = kind(**options)
    return made


def _encode(corpus: InferenceCorpus, side: Side) -> EncodedPairs:
    """Encode premises and hypotheses together, so that a word is looked up and mapped once."""
    both = encode((*corpus.premises, *corpus.hypotheses), *side)
    n = len(corpus)
    middle = both.offsets[n]
    premises = replace(both, ids=both.ids[:middle], offsets=both.offsets[: n + 1])
    hypotheses: EncodedTexts = replace(both, ids=both.ids[middle:], offsets=both.offsets[n:] - middle)
    return EncodedPairs(premises, hypotheses)
