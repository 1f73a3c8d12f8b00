"""From a place to vectors: which format, which options its reader knows, and whether a cache has them already."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fipp.exceptions import FippError
from fipp.io._cache import SMALLEST_BYTES, Cache, cache_folder
from fipp.io._formats import Format, format_to_read
from fipp.io._report import LoadReport, counted
from fipp.io._rows import float_type
from fipp.io._stream import Source
from fipp.io._vectors import Vectors
from fipp.linalg import parse_memory

ENCODING_ERRORS = ("replace", "strict", "surrogateescape")


@dataclass(frozen=True)
class Options:
    """The options of `Vectors.load`, checked."""

    limit: int | None
    strict: bool
    words: frozenset[str] | None
    words_in_order: tuple[str, ...] | None
    dtype: np.dtype[Any]
    encoding_errors: str
    max_bytes: int
    max_memory: int | None
    cache: bool | str | os.PathLike[str]


def check_words(words: Iterable[str] | None) -> frozenset[str] | None:
    """Return the words that are wanted as a set; raise a FippError for a single word, whose letters would be taken."""
    if words is None:
        return None
    if isinstance(words, str):
        raise FippError(f"words takes several words; for one write words=[{words!r}]")
    wanted = frozenset(words)
    for word in wanted:
        if not isinstance(word, str):
            raise FippError(f"words must be text, but one is {word!r}")
    return wanted


def check_options(
    *,
    limit: int | None,
    strict: bool,
    words: Iterable[str] | None,
    dtype: Any,
    encoding_errors: str,
    max_bytes: int,
    max_memory: int | float | str | None,
    cache: bool | str | os.PathLike[str],
) -> Options:
    """Check the options of `Vectors.load`."""
    if limit is not None and limit < 1:
        raise FippError(f"limit must be at least 1, not {limit}")
    if encoding_errors not in ENCODING_ERRORS:
        raise FippError(f"encoding_errors must be one of {', '.join(ENCODING_ERRORS)}, not {encoding_errors!r}")
    in_order = words if words is None or isinstance(words, str) else tuple(dict.fromkeys(words))
    wanted = check_words(in_order)
    return Options(
        limit,
        strict,
        wanted,
        None if wanted is None else tuple(in_order or ()),
        float_type(dtype),
        encoding_errors,
        max_bytes,
        None if max_memory is None else parse_memory(max_memory),
        cache,
    )


def load(place: str | os.PathLike[str] | BinaryIO, options: Options) -> Vectors:
    """Read vectors; the work of `Vectors.load`."""
    with Source(place, options.max_bytes) as source:
        chosen = format_to_read(source)
        cache = _cache_for(source, chosen, options)
        if cache is not None:
            # A cache of the whole file has the wanted words; one of its beginning may not.
            vectors = cache.load(options.limit if options.words is None else None, options.strict)
            if vectors is not None and (
                options.words is None or vectors.report is None or not vectors.report.summary()
            ):
                return vectors if options.words is None else _choose(vectors, options)
        vectors = _read(source, chosen, options)
    # A cache keeps rows, not what makes vectors for other words.
    if cache is not None and options.words is None and type(vectors) is Vectors:
        cache.store(vectors, options.limit)
    return vectors


def _cache_for(source: Source, chosen: Format, options: Options) -> Cache | None:
    """Return the cache for a file that is slow to read: text, or anything compressed."""
    if not options.cache or not source.is_path or not source.path.is_file():
        return None
    if not chosen.streams and source.compression is None:
        return None
    folder = cache_folder() if options.cache is True else Path(options.cache)
    if folder is None or source.path.stat().st_size < SMALLEST_BYTES // 8:
        return None
    with suppress(OSError):
        return Cache(source.path, folder, {"dtype": options.dtype.name, "encoding_errors": options.encoding_errors})
    return None


def _read(source: Source, chosen: Format, options: Options) -> Vectors:
    """Read with what the reader can do; do the rest here."""
    known = {
        name: value
        for name, value in {
            # Text is filtered as it is read; other readers make the vectors of these words.
            "words": options.words if chosen.streams else options.words_in_order,
            "dtype": options.dtype,
            "encoding_errors": options.encoding_errors,
            "max_memory": options.max_memory,
        }.items()
        if name in chosen.options
    }
    choose = options.words is not None and "words" not in chosen.options
    common = {"limit": None if choose else options.limit, "strict": options.strict, "max_bytes": options.max_bytes}
    if chosen.streams:
        vectors = chosen.read(source, **common, **known)  # type: ignore[arg-type]
    else:
        with source.as_file() as path:
            vectors = chosen.read(path, **common, **known)  # type: ignore[arg-type]
    if choose:
        vectors = _choose(vectors, options)
    if vectors.matrix.dtype != options.dtype:
        vectors = vectors.astype(options.dtype)
    return vectors


def _choose(vectors: Vectors, options: Options) -> Vectors:
    """Keep the wanted words, in the order of the file."""
    wanted = options.words or frozenset()
    rows = sorted(vectors.index(word) for word in wanted if word in vectors)
    chosen = vectors.rows(np.array(rows[: options.limit], dtype=np.int64))
    contents = f"{counted(len(chosen), 'word')} x {chosen.dim} of {len(wanted):,} asked for"
    report = vectors.report
    if report is not None:
        chosen.report = LoadReport(
            report.path, contents, report.skipped, report.repaired, report.doubtful, report.notes
        )
    return chosen
