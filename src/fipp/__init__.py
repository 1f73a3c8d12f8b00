"""fipp brings two embedding spaces together from a few known pairs, and tells you how well it worked."""

from fipp import datasets
from fipp._alignment import Alignment, Translation, align
from fipp._version import __version__
from fipp.aligners import FIPP, Procrustes
from fipp.evaluate import BLIResult
from fipp.exceptions import FippError, FippWarning
from fipp.io import Lexicon, Vectors
from fipp.linalg import pip_distance

__all__ = [
    "FIPP",
    "Alignment",
    "BLIResult",
    "FippError",
    "FippWarning",
    "Lexicon",
    "Procrustes",
    "Translation",
    "Vectors",
    "__version__",
    "align",
    "datasets",
    "pip_distance",
]
