"""Small or sparse files that would take gigabytes, for `test_io_bombs`; run as a script, it reads one after the other.

Each bomb would take several hundred megabytes at least if its reader believed it.
"""

import bz2
import gzip
import io
import json
import lzma
import re
import resource
import struct
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path

import numpy as np

MB = 1 << 20
MAX_BYTES = 16 * MB
BOMBS = {}
# Their files are large, but the words in them take few of their rows.
FIT = {"fasttext_of_wide_rows", "model2vec_of_rows_far_apart"}


def bomb(maker):
    BOMBS[maker.__name__] = maker
    return maker


def short_words(separator, end, count=3_000_000):
    """Return many different words of four letters, each with something after it."""
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", dtype=np.uint8)
    numbers = np.arange(count)
    columns = [letters[numbers >> shift & 63] for shift in (0, 6, 12, 18)]
    tail = [np.full(count, byte, dtype=np.uint8) for byte in separator + end]
    return np.stack([*columns, *tail], axis=1).tobytes()


def write(path, content):
    path.write_bytes(content)
    return path


def sparse(path, content, size):
    """Write a file that claims ``size`` bytes and takes none."""
    with open(path, "wb") as file:
        file.write(content)
        file.truncate(size)
    return path


@bomb
def text_of_short_words(folder):
    return write(folder / "x.vec", short_words(b" 1", b"\n"))


@bomb
def text_of_short_numbers(folder):
    lines = b"".join(b"w%d" % row + b" 1" * 1000 + b"\n" for row in range(30_000))
    return write(folder / "x.vec.gz", gzip.compress(lines, 1))


@bomb
def text_of_one_line(folder):
    return write(folder / "x.vec.gz", gzip.compress(b"w" + b" 1" * (50 * MB), 1))


@bomb
def text_of_long_words(folder):
    line = b"a" * 900_000 + "\N{GRINNING FACE}".encode()
    return write(folder / "x.vec.bz2", bz2.compress(b"".join(b"%d%b 1 2\n" % (row, line) for row in range(60)), 1))


@bomb
def text_of_blank_lines(folder):
    return write(folder / "x.vec.xz", lzma.compress(b"a 1\n" + b"\n" * (50 * MB), preset=0))


@bomb
def text_of_columns_without_end(folder):
    block = b"".join(b"w%d" % row + b" 1" * 30_000 + b"\n" for row in range(30))
    return write(folder / "x.vec.gz", gzip.compress(block * 50, 1))


@bomb
def word2vec(folder):
    return write(folder / "x.bin", b"9000000 1\n" + short_words(b" \xff\xff", b"\xff\x00"))


@bomb
def word2vec_of_one_row(folder):
    return write(folder / "x.bin.gz", gzip.compress(b"2 200000\n" + (b"\xc3\xa9 " + bytes(800_000)) * 100, 1))


@bomb
def floret(folder):
    row = b" 1" * 200_000
    lines = b"".join(b"%d%b\n" % (number, row) for number in range(100))
    return write(folder / "x.floret.gz", gzip.compress(b"100 200000 3 5 2 1 < >\n" + lines, 1))


def fasttext_bytes(words, dimensions, buckets, longest, rows):
    settings = struct.pack("<12id", dimensions, 5, 1, 1, 5, 1, 2, 2, buckets, 1, longest, 100, 1e-4)
    count = len(words)
    entries = b"".join(word + b"\0" + struct.pack("<qb", 1, 0) for word in words)
    counts = struct.pack("<3i2q", count, count, 0, 100, -1)
    table = struct.pack("<B2q", 0, rows, dimensions)
    return struct.pack("<2i", 793712314, 12) + settings + counts + entries + table


@bomb
def fasttext_of_short_words(folder):
    words = short_words(b"", b"\n", 2_000_000).splitlines()
    head = fasttext_bytes(words, 1, 0, 0, len(words))
    return sparse(folder / "x.bin", head, len(head) + 4 * len(words))


@bomb
def fasttext_of_a_long_word(folder):
    words = [b"x" * 60_000, *(b"%d" % row + b"y" * 4000 for row in range(50))]
    head = fasttext_bytes(words, 100, 2_000_000, 64, 2_100_000)
    return sparse(folder / "x.bin", head, len(head) + 400 * 2_100_000)


@bomb
def fasttext_of_wide_rows(folder):
    words = [b"%d" % row + b"abcdefgh" * 300 for row in range(20)]
    head = fasttext_bytes(words, 100_000, 20_000, 6, 21_000)
    return sparse(folder / "x.bin", head, len(head) + 400_000 * 21_000)


def npy_header(descr, shape, by_columns=False, version=1, padding=0):
    text = repr({"descr": descr, "fortran_order": by_columns, "shape": shape}).encode()
    text += b" " * (padding + 63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text


@bomb
def npy_of_bytes(folder):
    head = npy_header("|i1", (1000, 1_000_000))
    write(folder / "x.txt", b"".join(b"w%d\n" % row for row in range(1000)))
    return sparse(folder / "x.npy", head, len(head) + 1000 * 1_000_000)


@bomb
def npy_with_a_long_header(folder):
    write(folder / "x.txt", b"a\n")
    return write(folder / "x.npy", npy_header("<f4", (1, 1), version=2, padding=200 * MB) + bytes(4))


@bomb
def npy_of_many_words(folder):
    write(folder / "x.txt", short_words(b"", b"\n"))
    head = npy_header("<f4", (3_000_000, 1))
    return sparse(folder / "x.npy", head, len(head) + 12_000_000)


def npz(folder, members):
    with zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (head, zeros) in members.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(head)
                for _ in range(zeros // MB):
                    member.write(bytes(MB))
                member.write(bytes(zeros % MB))
    return folder / "x.npz"


@bomb
def npz_of_many_words(folder):
    words = (npy_header("|S1", (20_000_000,)), 20_000_000)
    return npz(folder, {"words.npy": words, "matrix.npy": (npy_header("|i1", (20_000_000, 1)), 20_000_000)})


@bomb
def npz_by_columns(folder):
    words = (npy_header("|S1", (10,)) + b"abcdefghij", 0)
    matrix = (npy_header("<f8", (10, 180_000), by_columns=True), 14_400_000)
    return npz(folder, {"words.npy": words, "matrix.npy": matrix})


@bomb
def npz_with_a_long_header(folder):
    matrix = (npy_header("<f4", (1, 1), version=2, padding=15 * MB), 4)
    return npz(folder, {"words.npy": (npy_header("<U1", (1,)), 4), "matrix.npy": matrix})


@bomb
def npz_of_many_members(folder):
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    start = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"a"
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 1_500_000 * len(entry), len(start), 0)
    return write(folder / "x.npz", start + entry * 1_500_000 + end)


def safetensors(path, tensors, metadata=None, size=0):
    header, at = {} if metadata is None else {"__metadata__": metadata}, 0
    for name, (kind, shape, nbytes) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + nbytes]}
        at += nbytes
    encoded = json.dumps(header).encode()
    return sparse(path, struct.pack("<Q", len(encoded)) + encoded, 8 + len(encoded) + at + size)


@bomb
def safetensors_of_bfloat16(folder):
    tensors = {"words": ("U8", [1000], 1000), "matrix": ("BF16", [500, 1_000_000], 1_000_000_000)}
    return safetensors(folder / "x.safetensors", tensors)


@bomb
def safetensors_of_many_words(folder):
    tensors = {"words": ("U8", [60_000_000], 60_000_000), "matrix": ("I8", [30_000_000, 1], 30_000_000)}
    return safetensors(folder / "x.safetensors", tensors)


@bomb
def safetensors_of_json(folder):
    words = "[" + "{}," * 5_000_000 + "{}]"
    return safetensors(folder / "x.safetensors", {"matrix": ("F32", [1, 1], 4)}, {"words": words})


def spacy(folder, key2row, strings, head=None, size=0):
    vocab = folder / "pipeline" / "vocab"
    vocab.mkdir(parents=True)
    head = head or npy_header("<f4", (4, 3)) + bytes(48)
    sparse(vocab / "vectors", head, max(size, len(head)))
    write(vocab / "key2row", key2row)
    write(vocab / "strings.json", strings)
    return folder / "pipeline"


@bomb
def spacy_of_many_keys(folder):
    entries = np.zeros((9_000_000, 6), dtype=np.uint8)
    entries[:, 0] = 0xCE
    entries[:, 1:5] = np.arange(9_000_000, dtype=">u4").view(np.uint8).reshape(-1, 4)
    return spacy(folder, b"\xdf" + struct.pack(">I", 9_000_000) + entries.tobytes(), b'["a"]')


@bomb
def spacy_of_json(folder):
    return spacy(folder, b"\x80", b"[" + b"{}," * 5_000_000 + b"{}]")


def model2vec(folder, tokenizer, tensors):
    (folder / "model").mkdir()
    safetensors(folder / "model" / "model.safetensors", tensors)
    write(folder / "model" / "tokenizer.json", tokenizer)
    return folder / "model"


@bomb
def model2vec_of_json(folder):
    return model2vec(folder, b'{"a": [' + b"[0]," * 4_000_000 + b"0]}", {"embeddings": ("F32", [1, 1], 4)})


@bomb
def model2vec_of_one_wide_row(folder):
    vocabulary = {f"w{row}": row for row in range(10_000)}
    tensors = {"embeddings": ("F64", [1, 100_000], 800_000), "mapping": ("I8", [10_000], 10_000)}
    return model2vec(folder, json.dumps({"model": {"vocab": vocabulary}}).encode(), tensors)


@bomb
def model2vec_of_rows_far_apart(folder):
    vocabulary = {f"w{row}": 1024 * row for row in range(60_000)}
    count = 1024 * 60_000
    tensors = {"embeddings": ("F32", [count, 1], 4 * count), "mapping": ("I32", [count], 4 * count)}
    return model2vec(folder, json.dumps({"model": {"vocab": vocabulary}}).encode(), tensors)


def table(folder, name, columns, **options):
    import pyarrow as arrow
    import pyarrow.feather
    import pyarrow.parquet

    made = arrow.table(columns)
    if name.endswith(".parquet"):
        arrow.parquet.write_table(made, folder / name, **options)
    else:
        arrow.feather.write_feather(made, str(folder / name), compression="zstd")
    return folder / name


def constants(rows, dimensions):
    import pyarrow as arrow

    values = arrow.array(np.zeros(rows * dimensions, dtype=np.float32))
    return arrow.LargeListArray.from_arrays(np.arange(0, rows * dimensions + 1, dimensions), values)


def long_words(rows, length):
    import pyarrow as arrow

    return arrow.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), ["a" * length])


@bomb
def parquet_of_a_long_word(folder):
    return table(folder, "x.parquet", {"w": long_words(2000, MB), "v": constants(2000, 1)})


@bomb
def parquet_of_constants(folder):
    words = [f"w{row}" for row in range(400)]
    return table(folder, "x.parquet", {"w": words, "v": constants(400, 200_000)})


@bomb
def parquet_of_one_long_list(folder):
    return table(folder, "x.parquet", {"w": ["a"], "v": constants(1, 40_000_000)})


@bomb
def parquet_of_differences(folder):
    words = ["a" * 500_000 + str(row) for row in range(1000)]
    encodings = {"w": "DELTA_BYTE_ARRAY", "v.list.element": "PLAIN"}
    columns = {"w": words, "v": constants(1000, 1)}
    return table(folder, "x.parquet", columns, use_dictionary=False, column_encoding=encodings)


@bomb
def arrow_of_a_long_word(folder):
    return table(folder, "x.arrow", {"w": long_words(2000, MB), "v": constants(2000, 1)})


@bomb
def feather_of_constants(folder):
    return table(folder, "x.feather", {"w": [f"w{row}" for row in range(400)], "v": constants(400, 200_000)})


@bomb
def lexicon_of_short_lines(folder):
    return write(folder / "lexicon.txt", short_words(b" b", b"\n"))


@bomb
def lexicon_of_many_fields(folder):
    return write(folder / "lexicon.csv.gz", gzip.compress((b"a," * 100_000 + b"\n") * 200, 1))


@bomb
def lexicon_of_bytes(folder):
    return write(folder / "lexicon.txt.gz", gzip.compress(b"a\tb\n" * (10 * MB), 1))


@bomb
def similarity_of_short_lines(folder):
    return write(folder / "similarity.txt", short_words(b"\tb\t1", b"\n"))


@bomb
def analogies_of_short_lines(folder):
    return write(folder / "analogies.txt", short_words(b" b c d", b"\n"))


@bomb
def nli_of_short_lines(folder):
    head = b"gold_label\tsentence1\tsentence2\n"
    return write(folder / "nli.tsv", head + b"".join(b"neutral\t%dx\t%dy\n" % (row, row) for row in range(1_000_000)))


@bomb
def nli_of_json(folder):
    line = b'{"a":[' + b"{}," * 330_000 + b"0]}\n"
    return write(folder / "nli.jsonl.gz", gzip.compress(line * 20, 1))


@bomb
def ted_of_many_members(folder):
    member = tarfile.TarInfo("a").tobuf()
    return write(folder / "ted.tar.gz", gzip.compress(member * 30_000, 1))


@bomb
def ted_with_a_long_header(folder):
    header = tarfile.TarInfo("a")
    header.type, header.size = tarfile.XHDTYPE, 15 * MB
    return write(folder / "ted.tar.gz", gzip.compress(header.tobuf() + bytes(15 * MB), 1))


@bomb
def ted_of_large_documents(folder):
    with tarfile.open(folder / "ted.tar", "w") as archive:
        for number in range(6):
            member = tarfile.TarInfo(f"ted-cldc/en-fr/train/arts/positive/{number}.ted")
            content = b"a " * (7 * MB)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return folder / "ted.tar"


def load(path):
    """Read a file by the reader that its name asks for."""
    from fipp.evaluate import load_analogies, load_similarity
    from fipp.io import Lexicon, Vectors
    from fipp.tasks import load_nli, load_ted

    kind = path.name.split(".")[0]
    if kind == "ted":
        return load_ted(path, "en-fr", "train", max_bytes=MAX_BYTES)
    readers = {"lexicon": Lexicon.load, "similarity": load_similarity, "analogies": load_analogies, "nli": load_nli}
    if kind in readers:
        return readers[kind](path, max_bytes=MAX_BYTES)
    words = ["a"] if "floret" in path.name else None
    return Vectors.load(path, words=words, max_bytes=MAX_BYTES, cache=False)


def peak():
    """Return the most megabytes that this process has taken so far.

    Not ru_maxrss, which begins with that of the process that started this one.
    """
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) >> 10


def main(paths):
    """Read files and print what became of each and the most memory that was taken so far, here or by a child.

    The first line is the memory of fipp alone, and with the compiled reader of text, which is loaded once.
    """
    import fipp.evaluate
    import fipp.tasks
    from fipp.exceptions import FippError

    before = peak()
    import fipp.io.formats._text_block  # noqa: F401

    print(json.dumps([before, peak()]), flush=True)
    warnings.simplefilter("ignore")
    for path in paths:
        try:
            outcome = f"{type(load(Path(path))).__name__}"
        except FippError as error:
            outcome = f"refused: {error}"
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(json.dumps([path, outcome[:300], peak(), child >> 10]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
