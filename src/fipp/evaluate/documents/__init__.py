"""Cross-lingual document classification: trained in one language, tested in another (section 5.2 of the paper)."""

from fipp.evaluate._tokens import Coverage, EncodedTexts, encode, tokenize
from fipp.evaluate.documents._classifiers import CLASSIFIERS, CNNClassifier, LogisticClassifier
from fipp.evaluate.documents._corpus import DocumentCorpus
from fipp.evaluate.documents._result import DocumentResult, f1_difference, mean_f1_interval
from fipp.evaluate.documents._ted import load_ted
from fipp.evaluate.documents._transfer import transfer

__all__ = [
    "CLASSIFIERS",
    "CNNClassifier",
    "Coverage",
    "DocumentCorpus",
    "DocumentResult",
    "EncodedTexts",
    "LogisticClassifier",
    "encode",
    "f1_difference",
    "load_ted",
    "mean_f1_interval",
    "tokenize",
    "transfer",
]
