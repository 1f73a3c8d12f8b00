"""Debian's descriptions in several embedding spaces, as examples/embedding_models.py writes them.

The folder is ../shared/embeddings, or what the environment variable FIPP_EMBEDDINGS names.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _benchmark import ROOT

from fipp.linalg import unit_rows
from fipp.migrate import PairedSample

FOLDER = Path(os.environ.get("FIPP_EMBEDDINGS", ROOT.parent / "shared" / "embeddings"))
PAIRS = (
    "wordllama → minilm",
    "minilm-layer4 → minilm",
    "wordllama-64 → wordllama",
    "tfidf → minilm",
    "use → minilm",
    "minilm-static → minilm",
    "minilm → use",
    "wordllama → use",
    "tfidf → wordllama",
    "use → wordllama",
)
AT_A_TIME = 250


def obstacle():
    """Return why nothing can be measured, or None."""
    if (FOLDER / "ids.txt").exists():
        return None
    return f"{FOLDER} has no embeddings: run examples/embedding_models.py, or set FIPP_EMBEDDINGS"


@cache
def space(name):
    """Return the vectors of documents and queries."""
    if name in _MADE:
        return _MADE[name](*space("minilm"))
    return tuple(np.load(FOLDER / f"{name}.{kind}.npy", mmap_mode="r") for kind in ("documents", "queries"))


def _eight_bits(*sides):
    """Return the vectors as a store with one byte per number keeps them: the same model, seen before and after it."""
    steps = np.abs(sides[0]).max(axis=0) / 127
    return tuple(np.clip(np.round(side / steps), -127, 127) * steps for side in sides)


def _first_components(documents, queries, count=128):
    """Return the first principal components of the documents, as a store that saves memory keeps them."""
    mean = documents.mean(axis=0)
    axes = np.linalg.eigh(np.cov(documents, rowvar=False))[1][:, -count:].astype(np.float32)
    return (documents - mean) @ axes, (queries - mean) @ axes


_MADE = {"minilm-8bit": _eight_bits, "minilm-128": _first_components}
"""Spaces related to MiniLM's that are made on the spot."""


@cache
def gold():
    """Return the row of the document that answers each query."""
    with open(FOLDER / "queries.jsonl", encoding="utf-8") as file:
        return np.array([json.loads(line)["gold"] for line in file])


class Part(NamedTuple):
    """Some documents and queries that they answer, in both models, of unit length."""

    old: np.ndarray
    new: np.ndarray
    old_queries: np.ndarray
    new_queries: np.ndarray
    gold: np.ndarray

    def sample(self):
        return PairedSample.from_arrays(
            self.old, self.new, old_queries=self.old_queries, new_queries=self.new_queries, gold=self.gold
        )


def parts(pair, draw, counts, queries):
    """Return disjoint random parts of the documents, with at most so many queries that each answers."""
    sides = [space(name) for name in pair.split(" → ")]
    rows = min(len(documents) for documents, _ in sides)
    answered = gold()[: min(len(asked) for _, asked in sides)]
    rng = np.random.default_rng(draw)
    filled = np.logical_and.reduce([np.asarray(documents[:rows]).any(axis=1) for documents, _ in sides])
    usable = np.logical_and.reduce([np.asarray(asked[: len(answered)]).any(axis=1) for _, asked in sides])
    order, found, start = rng.permutation(np.flatnonzero(filled)), [], 0
    for count, most in zip(counts, queries, strict=True):
        chosen = np.sort(order[start : start + count])
        start += count
        place = np.full(max(rows, answered.max() + 1), -1)
        place[chosen] = np.arange(len(chosen))
        asked = rng.permutation(np.flatnonzero((place[answered] >= 0) & usable))[:most]
        vectors = [unit_rows(np.asarray(documents[chosen])) for documents, _ in sides]
        vectors += [unit_rows(np.asarray(each[np.sort(asked)])) for _, each in sides]
        found.append(Part(*vectors, place[answered[np.sort(asked)]]))
    return found


def search(queries, items, k, answers=None):
    """Return the k nearest items of each query, best first, and the ranks of the answers."""
    nearest, ranks = [], []
    for first in range(0, len(queries), AT_A_TIME):
        scores = queries[first : first + AT_A_TIME] @ items.T
        if answers is not None:
            own = np.take_along_axis(scores, answers[first : first + AT_A_TIME, None], axis=1)
            ranks.append(1 + (scores > own).sum(axis=1))
        best = np.argpartition(-scores, k, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        nearest.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(nearest), np.concatenate(ranks) if ranks else None


def overlap(found, wanted):
    """Return the mean share of the wanted rows that were found."""
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), wanted.tolist(), strict=True)]))
