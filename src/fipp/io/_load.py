"""From a place to a table of words and vectors: choose the format, use the cache, read, select the wanted words."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from fipp.io._cache import SMALLEST_BYTES, Cache, cache_folder
from fipp.io._report import counted
from fipp.io._stream import Source
from fipp.io._table import Options, Table
from fipp.io.formats import Format, format_to_read


def load_table(
    place: str | os.PathLike[str] | BinaryIO, options: Options, use_cache: bool | str | os.PathLike[str]
) -> Table:
    """Read a file or folder; ``use_cache`` is ``cache`` of `Vectors.load`."""
    with Source(place, options.max_bytes) as source:
        chosen = format_to_read(source)
        cache = _cache_for(source, chosen, options, use_cache)
        if cache is not None:
            # A cache of the whole file has the wanted words; a cache of its beginning may not.
            table = cache.load(options.limit if options.words is None else None, options.strict)
            if table is not None and options.words is None:
                return table
            if table is not None and (table.report is None or not table.report.summary()):
                return _select(table, options)
        table = _read(source, chosen, options)
    # A cache holds rows, but not what composes vectors for other words.
    if cache is not None and options.words is None and table.composer is None:
        cache.store(table, options.limit)
    return table


def _cache_for(
    source: Source, chosen: Format, options: Options, use_cache: bool | str | os.PathLike[str]
) -> Cache | None:
    """Return the cache of a file that is slow to read: text, or anything compressed."""
    if not use_cache or not source.is_path or not source.path.is_file():
        return None
    if not chosen.streams and source.compression is None:
        return None
    folder = cache_folder() if use_cache is True else Path(use_cache)
    if folder is None or source.path.stat().st_size < SMALLEST_BYTES // 8:
        return None
    with suppress(OSError):
        return Cache(source.path, folder, {"dtype": options.dtype.name, "encoding_errors": options.encoding_errors})
    return None


def _read(source: Source, chosen: Format, options: Options) -> Table:
    """Read, and do what the reader cannot: select words, convert to the type asked for."""
    selects = options.words is None or chosen.selects
    asked = options if selects else replace(options, limit=None, words=None)
    if chosen.streams:
        table = chosen.read(source, asked)
    else:
        with source.as_file() as path:
            table = chosen.read(path, asked)
    if not selects:
        table = _select(table, options)
    return table if table.matrix.dtype == options.dtype else table.astype(options.dtype)


def _select(table: Table, options: Options) -> Table:
    """Keep the wanted words, in the order of the file."""
    wanted = options.words or ()
    rows = sorted(table.index[word] for word in wanted if word in table.index)
    chosen = table.take(rows[: options.limit])
    if table.report is None:
        return chosen
    contents = f"{counted(len(chosen), 'word')} x {chosen.dim} of {len(wanted):,} asked for"
    return replace(chosen, report=replace(table.report, contents=contents))
