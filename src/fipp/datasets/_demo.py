"""The bundled English and French vectors."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import NamedTuple

from fipp.io import Lexicon, Vectors


class Demo(NamedTuple):
    """Two vocabularies, pairs to learn from, and pairs to evaluate with."""

    source: Vectors
    target: Vectors
    seed: Lexicon
    test: Lexicon


def load_demo() -> Demo:
    """Load 8,000 English and 8,000 French words with their vectors, and a lexicon between them, without a network.

    The vectors are CC0, and the lexicon was written for fipp. The README beside the data describes its origin.

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
            Vectors.load(folder / "en.safetensors"),
            Vectors.load(folder / "fr.safetensors"),
            Lexicon.load(folder / "en-fr.seed.tsv"),
            Lexicon.load(folder / "en-fr.test.tsv"),
        )
