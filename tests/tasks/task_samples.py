"""Two made-up languages: the words of one are those of the other, turned, so that the right answers are known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fipp import Lexicon, Vectors
from fipp.tasks import DocumentCorpus, InferenceCorpus

TOPICS = ("arts", "health", "science", "trade")
_DIMENSIONS = 20
_PER_TOPIC, _NEUTRAL, _CONCEPTS, _DENIALS = 40, 300, 800, 100


class Languages:
    """Word number i is ``ei`` in the source and ``fi`` in the target, whose space is the source's turned, and noise."""

    def __init__(self, matrix: np.ndarray, n_seed: int) -> None:
        rng = np.random.default_rng(1)
        turn = np.linalg.qr(rng.standard_normal((matrix.shape[1], matrix.shape[1])))[0]
        turned = matrix @ turn + 0.02 * rng.standard_normal(matrix.shape)
        self.source = Vectors([f"e{i}" for i in range(len(matrix))], matrix)
        self.target = Vectors([f"f{i}" for i in range(len(matrix))], turned)
        # The first words are the known pairs; texts of the test are made of others.
        self.seed = Lexicon([(f"e{i}", f"f{i}") for i in range(n_seed)])


def sentence(letter: str, words: Iterable[int]) -> str:
    return " ".join(f"{letter}{word}" for word in words)


def topical() -> tuple[Languages, DocumentCorpus, DocumentCorpus]:
    """Documents of neutral words and some of a topic; those of the test have none in common with the training."""
    rng = np.random.default_rng(0)
    centres = 2.5 * rng.standard_normal((len(TOPICS), _DIMENSIONS))
    matrix = rng.standard_normal((_NEUTRAL + len(TOPICS) * _PER_TOPIC, _DIMENSIONS))
    for topic, centre in enumerate(centres):
        matrix[_NEUTRAL + topic :: len(TOPICS)] += centre
    languages = Languages(matrix, _NEUTRAL)

    def documents(letter: str, count: int, part: int) -> DocumentCorpus:
        texts, labels = [], np.zeros((count, len(TOPICS)), dtype=np.int8)
        for row in range(count):
            about = rng.choice(len(TOPICS), size=rng.integers(1, 3), replace=False)
            labels[row, about] = 1
            numbers = [2 * rng.integers(_PER_TOPIC // 2, size=5) + part for _ in about]
            words = [_NEUTRAL + len(TOPICS) * n + topic for n, topic in zip(numbers, about, strict=True)]
            mixed = np.concatenate([*words, rng.integers(_NEUTRAL, size=8)])
            texts.append(sentence(letter, rng.permutation(mixed)))
        return DocumentCorpus(texts, labels, TOPICS)

    return languages, documents("e", 400, 0), documents("f", 200, 1)


def lexical() -> tuple[Languages, InferenceCorpus, InferenceCorpus]:
    """A synonym in the hypothesis is an entailment, a synonym denied a contradiction, any other word neutral."""
    rng = np.random.default_rng(0)
    fillers = rng.standard_normal((_NEUTRAL, _DIMENSIONS))
    concepts = rng.standard_normal((_CONCEPTS, _DIMENSIONS))
    synonyms = concepts + 0.2 * rng.standard_normal(concepts.shape)
    denials = rng.standard_normal((_DENIALS, _DIMENSIONS)) + 3.0 * rng.standard_normal(_DIMENSIONS)
    languages = Languages(np.vstack([fillers, concepts, synonyms, denials]), _NEUTRAL)

    def pairs(letter: str, count: int, part: int) -> InferenceCorpus:
        premises, hypotheses = [], []
        labels = rng.integers(3, size=count)
        for label in labels:
            concept = 2 * rng.integers(_CONCEPTS // 2) + part
            denial = _NEUTRAL + 2 * _CONCEPTS + 2 * rng.integers(_DENIALS // 2) + part
            first, other = rng.integers(_NEUTRAL, size=2)
            said = other if InferenceCorpus.label_names[label] == "neutral" else _NEUTRAL + _CONCEPTS + concept
            opening = denial if InferenceCorpus.label_names[label] == "contradiction" else first
            premises.append(sentence(letter, [first, _NEUTRAL + concept]))
            hypotheses.append(sentence(letter, [opening, said]))
        return InferenceCorpus(premises, hypotheses, labels)

    return languages, pairs("e", 2000, 0), pairs("f", 300, 1)
