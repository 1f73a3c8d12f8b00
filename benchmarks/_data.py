"""The vectors and XLING dictionaries in ../shared/data that benchmarks use, and how alignments are scored on them."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
from _benchmark import ROOT
from sklearn.base import clone

from fipp import Alignment, Lexicon, Vectors

DATA = ROOT.parent / "shared" / "data"
PAIRS = {
    "en-fr": ("en.spacymd300", "fr.spacymd300", "en-fr"),
    "en-ru": ("en.wink100", "ru.navecnews300", "en-ru"),
    "en-fi": ("en.glove840b300", "fi.floret300", "en-fi"),
    "en100-fr": ("en.wink100", "fr.spacymd300", "en-fr"),
    "fi-fr": ("fi.floret300", "fr.spacymd300", "fi-fr"),
    "fi-ru": ("fi.floret300", "ru.navecnews300", "fi-ru"),
    "ru-en": ("ru.navecnews300", "en.wink100", "en-ru"),
    "fr-en100": ("fr.spacymd300", "en.wink100", "en-fr"),
}
"""By name: the vectors of both sides and the folder of the dictionaries. en100 is English with 100 dimensions."""
VISIBLE = ("en-fr", "en-ru", "en-fi", "fi-fr", "fi-ru")
"""One pair for each folder of dictionaries."""
SIZES = ("1k", "5k")
WAYS = ("cosine", "csls")


def obstacle():
    return None if DATA.exists() else f"because there is no {DATA}"


@cache
def load(name):
    return Vectors.load(DATA / "vectors" / f"{name}.npy")


@cache
def dictionary(pair, part):
    source, _, folder = PAIRS[pair]
    lexicon = Lexicon.load(DATA / "xling" / folder / f"{part}.tsv")
    return lexicon if folder.startswith(source[:2]) else lexicon.reverse()


def sides(pair):
    return load(PAIRS[pair][0]), load(PAIRS[pair][1])


def seed_rows(pair, size):
    return np.asarray(dictionary(pair, f"train.{size}").lookup(*sides(pair)).rows)


def fitted(aligner, pair, rows, **more):
    """Fit a copy of the aligner; return the alignment, and the wall and processor seconds of the fit."""
    source, target = sides(pair)
    clock, processor = time.perf_counter(), time.process_time()
    aligner = clone(aligner).fit(source.matrix, target.matrix, rows, **more)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return Alignment(aligner, source, target), {"seconds": clock, "processor": processor}


def maps(alignment, pair):
    """Return the mean average precision on the test dictionary by cosine and by CSLS."""
    return {way: alignment.evaluate(dictionary(pair, "test.2k"), retrieval=way).map for way in WAYS}


def maps_with_intervals(alignment, pair):
    """Return [mean average precision, low, high] on the test dictionary, by cosine and by CSLS."""
    results = {way: alignment.evaluate(dictionary(pair, "test.2k"), retrieval=way) for way in WAYS}
    return {way: [result.map, *result.interval("map")] for way, result in results.items()}


def unseen_maps(alignment, pair):
    """Return the mean average precision by cosine and by CSLS on the test pairs that are not in the seed."""
    results = {way: alignment.evaluate(dictionary(pair, "test.2k"), retrieval=way).unseen for way in WAYS}
    return {way: result.map for way, result in results.items()}


def columns(pairs=PAIRS, sizes=SIZES):
    """Return column headings for all pairs and sizes, with the fields of their records."""
    return {f"{named(pair)} {size.upper()}": {"pair": pair, "size": size} for pair in pairs for size in sizes}


def named(pair):
    return pair.replace("100", "₁₀₀")


def arrow(pair):
    source, target, _ = PAIRS[pair]
    return f"{source} → {target}"
