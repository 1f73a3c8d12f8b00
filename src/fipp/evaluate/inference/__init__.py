"""Cross-lingual inference: ESIM trained on MultiNLI, tested on XNLI in another language (section 5.2 of the paper)."""

from fipp.evaluate._tokens import Coverage
from fipp.evaluate.inference._classifiers import CLASSIFIERS, EncodedPairs, ESIMClassifier, LogisticInference
from fipp.evaluate.inference._corpus import LABELS, InferenceCorpus
from fipp.evaluate.inference._files import load_multinli, load_xnli
from fipp.evaluate.inference._result import InferenceResult
from fipp.evaluate.inference._transfer import transfer

__all__ = [
    "CLASSIFIERS",
    "LABELS",
    "Coverage",
    "ESIMClassifier",
    "EncodedPairs",
    "InferenceCorpus",
    "InferenceResult",
    "LogisticInference",
    "load_multinli",
    "load_xnli",
    "transfer",
]
