"""The paper's downstream tasks (section 5.2): classifiers trained in one language and tested in another."""

from fipp.tasks._documents import CNNClassifier, DocumentCorpus, DocumentResult, LogisticTopics
from fipp.tasks._inference import ESIMClassifier, InferenceCorpus, InferenceResult, LogisticInference
from fipp.tasks._methods import NOT_ALIGNED, Outcome, check_methods, each_method  # noqa: F401
from fipp.tasks._nli_files import load_nli
from fipp.tasks._ted import load_ted
from fipp.tasks._texts import Coverage, EncodedTexts, encode, tokenize  # noqa: F401
from fipp.tasks._transfer import difference_interval, mean_interval, transfer

# The names that are not listed here are for other rooms of fipp.
__all__ = [
    "CNNClassifier",
    "Coverage",
    "DocumentCorpus",
    "DocumentResult",
    "ESIMClassifier",
    "InferenceCorpus",
    "InferenceResult",
    "LogisticInference",
    "LogisticTopics",
    "difference_interval",
    "each_method",
    "encode",
    "load_nli",
    "load_ted",
    "mean_interval",
    "tokenize",
    "transfer",
]
