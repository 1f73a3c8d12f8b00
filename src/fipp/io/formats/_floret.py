"""floret's tables: hashed rows from which the vector of any word is composed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fipp._validation import rows_not_finite
from fipp.exceptions import FippError
from fipp.io._budget import Budget
from fipp.io._ngrams import MAX_NGRAM, FloretNgrams
from fipp.io._report import Inspector, counted
from fipp.io._rows import FloatMatrix, RowCollector
from fipp.io._stream import MAX_LINE_BYTES, Source, read_batches
from fipp.io._table import Options, Table, assemble, compose

_HEADER = re.compile(rb"([0-9]{1,10}) ([0-9]{1,10}) ([0-9]{1,10}) ([0-9]{1,10}) ([1-4]) ([0-9]{1,10}) (\S+) (\S+)\s*\n")


class _Header(NamedTuple):
    """The first line of a table."""

    buckets: int
    dimensions: int
    shortest: int
    longest: int
    hashes: int
    seed: int
    begin: bytes
    end: bytes


def recognises_floret(path: Path, opening: bytes) -> bool:
    """Return whether the content begins with the first line of a floret table."""
    return _HEADER.match(opening) is not None


def read_floret(path: Path, options: Options) -> Table:
    """Read the table that floret's ``save_floret_vectors`` writes, and compose the vectors of ``words``."""
    with Source(path) as source:
        header = _header(source.peek(), path)
    budget = Budget(path, options.max_bytes)
    matrix = _read_rows(path, header, budget)
    composer = FloretNgrams(matrix, header.shortest, header.longest, *header[4:])
    return compose_table(composer, options.words, options.limit, Inspector(path, options.strict), budget)


def compose_table(
    composer: FloretNgrams, words: Iterable[str] | None, limit: int | None, inspector: Inspector, budget: Budget
) -> Table:
    """Compose the vectors of words; raise a FippError that asks for words if there are none."""
    if words is None:
        raise FippError(
            f"{inspector.path} is a floret table, which has vectors for every word but no list of words: "
            "name the words you want, Vectors.load(path, words=[...])"
        )
    wanted = list(dict.fromkeys(words))[:limit]
    budget.expect_rows(len(wanted), composer.matrix.shape[1])
    made, matrix = compose(wanted, composer)
    return replace(assemble(made, matrix, inspector), composer=composer)


def check_settings(buckets: int, shortest: int, longest: int, hashes: int, seed: int, path: Path) -> None:
    """Raise a FippError for settings that no floret table can have."""
    if buckets < 1 or not 0 <= shortest <= longest <= MAX_NGRAM or not 1 <= hashes <= 4 or not 0 <= seed < 1 << 32:
        raise FippError(
            f"{path} is damaged: a floret table with {counted(buckets, 'row')}, n-grams of {shortest} to {longest} "
            f"characters, {hashes} hashes and the seed {seed}"
        )


def _header(opening: bytes, path: Path) -> _Header:
    match = _HEADER.match(opening)
    if match is None:
        raise FippError(f"{path} is not a floret table: its first line is not that of one")
    buckets, dimensions, shortest, longest, hashes, seed = map(int, match.groups()[:6])
    header = _Header(buckets, dimensions, shortest, longest, hashes, seed, match[7], match[8])
    check_settings(header.buckets, header.shortest, header.longest, header.hashes, header.seed, path)
    if not 1 <= header.dimensions <= MAX_LINE_BYTES // 2:
        raise FippError(f"{path} cannot be read: its header says {header.dimensions:,} dimensions")
    return header


def _read_rows(path: Path, header: _Header, budget: Budget) -> FloatMatrix:
    """Read the rows, each a row number and its values; all are needed, so none may be skipped."""
    rows = RowCollector(header.dimensions)
    budget.expect(4 * header.buckets * header.dimensions)
    for number, batch in enumerate(read_batches(path, budget.max_bytes)):
        lines = [line for line in (batch[1:] if number == 0 else batch) if line.strip()]
        if not lines:
            continue
        numbers, matrix = _parse(lines, header.dimensions, path, len(rows))
        expected = np.arange(len(rows), len(rows) + len(numbers))
        if not np.array_equal(numbers, expected):
            row = int(expected[numbers != expected][0])
            raise FippError(f"{path} is damaged: where row {row} should be, there is {numbers[row - len(rows)]:.15g}")
        budget.take(matrix.nbytes)
        rows.append(matrix)
    if len(rows) != header.buckets:
        raise FippError(f"{path} is cut short: its header promises {header.buckets:,} rows, it has {len(rows):,}")
    matrix = rows.finish()
    bad = next(rows_not_finite(matrix), None)
    if bad is not None:
        raise FippError(f"{path} cannot be used: row {bad} has a NaN or an infinity, and every word may need it")
    return matrix


def _parse(lines: list[bytes], dimensions: int, path: Path, first: int) -> tuple[npt.NDArray[np.float64], FloatMatrix]:
    """Return the row numbers of some rows, and their values."""
    try:
        table = np.loadtxt(lines, dtype=np.float64, comments=None, ndmin=2)
        if table.shape != (len(lines), 1 + dimensions):
            raise ValueError(f"they have {table.shape[1]} columns")
    except ValueError as error:
        raise FippError(
            f"the rows of {path} from {first:,} on are not each a number and {dimensions} values: {error}"
        ) from error
    with np.errstate(over="ignore"):
        return table[:, 0], table[:, 1:].astype(np.float32)
