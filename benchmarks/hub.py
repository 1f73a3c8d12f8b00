"""A hub of four languages: its maps compared with those of each pair alone, and with two maps in a row.

English is the hub, with dictionaries to French, Finnish and Russian. Each of these pairs is also aligned alone. From
Finnish to French and to Russian there is no dictionary. There, the hub is compared with the two pairwise maps in a row:
the best English word by CSLS is looked up for each word, and then translated. XLING made its dictionaries of other
languages by way of English, so a test word that has an English partner in the seed is left out.
"""

from __future__ import annotations

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import both, count, short, table

import fipp
from fipp.aligners import METHODS
from fipp.evaluate import bli
from fipp.retrieve import neighbours

OTHERS = {"fr": "fr.spacymd300", "fi": "fi.floret300", "ru": "ru.navecnews300"}
KNOWN = ("en-fr", "en-fi", "en-ru")
UNKNOWN = ("fi-fr", "fi-ru")
ENGLISH = ("en.glove840b300", "en.wink100")
USED = ("procrustes", "fipp", "spectral", "auto")


def measure(english, size, method):
    """Return the scores of the hub and of pairwise maps, [by cosine, by CSLS], for every pair of languages."""
    vectors = {"en": _data.load(english)} | {name: _data.load(each) for name, each in OTHERS.items()}
    seeds = {pair: _data.dictionary(pair, f"train.{size}") for pair in KNOWN}
    tests = {pair: _data.dictionary(pair, "test.2k") for pair in KNOWN}
    known_words = {word for seed in seeds.values() for word in seed.reverse().sources}
    tests |= {pair: _unseen(_data.dictionary(pair, "test.2k"), known_words) for pair in UNKNOWN}

    hub = fipp.align_many(vectors, {tuple(pair.split("-")): seed for pair, seed in seeds.items()}, method, hub="en")
    alone = {
        pair: fipp.align(vectors["en"], vectors[pair[3:]], seed, method) for pair, seed in seeds.items()
    }
    told = {}
    for pair, test in tests.items():
        names = pair.split("-")
        told[pair] = {
            "hub": [hub.evaluate(test, *names, retrieval=way).map for way in _data.WAYS],
            "alone" if pair in KNOWN else "in a row": None,
        }
    return told


PLAN = [
    {"english": english, "size": size, "method": method}
    for english in ENGLISH
    for size in _data.SIZES
    for method in USED
]
