"""spaCy's vectors: folders on disk, read without spaCy, and loaded pipelines."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._budget import WORD_BYTES, Budget
from fipp.io._ngrams import FloretNgrams, hash_spans, murmur2
from fipp.io._report import NO_WORD, Inspector
from fipp.io._rows import as_floats, gather, read_rows_not_finite
from fipp.io._stream import read_bytes, read_json
from fipp.io._table import Options, Table, assemble
from fipp.io.formats._floret import check_settings, compose_table
from fipp.io.formats._numpy import map_matrix

_SYMBOLS = 1 << 16
"""Smaller keys are not hashes but the numbers of spaCy's symbols, such as ``NOUN`` and ``PERSON``."""

# The types of numbers in MessagePack, by their first byte.
_NUMBERS = {0xCC + place: struct.Struct(f">{letter}") for place, letter in enumerate("BHIQbhiq")}
_MAP_16, _MAP_32 = 0xDE, 0xDF


def recognises_spacy(path: Path, opening: bytes) -> bool:
    """Return whether a folder is a spaCy pipeline, or the vocabulary of one."""
    return _vocabulary(path) is not None


def read_spacy(path: Path, options: Options) -> Table:
    """Read the vectors of a pipeline's folder, or of its ``vocab`` folder, without spaCy and without unpickling."""
    folder = _vocabulary(path)
    if folder is None:
        raise FippError(f"{path} is not a spaCy folder: it has no vocab/vectors")
    inspector = Inspector(path, options.strict)
    budget = Budget(path, options.max_bytes)
    settings = read_json(folder / "vectors.cfg", budget) if (folder / "vectors.cfg").is_file() else {}
    matrix = map_matrix(folder / "vectors")
    if isinstance(settings, dict) and settings.get("mode") == "floret":
        return compose_table(_floret(matrix, settings, path, budget), options.words, options.limit, inspector, budget)
    rows = parse_integer_map(read_bytes(folder / "key2row", budget), folder / "key2row", budget)
    strings = read_json(folder / "strings.json", budget)
    if not isinstance(strings, list) or not all(isinstance(text, str) for text in strings):
        raise FippError(f"{folder / 'strings.json'} is damaged: it is not a list of strings")
    texts = _texts_by_key(strings, rows)
    if options.words is not None:
        wanted = set(options.words)
        texts = {key: text for key, text in texts.items() if text in wanted}
        rows = {key: row for key, row in rows.items() if key in texts}
    return _collect(rows, matrix, texts, inspector, options.limit, budget)


def from_spacy(pipeline: Any, words: Iterable[str] | None) -> Table:
    """Return the vectors of a loaded pipeline or its vocabulary; see `Vectors.from_spacy`."""
    vocabulary = getattr(pipeline, "vocab", pipeline)
    vectors = getattr(vocabulary, "vectors", None)
    if vectors is None or not hasattr(vocabulary, "strings"):
        raise FippError(f"from_spacy takes a loaded pipeline or its vocab, not {type(pipeline).__name__}")
    inspector = Inspector(Path(getattr(pipeline, "meta", {}).get("name") or "spaCy"), strict=False)
    budget = Budget(inspector.path)
    # A pipeline on a GPU holds cupy arrays, which have get().
    data = vectors.data.get() if hasattr(vectors.data, "get") else vectors.data
    if 0 in data.shape:
        raise FippError(f"{inspector.path} has no vectors; those of spaCy are in its _md and _lg pipelines")
    settings = {
        name: getattr(vectors, name, None) for name in ("minn", "maxn", "hash_count", "hash_seed", "bow", "eow")
    }
    if str(getattr(vectors, "mode", "default")).endswith("floret"):
        return compose_table(_floret(data, settings, inspector.path, budget), words, None, inspector, budget)
    rows = {int(key): int(row) for key, row in vectors.key2row.items()}
    texts = {key: vocabulary.strings[key] for key in rows if key in vocabulary.strings}
    table = _collect(rows, data, texts, inspector, None, budget)
    return table if words is None else table.only(list(dict.fromkeys(words)))


def _vocabulary(path: Path) -> Path | None:
    return next((folder for folder in (path / "vocab", path) if (folder / "vectors").is_file()), None)


def _collect(
    rows: Mapping[int, int],
    matrix: npt.NDArray[Any],
    texts: Mapping[int, str],
    inspector: Inspector,
    limit: int | None,
    budget: Budget,
) -> Table:
    """Look up the word and the row of each key."""
    words: list[str] = []
    numbers: list[int] = []
    for key, row in rows.items():
        if limit is not None and len(words) >= limit:
            break
        if row < 0:
            continue  # a key without a vector
        if row >= len(matrix):
            raise FippError(f"{inspector.path} is damaged: a word has the row {row:,} of {len(matrix):,}")
        if key not in texts:
            inspector.skip(NO_WORD, f"key {key}", "")
            continue
        words.append(texts[key])
        numbers.append(row)
    if not words:
        raise FippError(f"{inspector.path} holds no words with vectors")
    budget.take_words(words)
    budget.take(4 * len(words) * matrix.shape[1])
    return assemble(words, gather(matrix, np.array(numbers)), inspector)


def _texts_by_key(strings: list[str], rows: Mapping[int, int]) -> dict[int, str]:
    """Return the text of each key: a hash or, if spaCy is installed to look it up, the number of a symbol."""
    raw = [text.encode("utf-8", "surrogatepass") for text in strings]
    buffer = np.frombuffer(b"".join(raw), dtype=np.uint8)
    lengths = np.fromiter(map(len, raw), dtype=np.int64, count=len(raw))
    ends = np.cumsum(lengths)
    keys = hash_spans(buffer, ends - lengths, ends, murmur2).tolist()
    texts = dict(zip(keys, strings, strict=True))
    if any(0 < key < _SYMBOLS for key in rows) and _import_symbols() is not None:
        texts |= {number: name for name, number in _import_symbols().items() if number}
    return texts


def _import_symbols() -> Any:
    try:
        from spacy.symbols import IDS
    except ImportError:
        return None
    return IDS


def _floret(matrix: npt.NDArray[Any], settings: Mapping[str, Any], path: Path, budget: Budget) -> FloretNgrams:
    names = ("minn", "maxn", "hash_count", "hash_seed")
    numbers = [settings.get(name) for name in names]
    begin, end = settings.get("bow"), settings.get("eow")
    if not all(type(number) is int for number in numbers) or not isinstance(begin, str) or not isinstance(end, str):
        raise FippError(f"{path} is damaged: its settings of floret are {dict(settings)!r:.200}")
    shortest, longest, hashes, seed = (int(number) for number in numbers if number is not None)
    check_settings(len(matrix), shortest, longest, hashes, seed, path)
    if len(begin) + len(end) > 100:
        raise FippError(f"{path} is damaged: the marks around its words are too long")
    if matrix.dtype != np.float32:
        budget.take(4 * matrix.size)
    table = as_floats(matrix)
    if next(read_rows_not_finite(table), None) is not None:
        raise FippError(f"{path} cannot be used: its floret table has a NaN or an infinity, and every word may need it")
    marks = begin.encode("utf-8", "surrogatepass"), end.encode("utf-8", "surrogatepass")
    return FloretNgrams(table, shortest, longest, hashes, seed, *marks, ends_alone=True)


def parse_integer_map(content: bytes, path: Path, budget: Budget) -> dict[int, int]:
    """Parse a MessagePack map from whole numbers to whole numbers, the only MessagePack that vectors need."""
    try:
        count, at = _map_length(content)
        budget.expect(WORD_BYTES * min(count, len(content) // 2))
        result: dict[int, int] = {}
        # Each number takes at least one byte, so a wrong count stops at the end of the file.
        for _ in range(count):
            key, at = _number(content, at)
            value, at = _number(content, at)
            result[key] = value
    except FippError:
        raise
    except (IndexError, struct.error) as error:
        raise FippError(f"{path} is cut short") from error
    except ValueError as error:
        raise FippError(f"{path} is not a MessagePack map of whole numbers: {error}") from error
    return result


def _map_length(content: bytes) -> tuple[int, int]:
    head = content[0]
    if head & 0xF0 == 0x80:
        return head & 0x0F, 1
    if head == _MAP_16:
        return struct.unpack_from(">H", content, 1)[0], 3
    if head == _MAP_32:
        return struct.unpack_from(">I", content, 1)[0], 5
    raise ValueError(f"it begins with the byte {head:#04x}")


def _number(content: bytes, at: int) -> tuple[int, int]:
    head = content[at]
    if head < 0x80:
        return head, at + 1
    if head >= 0xE0:
        return head - 0x100, at + 1
    layout = _NUMBERS.get(head)
    if layout is None:
        raise ValueError(f"at byte {at} there is {head:#04x}")
    return layout.unpack_from(content, at + 1)[0], at + 1 + layout.size
