"""What is said where torch is missing."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from fipp import Vectors
from fipp.exceptions import FippError
from fipp.tasks import CNNClassifier, ESIMClassifier, encode


def test_the_networks_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    texts = encode(["a b", "b"], Vectors(["a", "b"], np.eye(2)))
    with pytest.raises(FippError, match=r"pip install 'fipp\[torch\]'"):
        CNNClassifier().fit(texts, np.array([[1], [0]], dtype=np.int8))
    with pytest.raises(FippError, match=r"pip install 'fipp\[torch\]'"):
        ESIMClassifier().fit(replace(texts, n_parts=2), np.array([0], dtype=np.int8))
