"""fastText models: words, unseen words through n-grams, and what is refused with a reason."""

import gzip
import shutil
import struct
import subprocess

import numpy as np
import pytest

from fipp.exceptions import FippError, FippWarning
from fipp.io import SubwordVectors, Vectors
from fipp.io._ngrams import character_ngrams
from io_samples import MATRIX, WORDS, fasttext, fasttext_bytes

UNSEEN = ["cats", "čvoriće", "x", "unseen", "日本語", "naïve", "🦊fox"]


def slow_vector(word, matrix, row, offset, buckets, shortest, longest):
    """Make a word's vector with loops over characters and bytes."""
    rows = [] if row is None else [row]
    marked = f"<{word}>"
    for start in range(len(marked)):
        for length in range(shortest, longest + 1):
            end = start + length
            if end > len(marked) or (length == 1 and (start == 0 or end == len(marked))):
                continue
            state = 2166136261
            for byte in marked[start:end].encode():
                signed = byte - 256 if byte > 127 else byte
                state = ((state ^ (signed % 2**32)) * 16777619) % 2**32
            rows.append(offset + state % buckets)
    return np.mean([matrix[row].astype(np.float64) for row in rows], axis=0)


@pytest.mark.parametrize(("shortest", "longest"), [(2, 4), (1, 1), (1, 3), (3, 6), (5, 5)])
def test_vectors_are_the_means_of_words_and_ngrams(tmp_path, shortest, longest):
    matrix = np.random.default_rng(1).standard_normal((4 + 50, 6)).astype(np.float32)
    path = tmp_path / "x.bin"
    path.write_bytes(fasttext_bytes(WORDS, matrix, buckets=50, shortest=shortest, longest=longest))
    vectors = Vectors.load(path)
    settings = (len(WORDS), 50, shortest, longest)
    for row, word in enumerate(WORDS):
        np.testing.assert_allclose(vectors[word], slow_vector(word, matrix, row, *settings), rtol=1e-5, atol=1e-6)
    for word in ["category", "žaba", "日本語日本語", "🦊fox"]:
        np.testing.assert_allclose(
            vectors.vector(word), slow_vector(word, matrix, None, *settings), rtol=1e-5, atol=1e-6
        )


def test_the_vocabulary_is_exact_and_other_words_are_made_on_request(tmp_path):
    vectors = Vectors.load(fasttext(tmp_path))
    assert isinstance(vectors, SubwordVectors)
    assert vectors.words == WORDS
    assert "cats" not in vectors
    with pytest.raises(KeyError, match="'cats' is not among"):
        vectors["cats"]
    more = vectors.with_words(["cat", "cats", "unseen", "cats"])
    assert more.words == (*WORDS, "cats", "unseen")
    assert more["cats"].tolist() == vectors.vector("cats").tolist()
    assert more["cat"].tolist() == vectors["cat"].tolist()
    assert vectors.with_words(["cat"]) is vectors
    assert vectors.head(1).vector("unseen").tolist() == more["unseen"].tolist()
    assert vectors.rows([1]).with_words(["unseen"]).words == ("dog", "unseen")
    with pytest.raises(FippError, match=r"with_words\(\['cat'\]\)"):
        vectors.with_words("cat")


def test_words_chooses_and_makes_vectors_in_the_order_asked_for(tmp_path):
    path = fasttext(tmp_path)
    whole = Vectors.load(path)
    chosen = Vectors.load(path, words=["unseen", "dog", "cats"])
    assert chosen.words == ("unseen", "dog", "cats")
    assert chosen["dog"].tolist() == whole["dog"].tolist()
    assert chosen["cats"].tolist() == whole.vector("cats").tolist()
    assert Vectors.load(path, words=["unseen", "cats"], limit=1).words == ("unseen",)


def test_a_word_without_ngrams_is_named(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(fasttext_bytes(WORDS, MATRIX))
    vectors = Vectors.load(path)
    assert vectors.matrix.tolist() == MATRIX.tolist()
    with pytest.raises(KeyError, match="has no n-grams"):
        vectors.vector("unseen")
    with pytest.warns(FippWarning, match="1 word such as 'unseen'"):
        assert vectors.with_words(["unseen"]).words == WORDS


def test_the_end_of_a_sentence_has_no_ngrams(tmp_path):
    matrix = np.random.default_rng(1).random((1 + 50, 3), dtype=np.float32)
    path = tmp_path / "x.bin"
    path.write_bytes(fasttext_bytes(["</s>"], matrix, buckets=50, shortest=1, longest=3))
    assert Vectors.load(path)["</s>"].tolist() == matrix[0].tolist()


def test_ngrams_of_broken_bytes_follow_the_character_before():
    grams = character_ngrams([b"<a\x80b>", b"", b"\x80"], 1, 2)
    texts = [grams.buffer[start:end].tobytes() for start, end in zip(grams.starts, grams.ends, strict=True)]
    assert texts == [b"a\x80", b"b", b"<a\x80", b"a\x80b", b"b>"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 13}, "version 13"),
        ({"quantised": 1}, "quantised model"),
        ({"pruned": 3}, "pruned model"),
        ({"rows": 2**40}, "cut short"),
        ({"rows": -1}, "damaged"),
        ({"buckets": 100, "shortest": 3, "longest": 6}, "damaged"),
        ({"buckets": 100, "longest": 2**31 - 1}, "damaged"),
        ({"buckets": -1, "longest": 3}, "damaged"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path, changes, message):
    path = tmp_path / "x.bin"
    path.write_bytes(fasttext_bytes(WORDS, MATRIX, **changes))
    with pytest.raises(FippError, match=message):
        Vectors.load(path)


def test_counts_that_would_fill_the_memory_are_refused(tmp_path):
    content = bytearray(fasttext(tmp_path).read_bytes())
    at = 8 + struct.calcsize("<12id")
    content[at : at + 8] = struct.pack("<2i", 2**31 - 1, 2**31 - 2)
    (tmp_path / "x.bin").write_bytes(content)
    with pytest.raises(FippError, match="damaged"):
        Vectors.load(tmp_path / "x.bin")


def test_every_truncation_is_refused(tmp_path):
    content = fasttext(tmp_path).read_bytes()
    for length in range(4, len(content)):
        (tmp_path / "x.bin").write_bytes(content[:length])
        with pytest.raises(FippError):
            Vectors.load(tmp_path / "x.bin")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A function that trains a model with fastText's command line on a small text."""
    command = shutil.which("fasttext")
    if command is None:
        pytest.skip("the command fasttext is not installed (Debian: apt-get install fasttext)")
    folder = tmp_path_factory.mktemp("fasttext")
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice([*WORDS, "naïve", "日本"], 12)) for _ in range(200)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "labels.txt").write_text("".join(f"__label__{i % 3} {line}\n" for i, line in enumerate(lines)))

    def run(*arguments, given=None):
        done = subprocess.run(
            [command, *map(str, arguments)], input=given, capture_output=True, text=True, check=True, cwd=folder
        )
        return done.stdout

    def train(kind, *options):
        source = "labels.txt" if kind == "supervised" else "text.txt"
        name = f"{kind}{len(list(folder.iterdir()))}"
        run(kind, "-input", source, "-output", name, "-dim", 8, "-minCount", 1, "-epoch", 1, "-thread", 1, *options)
        return folder / f"{name}.bin"

    train.run = run
    return train


@pytest.mark.parametrize("kind", ["skipgram", "cbow"])
@pytest.mark.parametrize("options", [(), ("-minn", 1, "-maxn", 3), ("-minn", 0, "-maxn", 0)])
def test_words_and_unseen_words_have_the_vectors_that_fasttext_prints(trained, kind, options):
    path = trained(kind, "-bucket", 500, *options)
    vectors = Vectors.load(path)
    asked = [*vectors.words, *UNSEEN]
    printed = trained.run("print-word-vectors", path, given="\n".join(asked) + "\n").splitlines()
    assert len(printed) == len(asked)
    for word, line in zip(asked, printed, strict=True):
        expected = np.array(line.removeprefix(word).split(), dtype=float)
        if word not in vectors and options[-1:] == (0,):
            with pytest.raises(KeyError):
                vectors.vector(word)
        else:
            np.testing.assert_allclose(vectors.vector(word), expected, rtol=1e-4, atol=1e-7)
    text = Vectors.load(path.with_suffix(".vec"))
    assert text.words == vectors.words
    np.testing.assert_allclose(vectors.matrix, text.matrix, rtol=1e-4, atol=1e-7)


def test_supervised_models_give_their_word_vectors_without_labels(trained):
    path = trained("supervised", "-wordNgrams", 2, "-bucket", 100, "-minn", 2, "-maxn", 3)
    vectors = Vectors.load(path)
    assert not any(word.startswith("__label__") for word in vectors)
    printed = trained.run("print-word-vectors", path, given="\n".join([*vectors.words, "unseen"]) + "\n").splitlines()
    expected = np.array([line.split()[-8:] for line in printed], dtype=float)
    np.testing.assert_allclose(vectors.with_words(["unseen"]).matrix, expected, rtol=1e-4, atol=1e-7)


def test_quantised_models_are_refused(trained):
    path = trained("supervised", "-bucket", 300, "-minn", 2, "-maxn", 3)
    trained.run("quantize", "-input", "labels.txt", "-output", path.with_suffix(""))
    with pytest.raises(FippError, match="quantised model"):
        Vectors.load(path.with_suffix(".ftz"))


def test_a_compressed_model_is_read_and_still_makes_vectors_the_second_time(tmp_path):
    path = fasttext(tmp_path)
    (tmp_path / "x.bin.gz").write_bytes(gzip.compress(path.read_bytes()))
    for _ in range(2):
        vectors = Vectors.load(tmp_path / "x.bin.gz")
        assert vectors.vector("unseen").tolist() == Vectors.load(path).vector("unseen").tolist()
