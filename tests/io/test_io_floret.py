"""floret's tables."""

import gzip

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.io._ngrams import murmur3
from io_samples import WORDS, floret

# Published by others for MurmurHash3_x64_128: input, seed, and the two halves of the result.
KNOWN = [
    (b"", 0, 0, 0),
    (b"hello", 0, 0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19),
    (b"The quick brown fox jumps over the lazy dog", 0, 0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347),
]


@pytest.mark.parametrize(("text", "seed", "first", "second"), KNOWN)
def test_the_hash_is_murmurhash3(text, seed, first, second):
    a, b, c, d = murmur3(np.frombuffer(text, dtype=np.uint8)[np.newaxis], seed)[0].tolist()
    assert (b << 32 | a, d << 32 | c) == (first, second)


def test_without_words_it_says_that_they_are_needed(tmp_path):
    with pytest.raises(FippError, match=r"no list of words: .* words=\[...\]"):
        Vectors.load(floret(tmp_path))


def test_any_word_has_a_vector(tmp_path):
    vectors = Vectors.load(floret(tmp_path), words=WORDS, strict=True)
    assert vectors.words == WORDS
    assert vectors.with_words(["", "日本語"]).words == (*WORDS, "", "日本語")
    assert vectors.vector("cat").tolist() == vectors["cat"].tolist()


def test_a_compressed_table_is_read_whatever_its_name(tmp_path):
    path = floret(tmp_path)
    expected = Vectors.load(path, words=WORDS)
    (tmp_path / "y.txt").write_bytes(gzip.compress(path.read_bytes()))
    assert Vectors.load(tmp_path / "y.txt", words=WORDS).checksum == expected.checksum


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7 3 3 5", "9 3 3 5", "promises 9 rows, it has 7"),
        ("7 3 3 5", "7 4 3 5", "not each a number and 4 values"),
        ("7 3 3 5", "7 3 6 5", "damaged"),
        ("7 3 3 5", "7 3 3 99", "damaged"),
        ("7 3 3 5", "7 9999999999 3 5", "dimensions"),
        ("2166136261", "9999999999", "damaged"),
        ("\n2 ", "\n3 ", "where row 2 should be"),
        ("\n2 ", "\n2 nan", "values|NaN"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, old, new, message):
    path = floret(tmp_path)
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))
    with pytest.raises(FippError, match=message):
        Vectors.load(path, words=WORDS)


@pytest.mark.parametrize("ngrams", [(3, 5), (1, 2)])
@pytest.mark.parametrize("hashes", [1, 2, 4])
def test_vectors_are_those_of_floret(tmp_path, ngrams, hashes):
    library = pytest.importorskip("floret", reason="floret is not installed")
    rng = np.random.default_rng(0)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(rng.choice([*WORDS, "naïve", "日本"], 10)) for _ in range(200)))
    model = library.train_unsupervised(
        str(text), mode="floret", hashCount=hashes, bucket=60, minn=ngrams[0], maxn=ngrams[1], dim=6, minCount=1,
        epoch=1, thread=1, verbose=0,
    )  # fmt: skip
    model.save_floret_vectors(str(tmp_path / "x.floret"))
    model.save_vectors(str(tmp_path / "x.vec"))
    model.save_model(str(tmp_path / "x.bin"))
    # floret itself adds a row that is not in the table to the first word of its vocabulary, and gives </s> zeros.
    asked = [
        *(word for word in model.words[1:] if word != "</s>"),
        "cats",
        "čvoriće",
        "日本語",
        "🦊fox",
        "averyverylongwordindeed",
    ]
    vectors = Vectors.load(tmp_path / "x.floret", words=asked)
    # The table has five digits.
    for word in asked:
        np.testing.assert_allclose(vectors[word], model.get_word_vector(word), rtol=1e-3, atol=1e-7)
    written = Vectors.load(tmp_path / "x.vec")
    for word in written:
        np.testing.assert_allclose(written[word], model.get_word_vector(word), rtol=1e-3, atol=1e-5)
    with pytest.raises(FippError, match="save_floret_vectors"):
        Vectors.load(tmp_path / "x.bin")
