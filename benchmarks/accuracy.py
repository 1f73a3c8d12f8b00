"""How accurate FIPP is on real vectors, setting by setting, as Markdown tables.

    python benchmarks/accuracy.py [--csls] [--pairs en-fr ...] [--sizes 1k 5k]

Reads the vectors and XLING dictionaries of ../shared/data. Every setting is fitted on the training dictionary and
scored on the test dictionary (mean average precision over the whole target vocabulary by cosine, with --csls by CSLS
too).
Nothing is chosen here: all settings are shown.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

from fipp import FIPP, Alignment, FippWarning, Lexicon, Procrustes, Vectors
from fipp.preprocess import Isotropic

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
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
SETTINGS = {
    "Procrustes, unit length": Procrustes(),
    "Procrustes, isotropic": Procrustes(preprocess="isotropic"),
    "FIPP": FIPP(),
    "FIPP, ε 0.025": FIPP(0.025),
    "FIPP, ε 0.1": FIPP(0.1),
    "FIPP, λ 0.5": FIPP(lam=0.5),
    "FIPP, textbook isotropic": FIPP(preprocess="isotropic-textbook"),
    "FIPP, 2 components removed": FIPP(preprocess=Isotropic(2)),
    "FIPP, 2 removed, textbook": FIPP(preprocess=Isotropic(2, "textbook")),
    "FIPP, iterative normalisation": FIPP(preprocess="iterative"),
    "FIPP without preprocessing (unit length)": FIPP(preprocess="unit"),
    "FIPP without filter": FIPP(None),
    "FIPP without weights": FIPP(weighting=None),
    "FIPP, weights of the paper": FIPP(weighting="paper"),
    "FIPP, 2 rounds": FIPP(n_rounds=2),
    "FIPP, rank of the target": FIPP(rank="target"),
    "FIPP as published": FIPP.published(),
    "FIPP as published, full rank": FIPP.published(rank="full"),
    "FIPP as published, without filter": FIPP.published(None),
    "FIPP as published, without weights": FIPP.published(weighting=None),
    "FIPP as published + self-learning 4,000": FIPP.published(self_learning=4000),
    "FIPP + self-learning 4,000, mutual": FIPP(self_learning=4000),
    "FIPP + self-learning 4,000, one-to-one": FIPP(self_learning=4000, self_learning_rule="one-to-one"),
    "FIPP + self-learning 4,000, one-way": FIPP(self_learning=4000, self_learning_rule="one-way"),
}


def load(name, cache={}):  # noqa: B006  the cache is meant to live on
    if name not in cache:
        cache[name] = Vectors.load(DATA / "vectors" / f"{name}.npy")
    return cache[name]


def dictionary(pair, size):
    source, _, folder = PAIRS[pair]
    lexicon = Lexicon.load(DATA / "xling" / folder / f"{size}.tsv")
    return lexicon if folder.startswith(source[:2]) else lexicon.reverse()


def score(setting, pair, size, csls):
    source, target = load(PAIRS[pair][0]), load(PAIRS[pair][1])
    rows = dictionary(pair, f"train.{size}").lookup(source, target).rows
    start = time.perf_counter()
    alignment = Alignment(setting.fit(source.matrix, target.matrix, rows), source, target)
    seconds = time.perf_counter() - start
    ways = ["cosine", "csls"] if csls else ["cosine"]
    test = dictionary(pair, "test.2k")
    return [alignment.evaluate(test, retrieval=way).map for way in ways], seconds, alignment


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csls", action="store_true", help="score by CSLS as well")
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--sizes", nargs="+", choices=["1k", "5k"], default=["1k", "5k"])
    parser.add_argument("--settings", default="", help="only settings whose name contains this")
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit("there is no data in ../shared/data")
    warnings.simplefilter("ignore", FippWarning)

    columns = [(pair, size) for pair in arguments.pairs for size in arguments.sizes]
    print("| setting | " + " | ".join(f"{pair} {size}" for pair, size in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, setting in SETTINGS.items():
        if arguments.settings not in name:
            continue
        print(f"| {name} ", end="", flush=True)
        for pair, size in columns:
            maps, _, _ = score(setting, pair, size, arguments.csls)
            print("| " + " / ".join(f"{value:.4f}".lstrip("0") for value in maps) + " ", end="", flush=True)
        print("|", flush=True)


if __name__ == "__main__":
    main()
