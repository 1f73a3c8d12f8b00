"""The bundled English and French vectors."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file

from fipp.io import Lexicon, Vectors


class Demo(NamedTuple):
    """Two vocabularies, pairs to learn from, and pairs to score by."""

    source: Vectors
    target: Vectors
    seed: Lexicon
    test: Lexicon


def load_demo() -> Demo:
    """Load 8,000 English and 8,000 French words with their vectors, and a lexicon between them; offline.

    The vectors are CC0, the lexicon was written for fipp. See the README beside the data for where they come from.

    Returns
    -------
    Demo
        ``source``, ``target``, ``seed`` and ``test``.

    Examples
    --------
    >>> from fipp.datasets import load_demo
    >>> demo = load_demo()
    >>> demo.source, len(demo.test)
    (Vectors(8000 words, 300 dimensions), 200)
    """
    with as_file(files("fipp.datasets") / "demo") as folder:
        return Demo(
            _read_quantised(folder / "en.safetensors"),
            _read_quantised(folder / "fr.safetensors"),
            Lexicon.load(folder / "en-fr.seed.tsv"),
            Lexicon.load(folder / "en-fr.test.tsv"),
        )


def _read_quantised(path: object) -> Vectors:
    """Read vectors stored as bytes with a scale for each row."""
    tensors = load_file(str(path))
    words = tensors["words"].tobytes().decode("utf-8").split("\n")
    return Vectors(words, tensors["matrix"].astype(np.float32) * tensors["scale"][:, None])
