"""Pairs of words known to belong together."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from fipp.exceptions import FippError
from fipp.io._lookup import Lookup, look_up
from fipp.io._report import MALFORMED, Inspector, LoadReport, counted
from fipp.io._stream import BYTE_ORDER_MARK, encoded, open_for_writing, read_batches, suffix_of
from fipp.io._vectors import Vectors
from fipp.io._words import fold


class Lexicon:
    """An ordered list of word pairs: a word of the source, a word of the target.

    Parameters
    ----------
    pairs : iterable of (str, str)
        The pairs. A word may be in several.

    Attributes
    ----------
    pairs : list of (str, str)
        The pairs in their order.
    report : LoadReport or None
        What was skipped or repaired when the lexicon was read from a file.

    Examples
    --------
    >>> lexicon = Lexicon([("cat", "mačka"), ("dog", "pas")])
    >>> lexicon
    Lexicon(2 pairs)
    >>> list(lexicon.reverse())
    [('mačka', 'cat'), ('pas', 'dog')]
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = [_as_pair(pair, place) for place, pair in enumerate(pairs)]
        self.report: LoadReport | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return f"Lexicon({len(self)} pairs)"

    def reverse(self) -> Lexicon:
        """Give the lexicon from target to source.

        Examples
        --------
        >>> Lexicon([("cat", "mačka")]).reverse().pairs
        [('mačka', 'cat')]
        """
        return Lexicon((target, source) for source, target in self.pairs)

    def split(self, size: float | int, random_state: int | np.random.Generator | None = 0) -> tuple[Lexicon, Lexicon]:
        """Divide the lexicon at random so that no source word, in whatever case, is in both parts.

        Parameters
        ----------
        size : float or int
            How many distinct source words the first part gets: a share between 0 and 1, or a number.
        random_state : int, numpy Generator or None, default=0
            The seed of the choice; None chooses anew each time.

        Returns
        -------
        chosen, rest : Lexicon
            Both in the order of this one.

        Examples
        --------
        >>> lexicon = Lexicon([("cat", "mačka"), ("cat", "mačak"), ("dog", "pas"), ("cow", "krava")])
        >>> train, test = lexicon.split(2, random_state=1)
        >>> {source for source, _ in train} & {source for source, _ in test}
        set()
        """
        groups = list(dict.fromkeys(fold(source) for source, _ in self.pairs))
        count = round(size * len(groups)) if isinstance(size, float) else int(size)
        if not 0 < count < len(groups):
            raise FippError(
                f"cannot split {len(groups):,} source words into {count:,} and the rest: both parts need at least one"
            )
        order = np.random.default_rng(random_state).permutation(len(groups))
        chosen = {groups[place] for place in order[:count].tolist()}
        parts: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
        for pair in self.pairs:
            parts[fold(pair[0]) not in chosen].append(pair)
        return Lexicon(parts[0]), Lexicon(parts[1])

    def lookup(self, source: Vectors, target: Vectors) -> Lookup:
        """Find the rows of the pairs in two vocabularies, in whatever case the words are written.

        Examples
        --------
        >>> english = Vectors(["paris"], [[1.0]])
        >>> croatian = Vectors(["pariz"], [[1.0]])
        >>> Lexicon([("Paris", "Pariz")]).lookup(english, croatian).rows
        array([[0, 0]])
        """
        return look_up(self.pairs, source, target)

    @classmethod
    def load(cls, path: str | os.PathLike[str], strict: bool = False) -> Lexicon:
        r"""Read pairs, one a line: the source word, the target word.

        The separator is a comma in a ``.csv`` file (with its quotes), a tab if any line has one, and white space
        otherwise. Columns after the second, such as scores, are ignored where tab or comma separates; where white
        space does, a line must be two words. Blank lines are skipped, and so is a line that begins with ``# `` and is
        no pair: a comment. ``#`` alone can be a word. The file may be gzipped.

        Parameters
        ----------
        path : str or path-like
            The file.
        strict : bool, default=False
            Refuse a file with a malformed line; otherwise such lines are skipped and counted in ``report``.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "en-hr.txt")
        >>> _ = path.write_text("cat\tma\u010dka\t0.9\ndog\tpas\ncow\n", encoding="utf-8")
        >>> lexicon = Lexicon.load(path)
        >>> lexicon.pairs
        [('cat', 'mačka'), ('dog', 'pas')]
        >>> print(lexicon.report.summary())
        en-hr.txt: 2 pairs; skipped 1 malformed line (line 3, 'cow', 1 field)
        """
        path = Path(path)
        inspector = Inspector(path, strict)
        # A lexicon is small and its separator depends on all of it, so it is read whole.
        every_line = (line for batch in read_batches(path, _MAX_BYTES) for line in batch)
        lines = [(number, line) for number, line in enumerate(map(bytes.strip, every_line), 1) if line]
        split, columns_may_follow = _separator([line for _, line in lines], path)
        pairs = []
        for number, line in lines:
            text = inspector.decode(line, f"line {number}")
            fields = split(text)
            if len(fields) < 2 or not all(fields[:2]) or (len(fields) > 2 and not columns_may_follow):
                if not text.startswith("# "):
                    inspector.skip(MALFORMED, f"line {number}", text, counted(len(fields), "field"))
                continue
            pairs.append((fields[0], fields[1]))
        report = inspector.report(counted(len(pairs), "pair"))
        if not pairs:
            raise FippError(f"{path} holds no pair of words. {report.summary() or 'It is empty.'}")
        lexicon = cls(pairs)
        lexicon.report = report
        return lexicon

    def save(self, path: str | os.PathLike[str]) -> None:
        r"""Write the pairs separated by a tab, or by a comma to a ``.csv`` file; gzipped to a ``.gz`` file.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "en-hr.tsv")
        >>> Lexicon([("New York", "Njujork")]).save(path)
        >>> path.read_text()
        'New York\tNjujork\n'
        """
        path = Path(path)
        if not self.pairs:
            raise FippError(f"there are no pairs to write to {path}")
        join: Callable[[tuple[str, str]], str] = _join_csv if suffix_of(path) == ".csv" else "\t".join
        lines = []
        for pair in self.pairs:
            for word in pair:
                if not word or _strip(word) != word:
                    raise FippError(f"the word {word!r} cannot be written to {path}: it is empty, or has spaces around")
                encoded(word, path, "\t\n\r")
            lines.append(join(pair).encode("utf-8"))
        # The reader drops one mark at the start of the file; a first word that begins with one needs another.
        mark = BYTE_ORDER_MARK if lines[0].startswith(BYTE_ORDER_MARK) else b""
        with open_for_writing(path) as file:
            file.write(mark + b"\n".join(lines) + b"\n")


_MAX_BYTES = 1 << 30
_WHITE_SPACE = " \t\n\r\v\f"  # of ASCII only: a word may contain a no-break space


def _strip(text: str) -> str:
    return text.strip(_WHITE_SPACE)


def _separator(lines: list[bytes], path: Path) -> tuple[Callable[[str], list[str]], bool]:
    """Choose how the lines of a file are cut into fields, and whether there may be more than two."""
    if suffix_of(path) == ".csv":
        return _split_csv, True
    if any(b"\t" in line for line in lines):
        return lambda text: [_strip(field) for field in text.split("\t")], True
    return lambda text: [field.decode("utf-8") for field in text.encode("utf-8").split()], False


def _split_csv(text: str) -> list[str]:
    try:
        return [_strip(field) for field in next(csv.reader([text], skipinitialspace=True))]
    except csv.Error:
        return [text]


def _join_csv(pair: tuple[str, str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(pair)
    return buffer.getvalue()


def _as_pair(pair: tuple[str, str], place: int) -> tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(word, str) for word in pair):
        raise FippError(f"pair {place} of the lexicon must be two words, not {pair!r}")
    source, target = pair
    return source, target
