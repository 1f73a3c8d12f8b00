"""The defects that a reader found in a file: counted, with a first example, and summed up in one line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fipp.exceptions import FippError


class Kind(NamedTuple):
    """The name of a defect, singular and plural."""

    one: str
    many: str


RAGGED = Kind("ragged row", "ragged rows")
UNREADABLE = Kind("row with an unreadable number", "rows with an unreadable number")
NOT_FINITE = Kind("row with NaN or infinity", "rows with NaN or infinity")
DUPLICATE = Kind("duplicate", "duplicates")
MALFORMED = Kind("malformed line", "malformed lines")
NOT_UTF8 = Kind("line that is not UTF-8", "lines that are not UTF-8")
NO_WORD = Kind("row without a word", "rows without a word")
NO_VECTOR = Kind("word without a vector", "words without a vector")
DOUBTFUL = Kind(
    "word that ends in a number or row that is too long", "words that end in a number or rows that are too long"
)


@dataclass(frozen=True)
class Finding:
    """One kind of defect in a file: how often it occurs, and where first."""

    kind: Kind
    count: int
    example: str

    def __str__(self) -> str:
        name = self.kind.one if self.count == 1 else self.kind.many
        return f"{self.count:,} {name} ({'first: ' if self.count > 1 else ''}{self.example})"


@dataclass(frozen=True)
class LoadReport:
    """What was skipped, repaired or noteworthy while a file was read.

    Attributes
    ----------
    path : str
        The file that was read.
    contents : str
        What was read, such as ``"49,998 words x 300"``.
    skipped, repaired, doubtful : tuple of Finding
        Rows left out, rows changed and kept, and rows kept unchanged that may be wrong.
    notes : tuple of str
        Remarks about the whole file, such as a header with a wrong number of rows.

    Examples
    --------
    >>> ragged = Finding(RAGGED, 3, "line 1402, 'foo bar', 299 numbers")
    >>> print(LoadReport("x.vec", "49,998 words x 300", skipped=(ragged,)).summary())
    x.vec: 49,998 words x 300; skipped 3 ragged rows (first: line 1402, 'foo bar', 299 numbers)
    >>> print(LoadReport("x.vec", "50,000 words x 300").summary())
    None
    """

    path: str
    contents: str
    skipped: tuple[Finding, ...] = ()
    repaired: tuple[Finding, ...] = ()
    doubtful: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def summary(self) -> str | None:
        """Return one line with what a person should know; None if there is nothing."""
        remarks = [
            f"{verb} {', '.join(map(str, findings))}"
            for verb, findings in [("skipped", self.skipped), ("repaired", self.repaired), ("kept", self.doubtful)]
            if findings
        ]
        remarks += self.notes
        return "; ".join([f"{Path(self.path).name}: {self.contents}", *remarks]) if remarks else None


class Inspector:
    """Collects the defects of one file as its reader finds them; if strict, raises at the first."""

    def __init__(self, path: Path, strict: bool, encoding_errors: str = "replace") -> None:
        self.path = path
        self.strict = strict
        self.encoding_errors = encoding_errors
        self._counts: dict[tuple[str, Kind], int] = {}
        self._examples: dict[tuple[str, Kind], str] = {}
        self._notes: list[str] = []

    def skip(self, kind: Kind, where: str, word: str, detail: str = "") -> None:
        """Count a row that is left out."""
        self._record("skipped", kind, where, word, detail)

    def repair(self, kind: Kind, where: str, word: str, detail: str = "") -> None:
        """Count a row that is changed and kept."""
        self._record("repaired", kind, where, word, detail)

    def doubt(self, kind: Kind, where: str, word: str, detail: str = "") -> None:
        """Count a row that is kept unchanged although it may be wrong."""
        self._record("kept", kind, where, word, detail)

    def note(self, remark: str) -> None:
        """Add a remark about the whole file."""
        if self.strict:
            raise FippError(f"{self.path}: {remark}")
        self._notes.append(remark)

    def decode(self, raw: bytes, where: str) -> str:
        """Decode bytes; invalid UTF-8 is refused, replaced or kept as ``encoding_errors`` says, and counted."""
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            text = raw.decode("utf-8", "replace")
            if self.encoding_errors == "strict":
                raise FippError(
                    f"{self.path}, {where}, {quoted(text)}: not UTF-8; "
                    "encoding_errors='replace' or 'surrogateescape' would read it"
                ) from error
            if self.encoding_errors == "surrogateescape":
                self.doubt(NOT_UTF8, where, text)
                return raw.decode("utf-8", "surrogateescape")
            self.repair(NOT_UTF8, where, text)
            return text

    def count(self, verb: str, kind: Kind) -> int:
        """Return the number of defects of a kind that were ``"skipped"``, ``"repaired"`` or ``"kept"`` so far."""
        return self._counts.get((verb, kind), 0)

    def report(self, contents: str) -> LoadReport:
        """Sum up after the file has been read."""
        return LoadReport(
            str(self.path),
            contents,
            skipped=self._findings("skipped"),
            repaired=self._findings("repaired"),
            doubtful=self._findings("kept"),
            notes=tuple(self._notes),
        )

    def _record(self, verb: str, kind: Kind, where: str, word: str, detail: str) -> None:
        example = ", ".join(filter(None, [where, quoted(word), detail]))
        if self.strict:
            raise FippError(f"{self.path}, {example}: {kind.one}; without strict it would be {verb}")
        self._counts[verb, kind] = self._counts.get((verb, kind), 0) + 1
        self._examples.setdefault((verb, kind), example)

    def _findings(self, verb: str) -> tuple[Finding, ...]:
        return tuple(
            Finding(kind, count, self._examples[found, kind])
            for (found, kind), count in self._counts.items()
            if found == verb
        )


def quoted(word: str, longest: int = 60) -> str:
    """Quote a word for a message, shortened if it is long."""
    return repr(word if len(word) <= longest else word[:longest] + "…")


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, singular or plural: ``1 pair``, ``2,000 pairs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
