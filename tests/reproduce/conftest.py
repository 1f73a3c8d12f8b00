"""Three small languages on disk: the same items turned, with some noise, and dictionaries in XLING's layouts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fipp import Lexicon, Vectors
from fipp.reproduce import VARIANTS, discover, make_plan, run


class Folders(NamedTuple):
    vectors: Path
    dictionaries: Path


def make_folders(root: Path, max_words: int = 200, dim: int = 12) -> Folders:
    rng = np.random.default_rng(0)
    folders = Folders(root / "vectors", root / "dictionaries")
    for folder in folders:
        folder.mkdir()
    items = rng.standard_normal((max_words, dim))
    for language, name in {"en": "wiki.en.vec", "fr": "cc.fr.300.vec.gz", "xx": "xx.small.npy"}.items():
        turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
        matrix = items @ turn + 0.3 * rng.standard_normal((max_words, dim))
        Vectors([f"{language}{i}" for i in range(max_words)], matrix).save(folders.vectors / name)

    def pairs(source: str, target: str, rows: range) -> Lexicon:
        return Lexicon([(f"{source}{i}", f"{target}{i}") for i in rows])

    seed, test = range(max_words // 2), range(max_words // 2, max_words + 10)  # the last ten are in no vocabulary
    (folders.dictionaries / "en-fr").mkdir()
    pairs("en", "fr", seed).save(folders.dictionaries / "en-fr" / "train.1k.tsv")
    pairs("en", "fr", test).save(folders.dictionaries / "en-fr" / "test.2k.tsv")
    pairs("xx", "en", seed).save(folders.dictionaries / "yacle.train.freq.1k.xx-en.tsv")
    pairs("xx", "en", test).save(folders.dictionaries / "yacle.test.freq.2k.xx-en.tsv")
    return folders


@pytest.fixture
def folders(tmp_path):
    return make_folders(tmp_path)


@pytest.fixture
def larger_folders(tmp_path):
    """Return languages on which the study takes long enough to be killed in the middle."""
    return make_folders(tmp_path, max_words=2000, dim=50)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Run the whole study once for all tests that only read what comes of it: its cells and their records."""
    with threadpool_limits(1):
        # All but MUSE, whose game takes minutes even on so few words.
        methods = [name for name in VARIANTS if name != "muse-adversarial"]
        found = discover(*make_folders(tmp_path_factory.mktemp("study")))
        cells = make_plan(found, sizes=["1k"], sgd_steps=3, methods=methods)
        return cells, run(cells)


@pytest.fixture(autouse=True)
def one_thread():
    """Several threads that wait for each other on busy cores take many times as long."""
    with threadpool_limits(1):
        yield
