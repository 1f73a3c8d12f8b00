"""Alignment without pairs: found where there is something to find, refused where there is not."""

import numpy as np
import pytest

import fipp
from fipp import Alignment, FippError, Unsupervised, Vectors


@pytest.fixture(scope="module")
def words():
    """Clusters of different sizes, so that words differ in how they are like others."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((30, 40))
    sizes = rng.dirichlet(np.ones(30))
    X = centres[rng.choice(30, size=1500, p=sizes)] + 0.7 * rng.standard_normal((1500, 40))
    turn = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    return X.astype(np.float32), (X @ turn + 0.02 * rng.standard_normal((1500, 40))).astype(np.float32)


def test_a_planted_rotation_is_found_without_any_pairs(words):
    X, Y = words
    aligner = Unsupervised().fit(X, Y)
    assert aligner.score(X, Y) > 0.95
    assert aligner.consistency_ > 0.8
    assert len(aligner.pairs_) == 0


def test_pairs_that_are_given_are_ignored(words):
    X, Y = words
    wrong = np.stack([np.arange(50), np.arange(50) + 700], axis=1)
    np.testing.assert_array_equal(Unsupervised().fit(X, Y, wrong).map_, Unsupervised().fit(X, Y).map_)


def test_unrelated_spaces_are_refused_with_advice(words):
    rng = np.random.default_rng(2)
    with pytest.raises(FippError, match=r"has failed.*Give known pairs"):
        Unsupervised().fit(words[0], rng.standard_normal((1500, 40)))


def test_vocabularies_of_different_size_need_no_pairs(words, tmp_path):
    X, Y = words
    source, target = (Vectors([f"{i}" for i in range(len(side))], side) for side in (X[:1200], Y))
    alignment = fipp.align(source, target, method="unsupervised")
    alignment.save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), alignment.aligner.transform(X))
    assert alignment.translate("7", k=1)[0].word == "7"


def test_a_method_that_learns_from_pairs_asks_for_them(words):
    source, target = (Vectors([f"{i}" for i in range(1500)], side) for side in words)
    with pytest.raises(FippError, match="give a lexicon"):
        fipp.align(source, target, method="procrustes")
