"""Read mutated files by every reader: each must give a result or a FippError, in little memory and time.

    python scripts/fuzz_readers.py [--cases 1000000] [--reader npz] [--workers 2] [--first 0]

A case is a whole small file or folder with some damage: bytes changed, parts cut, repeated or taken from another
format, numbers in headers replaced, and the same inside archives and compressed files, which are then whole around the
damage. A case has a number and can be repeated. Workers run with a memory limit; a case that crashes, hangs, exceeds
the limit or raises anything but a FippError is kept in the folder ``fuzz-findings``. The counts of a whole run of all
readers are written to docs/security/counts.json. Parquet and Arrow files are decoded in the worker, which is quicker;
if that crashes, the case is counted by what becomes of it when it is decoded in a process of its own, as users do.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from _counts import record

from fipp.evaluate import load_analogies, load_similarity
from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors
from fipp.io.formats import _arrow, _arrow_child
from fipp.tasks import load_nli, load_ted
from io_samples import SAMPLES, VECTORS, WORDS, decoded_here

FINDINGS = Path("fuzz-findings")
MAX_BYTES = 1 << 24
MEMORY = 256 << 20
SECONDS = 20
CASES_PER_WORKER = 10_000
TABLES = ("parquet", "arrow", "feather")
CONTAINED = "crashes of pyarrow, contained"
OUTCOMES = ("loads", "refusals", "wrong exceptions", "memory excess", "hangs", "crashes")
NUMBERS = (0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
MARKS = (b"\n", b"\r\n", b"\t", b" ", b",", b'"', b"[", b"{", b"]", b"}", b"\0", b"\xff", b"nan")

Parts = dict[str, bytes]


class Reader(NamedTuple):
    """A reader, the parts of a whole file, how they are put together, and how the file is read."""

    parts: Parts
    write: Callable[[Path, Parts], Path]
    load: Callable[[Path], Any]


class TimeLimitError(BaseException):
    """A case took too long; not an Exception, so that no reader catches it."""


def write_files(folder: Path, parts: Parts) -> Path:
    """Write each part as a file; return the file, or the folder of several."""
    for name, content in parts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    top = next(iter(parts)).split("/")[0]
    return folder / top


def write_zip(folder: Path, parts: Parts) -> Path:
    """Write the parts as members of an archive of NumPy."""
    with zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return folder / "x.npz"


def write_tar(folder: Path, parts: Parts) -> Path:
    """Write the parts as members of a compressed archive."""
    with tarfile.open(folder / "x.tar.gz", "w:gz", compresslevel=1) as archive:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return folder / "x.tar.gz"


def compressed(pack: Callable[[bytes], bytes]) -> Callable[[Path, Parts], Path]:
    """Return a writer of one compressed file."""

    def write(folder: Path, parts: Parts) -> Path:
        ((name, content),) = parts.items()
        return write_files(folder, {name: pack(content)})

    return write


def zstd(content: bytes) -> bytes:
    """Compress by Zstandard."""
    from backports import zstd

    return zstd.compress(content)


def load_vectors(path: Path) -> None:
    """Read vectors, all of them or some words."""
    vectors = Vectors.load(path, words=WORDS, max_bytes=MAX_BYTES, cache=False)
    assert vectors.matrix.shape == (len(vectors.words), vectors.dim)


def load_all_vectors(path: Path) -> None:
    """Read all vectors, which readers that select words do not."""
    Vectors.load(path, max_bytes=MAX_BYTES, cache=False)


def parts_of(path: Path) -> Parts:
    """Return the contents of a file or of all files of a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return {file.relative_to(path.parent).as_posix(): file.read_bytes() for file in files}


def readers(folder: Path) -> dict[str, Reader]:
    """Return every reader, with a whole file for it."""
    known: dict[str, Reader] = {}
    for name, make in SAMPLES.items():
        (folder / name).mkdir()
        path = make(folder / name)
        known[name] = Reader(parts_of(path), write_files, load_vectors)
    words = "".join(f"{word}\n" for word in WORDS).encode()
    known["npy"] = Reader({**known["npy"].parts, "x.txt": words}, write_files, load_vectors)
    known["text, all words"] = known["text"]._replace(load=load_all_vectors)
    known["fasttext, all words"] = known["fasttext"]._replace(load=load_all_vectors)
    with zipfile.ZipFile(io.BytesIO(known["npz"].parts["x.npz"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    known["npz, members"] = Reader(members, write_zip, load_vectors)
    for suffix, pack in {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}.items():
        known[f"text{suffix}"] = Reader(known["text"].parts, compressed(pack), load_vectors)
    known["parquet.gz"] = Reader(known["parquet"].parts, compressed(gzip.compress), load_vectors)
    for name, content in table_samples(folder).items():
        known[name] = Reader({"x": content}, write_files, load_vectors)
    lexicon = "cat\tmačka\t0.9\ndog\tpas\t0.5\ncow\tkrava, govedo\t0.1\n".encode()
    known["lexicon"] = Reader({"x.txt": lexicon}, write_files, lambda path: Lexicon.load(path, max_bytes=MAX_BYTES))
    known["lexicon.csv"] = Reader(
        {"x.csv": b'source,target\n"cat",chat\n"a, b",c\n'},
        write_files,
        lambda path: Lexicon.load(path, alternatives=",;", max_bytes=MAX_BYTES),
    )
    known["similarity"] = Reader(
        {"x.csv": b",word1,word2,similarity\n0,cat,tiger,7.5\n1,cat,dog,0.3\n2,a,b,1e-1\n"},
        write_files,
        lambda path: load_similarity(path, max_bytes=MAX_BYTES),
    )
    known["analogies"] = Reader(
        {"x.txt": b": capitals\nAthens Greece Oslo Norway\n: family\na b c d\n"},
        write_files,
        lambda path: load_analogies(path, max_bytes=MAX_BYTES),
    )
    fields = {"gold_label": "neutral", "sentence1": "Un chat dort.", "sentence2": "Il est noir.", "language": "fr"}
    json_lines = "".join(json.dumps({**fields, "gold_label": label}) + "\n" for label in ("neutral", "-")).encode()
    table = ("\t".join(fields) + "\n" + "\t".join(fields.values()) + "\n").encode()
    known["nli.jsonl"] = Reader({"x.jsonl": json_lines}, write_files, lambda path: load_nli(path, max_bytes=MAX_BYTES))
    known["nli.tsv"] = Reader({"x.tsv": table}, write_files, lambda path: load_nli(path, "fr", max_bytes=MAX_BYTES))
    ted = {
        f"ted-cldc/en-fr/train/{topic}/{side}/{number}.ted": f"a_en {topic}_en _UNK_ {number}".encode()
        for topic in ("arts", "science")
        for side, number in (("positive", 1), ("negative", 2))
    }
    known["ted"] = Reader(ted, write_files, lambda path: load_ted(path, "en-fr", "train", max_bytes=MAX_BYTES))
    known["ted.tar.gz"] = Reader(ted, write_tar, lambda path: load_ted(path, "en-fr", "train", max_bytes=MAX_BYTES))
    tar = gzip.decompress(write_tar(folder, ted).read_bytes())
    known["ted.tar"] = Reader({"x.tar": tar}, write_files, known["ted"].load)
    return known


def table_samples(folder: Path) -> dict[str, bytes]:
    """Return tables of other sorts than fipp writes: dictionaries, compressed buffers, columns, a stream."""
    import pyarrow as arrow
    import pyarrow.feather
    import pyarrow.parquet

    lists = arrow.array(VECTORS.matrix.tolist(), arrow.list_(arrow.float32()))
    words = arrow.array(list(WORDS)).dictionary_encode()
    table = arrow.table({"w": words, "v": lists})
    columns = arrow.table({"w": list(WORDS), "a": VECTORS.matrix[:, 0], "b": [1, 2, 3, 4]})
    arrow.parquet.write_table(columns, folder / "columns", compression="zstd", data_page_version="2.0")
    encodings = {"w": "DELTA_BYTE_ARRAY", "v.list.element": "PLAIN"}
    plain = arrow.table({"w": list(WORDS), "v": lists})
    arrow.parquet.write_table(plain, folder / "delta", use_dictionary=False, column_encoding=encodings)
    arrow.feather.write_feather(table, folder / "feather", compression="zstd")
    with arrow.ipc.new_stream(folder / "stream", table.schema) as writer:
        writer.write_table(table)
    names = {"columns": "parquet, columns", "delta": "parquet, delta", "feather": "feather", "stream": "arrow stream"}
    return {label: (folder / name).read_bytes() for name, label in names.items()}


def flip_bits(result: bytearray, at: int, chance: random.Random) -> None:
    """Flip a bit in some bytes."""
    for place in range(at, min(len(result), at + chance.choice((1, 1, 2, 8)))):
        result[place] ^= 1 << chance.randrange(8)


def replace_number(result: bytearray, at: int, chance: random.Random) -> None:
    """Put a number there that readers may get wrong."""
    size = chance.choice((1, 2, 4, 8))
    number = chance.choice(NUMBERS) % (1 << 8 * size)
    result[at : at + size] = number.to_bytes(size, chance.choice(("little", "big")))


def replace_digits(result: bytearray, at: int, chance: random.Random) -> None:
    """Replace a number that is written in digits."""
    if numbers := list(re.finditer(rb"\d+", bytes(result))):
        start, stop = chance.choice(numbers).span()
        result[start:stop] = str(chance.choice(NUMBERS)).encode()


def replace_bytes(result: bytearray, at: int, chance: random.Random) -> None:
    """Replace or insert random bytes."""
    size = chance.choice((1, 4, 16, 40))
    result[at : at + size * chance.randrange(2)] = chance.randbytes(size)


def cut(result: bytearray, at: int, chance: random.Random) -> None:
    """Leave a part out, or all that follows."""
    del result[at : at + chance.choice((1, 2, 8, 64, len(result)))]


def repeat(result: bytearray, at: int, chance: random.Random) -> None:
    """Repeat a part."""
    result[at:at] = result[at : at + chance.choice((1, 8, 64))] * chance.choice((1, 2, 16, 256))


def insert_marks(result: bytearray, at: int, chance: random.Random) -> None:
    """Insert what means something in text and JSON."""
    result[at:at] = chance.choice(MARKS) * chance.choice((1, 1, 3, 200))


DAMAGES = (flip_bits, flip_bits, replace_number, replace_digits, replace_bytes, cut, repeat, insert_marks)


def mutated(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Damage a file in up to four places; one damage is a part of another format."""
    result = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(result) + 1)
        if chance.random() < 0.1:
            other = chance.choice(others)
            start = chance.randrange(len(other) + 1)
            result[at : at + chance.choice((0, 16, 64))] = other[start : start + chance.choice((4, 16, 64, 256))]
        else:
            chance.choice(DAMAGES)(result, at, chance)
    return bytes(result)


def make_case(reader: Reader, others: list[bytes], folder: Path, number: int) -> Path:
    """Write the damaged file or folder with this number."""
    chance = random.Random(number)
    parts = dict(reader.parts)
    inside = chance.random() < 0.7
    if inside:
        name = chance.choice(list(parts))
        parts[name] = mutated(parts[name], others, chance)
    path = reader.write(folder, parts)
    if not inside:
        file = chance.choice(sorted(file for file in path.rglob("*") if file.is_file())) if path.is_dir() else path
        file.write_bytes(mutated(file.read_bytes(), others, chance))
    elif path.is_file() and chance.random() < 0.05:
        path.write_bytes(gzip.compress(path.read_bytes(), 1))
    return path


def work(name: str, first: int, count: int, folder: Path, decodes_here: bool) -> None:
    """Read cases, in a process of its own, and print the counts; the number of the last case is in ``progress``."""
    warnings.simplefilter("ignore")
    if decodes_here:
        _arrow.decoded = decoded_here
    (folder / "samples").mkdir()
    known = readers(folder / "samples")
    others = [part for reader in known.values() for part in reader.parts.values()]
    reader = known[name]
    reader.load(reader.write(folder, reader.parts))  # everything is imported before the limit is set
    _arrow_child.limit_memory(MAX_BYTES + MEMORY)
    signal.signal(signal.SIGPROF, _stop)
    counts: Counter[str] = Counter()
    with open(folder / "progress", "wb", buffering=0) as progress:
        for number in range(first, first + count):
            os.pwrite(progress.fileno(), b"%20d" % number, 0)
            path = make_case(reader, others, folder, number)
            outcome, reason = read(reader, path)
            counts[outcome] += 1
            if reason:
                keep(folder, name, number, reason)
            if path.is_dir() or len(list(folder.iterdir())) > 10:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    print(json.dumps(counts))


def _stop(*_: object) -> None:
    raise TimeLimitError


def read(reader: Reader, path: Path) -> tuple[str, str]:
    """Return what became of a case, and the traceback if it is a finding."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of this process, however busy the machine is
    try:
        reader.load(path)
    except FippError:
        return "refusals", ""
    except TimeLimitError:
        return "hangs", traceback.format_exc()
    except MemoryError:
        return "memory excess", traceback.format_exc()
    except BaseException:
        return "wrong exceptions", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "loads", ""


def keep(folder: Path, name: str, number: int, reason: str) -> None:
    """Keep a finding: the traceback, and the files."""
    place = FINDINGS / f"{name.replace(', ', '-')}-{number}"
    shutil.copytree(folder, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("samples", "progress"))
    (place / "reason.txt").write_text(reason)


def run(name: str, first: int, count: int, decodes_here: bool = True) -> Counter[str]:
    """Read cases in a worker; after a crash, go on with the case that follows."""
    counts: Counter[str] = Counter()
    stop = first + count
    while first < stop:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            arguments = [name, str(first), str(stop - first), folder, str(int(decodes_here))]
            worker = subprocess.run([sys.executable, __file__, "--work", *arguments], check=False, capture_output=True)
            if worker.returncode == 0:
                return counts + Counter(json.loads(worker.stdout))
            progress = Path(folder, "progress")
            if not progress.exists():
                raise SystemExit(f"the worker for {name} did not start:\n{worker.stderr.decode()}")
            last = int(progress.read_bytes())
            if decodes_here and name.startswith(TABLES):
                counts += run(name, last, 1, decodes_here=False)
                counts[CONTAINED] += 1
            else:
                keep(Path(folder), name, last, f"ended with {worker.returncode}\n{worker.stderr.decode()[-4000:]}")
                counts["crashes"] += 1
            if last > first:  # the counts of the cases before it were lost with the worker
                counts += run(name, first, last - first)
            first = last + 1
    return counts


def main() -> int:
    """Read all cases and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", action="append", help="only these; all of them otherwise")
    parser.add_argument("--cases", type=int, default=100_000, help="for all readers together (default 100,000)")
    parser.add_argument("--workers", type=int, default=2, help="processes at the same time (default 2)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (default 0)")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        name, first, count, folder, decodes_here = options.work
        work(name, int(first), int(count), Path(folder), decodes_here == "1")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        names = options.reader or list(readers(Path(folder)))
    started = time.time()
    share = -(-options.cases // len(names))
    blocks = [
        (name, options.first + start, min(CASES_PER_WORKER, share - start))
        for start in range(0, share, CASES_PER_WORKER)
        for name in names
    ]
    totals: dict[str, Counter[str]] = {name: Counter() for name in names}
    with ThreadPoolExecutor(options.workers) as pool:
        for (name, _, _), counts in zip(blocks, pool.map(lambda block: run(*block), blocks), strict=True):
            totals[name] += counts
            cases = sum(each[outcome] for each in totals.values() for outcome in OUTCOMES)
            print(f"{cases:,} cases, {time.time() - started:,.0f} s, {name}: {dict(totals[name])}", flush=True)
            if not options.reader:  # whatever interrupts a run, what it has done is recorded
                record("readers", {"cases": cases, **summary(totals), "readers": totals})
    print(json.dumps(summary(totals), indent=1))
    return 1 if any(summary(totals)[outcome] for outcome in OUTCOMES[2:]) else 0


def summary(totals: dict[str, Counter[str]]) -> dict[str, int]:
    """Add the counts of all readers."""
    return {outcome: sum(each[outcome] for each in totals.values()) for outcome in (*OUTCOMES, CONTAINED)}


if __name__ == "__main__":
    sys.exit(main())
