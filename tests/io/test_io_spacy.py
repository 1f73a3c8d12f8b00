"""spaCy's vectors from folders and pipelines."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import SubwordVectors, Vectors
from fipp.io._budget import Budget
from fipp.io.formats._spacy import parse_integer_map
from io_samples import MATRIX, VECTORS, WORDS, spacy, spacy_floret


def test_a_folder_is_read_without_spacy(tmp_path):
    path = spacy(tmp_path)
    assert Vectors.load(path, strict=True).checksum == VECTORS.checksum
    assert Vectors.load(path / "vocab", limit=2).words == WORDS[:2]


def test_several_words_may_share_a_row(tmp_path):
    path = spacy(tmp_path)
    rows = path / "vocab" / "key2row"
    content = bytearray(rows.read_bytes())
    content[-1] = 0
    rows.write_bytes(content)
    vectors = Vectors.load(path)
    assert vectors["running"].tolist() == vectors["cat"].tolist()


def test_keys_without_a_word_are_skipped_and_counted(tmp_path):
    path = spacy(tmp_path)
    (path / "vocab" / "strings.json").write_text(json.dumps(WORDS[1:]))
    vectors = Vectors.load(path)
    assert vectors.words == WORDS[1:]
    assert "1 row without a word" in vectors.report.summary()


def test_floret_mode_needs_words_and_makes_vectors_for_any(tmp_path):
    path = spacy_floret(tmp_path)
    with pytest.raises(FippError, match="name the words you want"):
        Vectors.load(path)
    assert isinstance(Vectors.load(path, words=["anything"]), SubwordVectors)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("key2row", b"", "cut short"),
        ("key2row", b"\xdf\xff\xff\xff\xff\x01\x02", "cut short"),
        ("key2row", b"\x93\x01\x02\x03", "not a MessagePack map"),
        ("key2row", b"\x81\xa1a\x01", "not a MessagePack map"),
        ("key2row", b"\x80", "no words with vectors"),
        ("strings.json", b"{}", "not a list of strings"),
        ("strings.json", b"[1]", "not a list of strings"),
        ("strings.json", b"[" * 100_000, "not JSON"),
        ("vectors", b"", "not a NumPy matrix"),
        ("vectors.cfg", b"\xff", "not JSON"),
        ("vectors.cfg", b'{"mode": "floret"}', "damaged"),
        ("vectors.cfg", b'{"mode": "floret", "minn": 1, "maxn": 1e9}', "damaged"),
    ],
)
def test_a_damaged_part_is_named(tmp_path, name, content, message):
    path = spacy(tmp_path)
    (path / "vocab" / name).write_bytes(content)
    with pytest.raises(FippError, match=message):
        Vectors.load(path)


def test_a_row_that_is_not_there_is_refused(tmp_path):
    path = spacy(tmp_path)
    with open(path / "vocab" / "vectors", "wb") as file:
        np.save(file, MATRIX[:2])
    with pytest.raises(FippError, match="the row 2 of 2"):
        Vectors.load(path)


def test_a_missing_part_is_named(tmp_path):
    path = spacy(tmp_path)
    (path / "vocab" / "strings.json").unlink()
    with pytest.raises(FippError, match=r"no file .*strings\.json"):
        Vectors.load(path)


def test_every_sort_of_number_is_understood():
    content = b"\xde\x00\x05\x7f\xff\xcc\xff\xcd\x01\x00\xce\x00\x01\x00\x00\xd0\x80\xd1\xff\x00\xd2\xff\xff\x00\x00"
    content += b"\xd3" + b"\xff" * 8 + b"\xe0"
    assert parse_integer_map(content, None, Budget(None)) == {127: -1, 255: 256, 65536: -128, -256: -65536, -1: -32}


def test_what_is_no_pipeline_is_refused():
    with pytest.raises(FippError, match="not str"):
        Vectors.from_spacy("en_core_web_md")
    empty = SimpleNamespace(vectors=SimpleNamespace(data=np.zeros((0, 0)), key2row={}), strings={})
    with pytest.raises(FippError, match="has no vectors"):
        Vectors.from_spacy(empty)


@pytest.fixture
def library():
    return pytest.importorskip("spacy", reason="spaCy is not installed")


def test_vectors_of_a_pipeline_and_of_its_folder_are_those_of_spacy(tmp_path, library):
    nlp = library.blank("en")
    # PERSON and NOUN are symbols of spaCy's own, which have numbers instead of hashes.
    words = [*WORDS, "PERSON", "NOUN", "日本語", "a rather long word of more than thirty bytes"]
    matrix = np.random.default_rng(0).standard_normal((len(words), 5)).astype(np.float32)
    for word, row in zip(words, matrix, strict=True):
        nlp.vocab.set_vector(word, row)
    nlp.to_disk(tmp_path / "pipeline")
    for vectors in [
        Vectors.from_spacy(nlp),
        Vectors.from_spacy(nlp.vocab),
        Vectors.load(tmp_path / "pipeline"),
        Vectors.load(tmp_path / "pipeline" / "vocab"),
    ]:
        assert set(vectors.words) == set(words)
        for word in words:
            assert vectors[word].tolist() == nlp.vocab.get_vector(word).tolist()
    assert Vectors.from_spacy(nlp, words=["cat", "unicorn"]).words == ("cat",)


@pytest.mark.parametrize("ngrams", [(3, 5), (1, 2)])
def test_floret_vectors_are_those_of_spacy(tmp_path, library, ngrams):
    nlp = library.blank("en")
    table = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
    nlp.vocab.vectors = library.vectors.Vectors(
        strings=nlp.vocab.strings, data=table, mode="floret", minn=ngrams[0], maxn=ngrams[1], hash_count=3,
        hash_seed=2166136261, bow="<", eow=">",
    )  # fmt: skip
    nlp.to_disk(tmp_path / "pipeline")
    words = [*WORDS, "日本語", "🦊fox", "unseen", "a rather long word of more than thirty bytes"]
    for vectors in [Vectors.from_spacy(nlp, words=words), Vectors.load(tmp_path / "pipeline", words=words)]:
        assert vectors.words == tuple(words)
        for word in words:
            np.testing.assert_allclose(vectors[word], nlp.vocab[word].vector, rtol=1e-5, atol=1e-6)
    with pytest.raises(FippError, match="name the words you want"):
        Vectors.from_spacy(nlp)
