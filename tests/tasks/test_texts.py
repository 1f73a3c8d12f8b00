"""Texts as rows of a vocabulary."""

import numpy as np
import pytest

from fipp import Vectors
from fipp.exceptions import FippError
from fipp.tasks import encode, tokenize

VECTORS = Vectors(["eau", "aujourd'hui", "l", "Paris", "3d"], np.arange(10, dtype=float).reshape(5, 2) + 1)
TEXTS = ["L'eau, aujourd'hui!", "", "À Paris: 3D paris-eau xyz", "xyz zyx xyz"]


def test_every_text_is_the_rows_of_its_words_in_order():
    encoded = encode(TEXTS, VECTORS)
    unit = VECTORS.matrix / np.linalg.norm(VECTORS.matrix, axis=1, keepdims=True)
    expected = [[2, 0, 1], [], [3, 4, 3, 0], []]  # l + eau; à has no vector; paris-eau is paris + eau
    for start, end, rows in zip(encoded.offsets[:-1], encoded.offsets[1:], expected, strict=True):
        np.testing.assert_allclose(encoded.matrix[encoded.ids[start:end]], unit[rows], rtol=1e-6)


def test_coverage_counts_words_different_words_and_texts():
    coverage = encode(TEXTS, VECTORS).coverage
    # l eau aujourd'hui | à paris 3d paris eau xyz | xyz zyx xyz
    assert (coverage.words, coverage.found) == (12, 7)
    assert (coverage.distinct, coverage.distinct_found) == (8, 5)
    assert (coverage.texts, coverage.empty) == (4, 2)
    assert coverage.missing == (("xyz", 3), ("à", 1), ("zyx", 1))
    assert coverage.share == pytest.approx(7 / 12) and coverage.as_dict()["found"] == 7


def test_a_rectangle_holds_each_text_cut_and_filled():
    encoded = encode(TEXTS, VECTORS)
    words, lengths = encoded.padded(np.array([2, 1, 0]), max_words=2, at_least=4)
    assert words.shape == (3, 4, 2) and lengths.tolist() == [2, 0, 2]
    for row, text in enumerate([2, 1, 0]):
        own = encoded.ids[encoded.offsets[text] : encoded.offsets[text + 1]][:2]
        assert words[row, : len(own)].tolist() == encoded.matrix[own].tolist()
        assert (words[row, len(own) :] == 0).all()


def test_the_mean_is_that_of_a_loop_over_the_words():
    encoded = encode(TEXTS, VECTORS)
    for row, mean in enumerate(encoded.means()):
        ids = encoded.ids[encoded.offsets[row] : encoded.offsets[row + 1]]
        total = sum((encoded.matrix[i].astype(float) for i in ids), np.zeros(2))
        np.testing.assert_allclose(mean, total / (np.linalg.norm(total) or 1), rtol=1e-5)


def test_only_vectors_in_use_are_mapped():
    seen = []

    def double(rows):
        seen.append(len(rows))
        return 2 * rows[:, ::-1]

    encoded = encode(["eau eau paris"], VECTORS, double)
    assert seen == [2]
    np.testing.assert_allclose(np.linalg.norm(encoded.matrix, axis=1), 1, rtol=1e-6)


def test_texts_without_any_known_word_are_no_error_here():
    encoded = encode(["xyz", ""], VECTORS)
    assert len(encoded) == 2 and len(encoded.ids) == 0 and encoded.means().shape == (2, 2)


def test_one_text_instead_of_several_is_refused():
    with pytest.raises(FippError, match="put it in a list"):
        encode("eau", VECTORS)


def test_words_keep_their_inner_apostrophes_and_hyphens_and_lose_all_else():
    assert tokenize("«L’État» — e-mail, 2.5_x -don't-") == ["l’état", "e-mail", "2", "5", "x", "don't"]
