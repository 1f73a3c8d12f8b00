"""Reading and writing pairs of words as text: the separator, the header and the scores are detected."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._budget import Budget
from fipp.io._pair import atomic_pair
from fipp.io._report import MALFORMED, Inspector, LoadReport, counted
from fipp.io._stream import BYTE_ORDER_MARK, encoded, open_as, open_for_writing, read_batches, suffix_of

_LINE_BYTES = 700
"""Roughly the memory of a short line while a file is read: its text, its fields, and the words of its pairs."""

_WHITE_SPACE = " \t\n\r\v\f"  # ASCII only: a word may contain a no-break space
_SEPARATORS = re.compile(rb"[ \t,;]")
_GAP = re.compile(f"[{_WHITE_SPACE}]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_SOURCE_NAMES = {"source", "src", "source word", "source_word", "word", "word1", "word_1"}
_TARGET_NAMES = {
    "target", "tgt", "trg", "target word", "target_word", "translation", "translations", "word2", "word_2",
}  # fmt: skip


_Pairs = Sequence[tuple[str, str]]
_Scores = npt.NDArray[np.float64] | None


class Contents(NamedTuple):
    """The contents of a dictionary file: pairs, their scores if it has any, and what was skipped."""

    pairs: list[tuple[str, str]]
    scores: npt.NDArray[np.float64] | None
    report: LoadReport


class _Layout(NamedTuple):
    """The separator of columns, a function that splits a line, and whether a pair may begin with ``# ``."""

    separator: str
    split: Callable[[str], list[str]]
    hash_may_be_word: bool = True


def read_lexicon(
    path: Path,
    *,
    strict: bool = False,
    alternatives: str | None = None,
    max_bytes: int | float | str | None = None,
) -> Contents:
    """Read the pairs of a file; see `Lexicon.load`."""
    if alternatives is not None and not alternatives:
        raise FippError("alternatives takes the characters that separate translations, such as ',;', not an empty text")
    inspector = Inspector(path, strict)
    # A lexicon is small and its separator depends on every line, so read all of it.
    lines = [
        (number, inspector.decode(line, f"line {number}"))
        for number, line in enumerate(map(bytes.strip, read_lines(path, max_bytes)), 1)
        if line
    ]
    layout = layout_of([text for _, text in lines], path)
    all_columns = alternatives is not None and layout.separator in alternatives
    rows = _rows(lines, layout, all_columns, inspector)
    scores = None if all_columns else _third_column(rows, layout)
    if rows and _is_header(rows[0], scores):
        rows, scores = rows[1:], None if scores is None else scores[1:]
    pairs, numbers = [], []
    for place, row in enumerate(rows):
        for target in _targets(row, alternatives, all_columns):
            pairs.append((row[0], target))
            numbers.append(math.nan if scores is None else scores[place])
    report = inspector.report(counted(len(pairs), "pair"))
    if not pairs:
        raise FippError(f"{path} holds no pair of words. {report.summary() or 'It is empty.'}")
    return Contents(pairs, None if scores is None else np.array(numbers, dtype=np.float64), report)


def read_lines(path: Path, max_bytes: int | float | str | None = None) -> Iterator[bytes]:
    """Yield the lines of a file whose fields are all kept, within the memory that ``max_bytes`` allows."""
    budget = Budget(path, max_bytes)
    for batch in read_batches(path, budget.max_bytes):
        # A character takes up to four bytes, and a field of one character eighty.
        budget.take(sum(_LINE_BYTES + 8 * len(line) + 80 * len(_SEPARATORS.findall(line)) for line in batch if line))
        yield from batch


def write_lexicon(pairs: _Pairs, scores: _Scores, path: Path) -> None:
    """Write pairs, and scores if there are any, atomically; `read_lexicon` returns the same."""
    content = _content(pairs, scores, path)
    with open_for_writing(path) as file:
        file.write(content)


def write_lexicons(*parts: tuple[_Pairs, _Scores, Path]) -> None:
    """Write two lexicons as `write_lexicon` does, both or neither."""
    contents = [_content(*part) for part in parts]
    first, second = (path for _, _, path in parts)
    if first.resolve() == second.resolve():
        raise FippError(f"two lexicons need two files, not {first} twice")
    with atomic_pair(first, second) as temporary:
        for content, place, path in zip(contents, temporary, (first, second), strict=True):
            with open_as(place, path) as file:
                file.write(content)


def _content(pairs: _Pairs, scores: _Scores, path: Path) -> bytes:
    """Return the lines of a lexicon, as the name of the file asks for; raise a FippError for a word it cannot hold."""
    if not pairs:
        raise FippError(f"there are no pairs to write to {path}")
    rows: list[list[str]] = []
    if _is_header(list(pairs[0]), None):  # the first pair looks like a header, so put one above it
        rows.append(["source", "target"])
    for place, pair in enumerate(pairs):
        for word in pair:
            if not word or strip(word) != word:
                raise FippError(
                    f"the word {word!r} cannot be written to {path}: it is empty, or has white space around it"
                )
            encoded(word, path, "\t\n\r")
        number = math.nan if scores is None else float(scores[place])
        rows.append([*pair] if math.isnan(number) else [*pair, repr(number)])
    lines = [line.encode("utf-8") for line in (_as_csv(rows) if suffix_of(path) == ".csv" else map("\t".join, rows))]
    # The reader drops a byte order mark at the start of the file; a first word that begins with one needs another.
    mark = BYTE_ORDER_MARK if lines[0].startswith(BYTE_ORDER_MARK) else b""
    return mark + b"\n".join(lines) + b"\n"


def strip(text: str) -> str:
    """Remove ASCII white space from both ends; other white space may belong to a word."""
    return text.strip(_WHITE_SPACE)


def layout_of(texts: list[str], path: Path) -> _Layout:
    """Detect what separates the columns."""
    # Ignore comments, unless there is nothing else.
    plain = [text for text in texts if not text.startswith("# ") or "\t" in text] or texts
    if suffix_of(path) == ".csv":
        return _cut_by_most(plain)
    # A few files of MUSE have both tabs and spaces; rare tabs are white space like any other.
    tabs = sum("\t" in text for text in plain)
    if tabs and 2 * tabs >= len(plain):
        return _Layout("\t", lambda text: [strip(field) for field in text.split("\t")])
    layout = _cut_by_most(plain)
    if _separates_all(plain, layout):  # only fipp itself writes a word that begins with "# ", and not to such a file
        return layout._replace(hash_may_be_word=False)
    return _Layout(" ", lambda text: _GAP.split(strip(text)))


def _delimited(separator: str) -> _Layout:
    def split(text: str) -> list[str]:
        try:
            row = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
        except csv.Error:
            return [text]
        return [strip(field) for field in row]

    return _Layout(separator, split)


def _is_pair(fields: list[str]) -> bool:
    return len(fields) >= 2 and all(fields[:2])


def _cut_by_most(texts: list[str]) -> _Layout:
    """Choose between comma and semicolon, which is common where the decimal point is a comma."""
    comma, semicolon = _delimited(","), _delimited(";")
    pairs_by_comma, pairs_by_semicolon = (
        sum(_is_pair(layout.split(text)) for text in texts) for layout in (comma, semicolon)
    )
    if pairs_by_semicolon != pairs_by_comma:
        return semicolon if pairs_by_semicolon > pairs_by_comma else comma
    # "cat;chat;0,9" can be split either way. Scores with a decimal comma decide, unless there are quotes.
    has_decimal_commas = (
        bool(texts)
        and not any('"' in text for text in texts)
        and all(
            len(row) == 3 and "," in row[2] and number_of(row[2], ";") is not None
            for row in map(semicolon.split, texts)
        )
    )
    return semicolon if has_decimal_commas else comma


def _separates_all(texts: list[str], layout: _Layout) -> bool:
    """Return whether the separator splits every line of a file that is not named ``.csv``."""
    widths: set[int] = set()
    for fields in map(layout.split, texts):
        widths.add(len(fields))
        if not _is_pair(fields) or len(widths) > 1:
            return False
    # "1,5 1.5" is two words; "cat, chat" is not.
    return any(len(words) != 2 or words[0].endswith(layout.separator) for words in map(_GAP.split, texts))


def _rows(lines: list[tuple[int, str]], layout: _Layout, all_columns: bool, inspector: Inspector) -> list[list[str]]:
    cut = [
        (number, text, layout.split(text))
        for number, text in lines
        if layout.hash_may_be_word or not text.startswith("# ")
    ]
    most = 2
    if layout.separator != " " or all_columns:
        most = max((len(fields) for _, _, fields in cut), default=0)
    elif _all_have_scores([fields for _, text, fields in cut if not text.startswith("# ")]):
        most = 3
    rows = []
    for number, text, fields in cut:
        if _is_pair(fields) and len(fields) <= most:
            rows.append(fields)
        elif not text.startswith("# "):
            inspector.skip(MALFORMED, f"line {number}", text, counted(len(fields), "field"))
    return rows


def _all_have_scores(rows: list[list[str]]) -> bool:
    """Return whether every line, except perhaps a header, is like "cat chat 0.9"."""
    if len(rows) > 1 and len(rows[0]) == 3 and number_of(rows[0][2], " ") is None:
        rows = rows[1:]
    return bool(rows) and all(len(fields) == 3 and number_of(fields[2], " ") is not None for fields in rows)


def _third_column(rows: list[list[str]], layout: _Layout) -> list[float] | None:
    """Return the numbers of the third column, NaN where it is empty; None if there is no column of numbers."""
    texts = [row[2] if len(row) > 2 else "" for row in rows]
    numbers = [number_of(text, layout.separator) if text else math.nan for text in texts]
    if numbers and numbers[0] is None:  # the name of the column, perhaps
        numbers[0] = math.nan
        texts[0] = ""
    if None in numbers or not any(texts):
        return None
    return [math.nan if number is None else number for number in numbers]


def number_of(text: str, separator: str) -> float | None:
    """Return a finite number, with a decimal comma if semicolons separate; None if the text is not a number."""
    if separator == ";":
        text = text.replace(",", ".", 1)
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def _is_header(fields: list[str], scores: list[float] | None) -> bool:
    """Return whether the first line must be the names of the columns."""
    if fields[0].casefold() in _SOURCE_NAMES and fields[1].casefold() in _TARGET_NAMES:
        return True
    # A word above a column of numbers.
    return scores is not None and math.isnan(scores[0]) and len(fields) > 2 and bool(fields[2])


def _targets(fields: list[str], alternatives: str | None, all_columns: bool) -> list[str]:
    targets = fields[1:] if all_columns else [fields[1]]
    if alternatives is None:
        return targets
    pattern = f"[{re.escape(alternatives)}]"
    return [word for target in targets for word in map(strip, re.split(pattern, target)) if word]


def _as_csv(rows: list[list[str]]) -> list[str]:
    # Quotes show that a semicolon belongs to a word.
    quoted = any(";" in field for row in rows for field in row)
    lines = []
    for row in rows:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL).writerow(row)
        lines.append(buffer.getvalue())
    return lines
