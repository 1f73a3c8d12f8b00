"""Small whole files in every format, made without the libraries that usually write them."""

import json
import struct

import numpy as np

from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.io._ngrams import hash_spans, murmur2
from fipp.io.formats import _arrow_child

WORDS = ("cat", "dog", "čvor", "running")
MATRIX = np.array([[1, -0.0, 3], [1e-45, 0.5, -7], [0.1, 1e38, 2], [1 / 3, 4, 5]], dtype=np.float32)
VECTORS = Vectors(WORDS, MATRIX)


def word2vec(folder, name="x.bin"):
    VECTORS.save(folder / name)
    return folder / name


def fasttext_bytes(words, matrix, *, labels=(), buckets=0, shortest=0, longest=0, version=12, model=2, **other):
    """Lay out a fastText model: settings, dictionary, input matrix, as its documentation describes."""
    settings = struct.pack("<12id", matrix.shape[1], 5, 1, 1, 5, 1, 2, model, buckets, shortest, longest, 100, 1e-4)
    entries = b"".join(word.encode() + b"\0" + struct.pack("<qb", 1, 0) for word in words)
    entries += b"".join(label.encode() + b"\0" + struct.pack("<qb", 1, 1) for label in labels)
    counts = struct.pack("<3i2q", len(words) + len(labels), len(words), len(labels), 100, other.get("pruned", -1))
    rows = other.get("rows", matrix.shape[0])
    table = struct.pack("<B2q", other.get("quantised", 0), rows, matrix.shape[1]) + matrix.astype("<f4").tobytes()
    return struct.pack("<2i", 793712314, version) + settings + counts + entries + table


def fasttext(folder):
    matrix = np.random.default_rng(0).random((4 + 10, 3), dtype=np.float32)
    path = folder / "x.bin"
    path.write_bytes(fasttext_bytes(WORDS, matrix, labels=["__label__a"], buckets=10, shortest=2, longest=4))
    return path


def floret(folder):
    rows = np.random.default_rng(0).random((7, 3), dtype=np.float32)
    lines = ["7 3 3 5 2 2166136261 < >", *(f"{i} " + " ".join(map(str, row)) + " " for i, row in enumerate(rows))]
    path = folder / "x.floret"
    path.write_text("\n".join(lines) + "\n")
    return path


def saved(suffix):
    def make(folder):
        path = folder / f"x{suffix}"
        VECTORS.save(path)
        return path

    return make


def spacy_keys(words):
    raw = [word.encode() for word in words]
    ends = np.cumsum([len(word) for word in raw])
    starts = ends - [len(word) for word in raw]
    return hash_spans(np.frombuffer(b"".join(raw), dtype=np.uint8), starts, ends, murmur2).tolist()


def spacy(folder):
    vocab = folder / "pipeline" / "vocab"
    vocab.mkdir(parents=True, exist_ok=True)
    with open(vocab / "vectors", "wb") as file:
        np.save(file, MATRIX)
    entries = b"".join(b"\xcf" + struct.pack(">Q", key) + bytes([row]) for row, key in enumerate(spacy_keys(WORDS)))
    (vocab / "key2row").write_bytes(bytes([0x80 + len(WORDS)]) + entries)
    (vocab / "strings.json").write_text(json.dumps([*WORDS, "other"]))
    (vocab / "vectors.cfg").write_text('{"mode": "default"}')
    return folder / "pipeline"


def spacy_floret(folder):
    path = spacy(folder)
    with open(path / "vocab" / "vectors", "wb") as file:
        np.save(file, np.random.default_rng(0).random((7, 3), dtype=np.float32))
    settings = {"minn": 3, "maxn": 5, "hash_count": 2, "hash_seed": 2166136261, "bow": "<", "eow": ">"}
    (path / "vocab" / "vectors.cfg").write_text(json.dumps({"mode": "floret", **settings}))
    return path


def model2vec(folder):
    from safetensors.numpy import save_file

    path = folder / "model"
    path.mkdir(exist_ok=True)
    save_file(
        {
            "embeddings": MATRIX[:3],
            "mapping": np.array([0, 1, 2, 1], dtype=np.int32),
            "weights": np.array([1, 1, 1, 0.5], dtype=np.float32),
        },
        path / "model.safetensors",
    )
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    (path / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": vocabulary}}))
    return path


def decoded_here(path, budget):
    """Decode Parquet and Arrow in this process, which is quicker for many small files."""
    try:
        yield from _arrow_child.decode(str(path), budget.max_bytes)
    except _arrow_child.RefusedError as error:
        raise FippError(str(error)) from error


WRITTEN = (".vec", ".bin", ".bin.gz", ".npy", ".npz", ".safetensors", ".parquet", ".arrow", ".feather")
"""The endings of the formats that fipp writes."""

SAMPLES = {
    "word2vec": word2vec,
    "fasttext": fasttext,
    "floret": floret,
    "text": saved(".vec"),
    "npy": saved(".npy"),
    "npz": saved(".npz"),
    "safetensors": saved(".safetensors"),
    "parquet": saved(".parquet"),
    "arrow": saved(".arrow"),
    "spacy": spacy,
    "spacy-floret": spacy_floret,
    "model2vec": model2vec,
}
"""A maker of a whole file or folder for each format that fipp reads."""
