"""Tables, and how they are written: as Markdown, CSV, LaTeX or JSON.

Cells may hold words, names of files and reasons of failure. In every format they are shown and never obeyed.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from fipp._printable import printable
from fipp.exceptions import FippError

_FORMULA = re.compile(r"\s*[-=+@－＝＋＠]")
_NUMBER = re.compile(r"[-+]?[0-9][0-9,]*(\.[0-9]+)?")
# HTML, links, code, bold text and the borders of cells.
_MARKDOWN = re.compile(r"[\\`*<&\[|]")

FORMATS = ("markdown", "csv", "latex", "json")


class Figure(str):
    """A number that is already formatted, perhaps with its interval; ``strong`` makes it bold where a format can."""

    strong: bool = False

    def __new__(cls, text: str, strong: bool = False) -> Figure:
        """Make a figure from its text."""
        figure = super().__new__(cls, text)
        figure.strong = strong
        return figure


Value = str | float | None


class Note(NamedTuple):
    """The reason why a cell of a table is empty."""

    row: str
    column: str
    reason: str


@dataclass(frozen=True)
class Table:
    """A table with its title.

    ``size`` is that of the training dictionaries, ``digits`` the decimals that numbers are shown with, ``names`` the
    number of columns that name the row, and ``notes`` say what failed. Empty cells are None.
    """

    name: str
    size: str
    title: str
    header: list[str]
    rows: list[list[Value]]
    digits: int = 3
    names: int = 1
    notes: list[Note] = field(default_factory=list)


def check_format(format: str) -> None:
    """Refuse a format that tables cannot be written in."""
    if format not in FORMATS:
        raise FippError(f"there is no format {format!r}; known are {', '.join(FORMATS)}")


def render(tables: Sequence[Table], format: str = "markdown") -> str:
    """Return tables as text, in one of `FORMATS`."""
    check_format(format)
    if format == "json":
        return to_json([asdict(table) for table in tables])
    if format == "csv":
        return to_csv(["table", "size", "row", "column", "value"], (row for table in tables for row in _figures(table)))
    return "\n".join((_markdown if format == "markdown" else _latex)(table) for table in tables)


def to_json(value: Any) -> str:
    """Return a value as readable JSON."""
    return printable(json.dumps(value, ensure_ascii=False, indent=1) + "\n", lines=True)


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV; text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_csv_cell(cell) for cell in row] for row in [header, *rows])
    return text.getvalue()


def _csv_cell(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _figures(table: Table) -> list[list[object]]:
    """Return one row per figure, because the columns of tables differ; for one that failed, the reason."""
    start = [table.name, table.size]
    found: list[list[object]] = [
        # Where a pair has several rows, its name and theirs together.
        [*start, " ".join(map(str, row[: table.names])), label, value]
        for row in table.rows
        for label, value in zip(table.header[table.names :], row[table.names :], strict=True)
        if value is not None
    ]
    return found + [[*start, note.row, note.column, f"failed: {note.reason}"] for note in table.notes]


def _cells(table: Table) -> list[list[str]]:
    """Return all rows as text, with the number of its note where something failed."""
    rows = [[_shown(value, table.digits) for value in row] for row in table.rows]
    for number, note in enumerate(table.notes, 1):
        place = table.header.index(note.column)
        for row in rows:
            if row[0] == note.row:
                row[place] += f" ({number})"
    return rows


def _shown(value: Value, digits: int) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def _notes(table: Table) -> list[str]:
    return [f"({number}) {note.row}, {note.column}: {note.reason}" for number, note in enumerate(table.notes, 1)]


def _is_strong(value: str) -> bool:
    return isinstance(value, Figure) and value.strong


def _numeric(table: Table) -> list[bool]:
    """Return for each column whether it holds numbers."""
    return [any(isinstance(row[place], (float, Figure)) for row in table.rows) for place in range(len(table.header))]


def _markdown(table: Table) -> str:
    def escaped(text: str) -> str:
        return _MARKDOWN.sub(r"\\\g<0>", printable(text))

    def cell(value: str) -> str:
        return f"**{escaped(value)}**" if _is_strong(value) else escaped(value)

    def line(values: Sequence[str]) -> str:
        return "| " + " | ".join(map(cell, values)) + " |"

    rule = "|---" + "".join("|---:" if numeric else "|---" for numeric in _numeric(table)[1:]) + "|"
    head = [f"## {escaped(table.title)}", ""]
    notes = [text for note in _notes(table) for text in (escaped(note), "")]
    return "\n".join([*head, line(table.header), rule, *map(line, _cells(table)), "", *notes])


_LATEX = {"\\": r"\textbackslash{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}"}
_LATEX |= {"^": r"\textasciicircum{}", "→": r"$\to$", "–": "--", "≈": r"$\approx$", "≥": r"$\ge$", "×": r"$\times$"}


def _latex(table: Table) -> str:
    def escaped(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in printable(text))

    def cell(value: str) -> str:
        return rf"\textbf{{{escaped(value)}}}" if _is_strong(value) else escaped(value)

    def line(values: Sequence[str]) -> str:
        return "    " + " & ".join(map(cell, values)) + r" \\"

    return "\n".join(
        [
            r"\begin{table}",
            r"\begin{tabular}{" + "".join("r" if numeric else "l" for numeric in _numeric(table)) + r"} \toprule",
            line(table.header) + r" \midrule",
            *map(line, _cells(table)),
            r"    \bottomrule",
            r"\end{tabular}",
            r"\caption{" + escaped(". ".join([table.title, *_notes(table)])) + "}",
            r"\end{table}",
            "",
        ]
    )
