"""gensim's objects, both ways."""

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import SubwordVectors, Vectors
from io_samples import MATRIX, VECTORS, WORDS


@pytest.fixture
def models():
    return pytest.importorskip("gensim.models", reason="gensim is not installed")


def test_keyed_vectors_come_and_go_with_the_same_bits(models):
    keyed = VECTORS.to_gensim()
    assert isinstance(keyed, models.KeyedVectors)
    assert keyed.index_to_key == list(WORDS)
    assert keyed["čvor"].tobytes() == VECTORS["čvor"].tobytes()
    assert keyed.vectors.tobytes() == MATRIX.tobytes()
    keyed.vectors[0] = 7
    assert VECTORS["cat"].tolist() == MATRIX[0].tolist()
    again = Vectors.from_gensim(VECTORS.to_gensim())
    assert again.checksum == VECTORS.checksum


def test_a_trained_fasttext_model_makes_vectors_for_unseen_words(models):
    model = models.FastText(
        [[*WORDS] * 5] * 3, vector_size=6, min_count=1, bucket=50, min_n=2, max_n=4, epochs=1, workers=1
    )
    vectors = Vectors.from_gensim(model)
    assert isinstance(vectors, SubwordVectors)
    assert set(vectors.words) == set(WORDS)
    for word in [*WORDS, "cats", "čvoriće", "日本語"]:
        np.testing.assert_allclose(vectors.vector(word), model.wv[word], rtol=1e-4, atol=1e-7)


def test_gensims_own_files_are_pickles_and_refused(tmp_path, models):
    VECTORS.to_gensim().save(str(tmp_path / "x.kv"))
    with pytest.raises(FippError, match=r"is a pickle.*save_word2vec_format"):
        Vectors.load(tmp_path / "x.kv")


def test_what_is_no_model_is_refused():
    with pytest.raises(FippError, match="not str"):
        Vectors.from_gensim("x.kv")
