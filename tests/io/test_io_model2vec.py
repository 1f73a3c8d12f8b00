"""model2vec's folders and models."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from fipp.exceptions import FippError
from fipp.io import Vectors
from io_samples import MATRIX, VECTORS, WORDS, model2vec


def write(folder, tokenizer, **tensors):
    path = folder / "model"
    path.mkdir(exist_ok=True)
    save_file(tensors or {"embeddings": MATRIX}, path / "model.safetensors")
    (path / "tokenizer.json").write_text(tokenizer if isinstance(tokenizer, str) else json.dumps(tokenizer))
    return path


def test_tokens_have_their_rows(tmp_path):
    vocabulary = {word: number for number, word in reversed(list(enumerate(WORDS)))}
    path = write(tmp_path, {"model": {"vocab": vocabulary}, "added_tokens": []})
    assert Vectors.load(path, strict=True).checksum == VECTORS.checksum
    assert Vectors.load(path, limit=2).words == WORDS[:2]


def test_tokens_with_scores_and_added_tokens_are_understood(tmp_path):
    unigram = {"vocab": [[word, -1.0] for word in WORDS[:3]]}
    path = write(tmp_path, {"model": unigram, "added_tokens": [{"id": 3, "content": WORDS[3]}]})
    assert Vectors.load(path, strict=True).checksum == VECTORS.checksum


def test_a_quantised_vocabulary_has_rows_and_weights(tmp_path):
    vectors = Vectors.load(model2vec(tmp_path))
    assert vectors["running"].tolist() == (MATRIX[1] / 2).tolist()


def test_a_token_without_a_row_is_skipped_and_counted(tmp_path):
    vocabulary = {**{word: number for number, word in enumerate(WORDS)}, "more": 4, "less": -1}
    vectors = Vectors.load(write(tmp_path, {"model": {"vocab": vocabulary}}))
    assert vectors.words == WORDS
    assert "2 words without a vector" in vectors.report.summary()


@pytest.mark.parametrize(
    "tokenizer",
    [
        "",
        "[]",
        "{}",
        '{"model": {"vocab": 3}}',
        '{"model": {"vocab": {"a": "b"}}}',
        '{"model": {"vocab": [[]]}}',
        "[" * 99999,
    ],
)
def test_a_damaged_tokenizer_is_refused(tmp_path, tokenizer):
    with pytest.raises(FippError, match=r"tokenizer\.json is not (a tokenizer|JSON)|no token"):
        Vectors.load(write(tmp_path, tokenizer))


@pytest.mark.parametrize(
    "tensors",
    [
        {"other": MATRIX},
        {"embeddings": MATRIX[0]},
        {"embeddings": MATRIX, "mapping": np.array([0, 1, 2, 99])},
        {"embeddings": MATRIX, "mapping": np.array([0.5, 1, 2, 3])},
        {"embeddings": MATRIX, "weights": MATRIX},
    ],
)
def test_damaged_tensors_are_refused(tmp_path, tensors):
    with pytest.raises(FippError):
        Vectors.load(write(tmp_path, {"model": {"vocab": {word: i for i, word in enumerate(WORDS)}}}, **tensors))


def test_what_is_no_model_is_refused():
    with pytest.raises(FippError, match="not str"):
        Vectors.from_model2vec("potion")


@pytest.mark.parametrize("quantised", [False, True])
def test_vectors_are_those_of_model2vec(tmp_path, quantised):
    library = pytest.importorskip("model2vec", reason="model2vec is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    vocabulary = {"[UNK]": 0, **{word: number for number, word in enumerate(WORDS, 1)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    matrix = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    extra = {}
    if quantised:
        matrix = matrix[:3]
        extra = {"token_mapping": np.array([0, 1, 2, 1, 0]), "weights": np.linspace(0.5, 1, 5).astype(np.float32)}
    model = library.StaticModel(matrix, tokenizer, normalize=False, **extra)
    model.save_pretrained(tmp_path / "model")
    for vectors in [Vectors.from_model2vec(model), Vectors.load(tmp_path / "model", strict=True)]:
        assert vectors.words == ("[UNK]", *WORDS)
        for word in WORDS:
            np.testing.assert_allclose(vectors[word], model.encode([word])[0], rtol=1e-6)
