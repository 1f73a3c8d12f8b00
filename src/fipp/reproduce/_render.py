"""Tables as text: Markdown, CSV, LaTeX or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict

from fipp.exceptions import FippError
from fipp.reproduce._tables import Figure, Table, Value

FORMATS = ("markdown", "csv", "latex", "json")


def render(tables: Sequence[Table], format: str = "markdown") -> str:
    """Write tables as text.

    Parameters
    ----------
    tables : sequence of Table
    format : {"markdown", "csv", "latex", "json"}

    Returns
    -------
    str

    Examples
    --------
    >>> table = Table("main", "1k", "Precision", ["pair", "FIPP"], [["en-fr", 0.69123], ["en_fi", None]])
    >>> print(render([table]))
    ## Precision
    <BLANKLINE>
    | pair | FIPP |
    |---|---:|
    | en-fr | 0.691 |
    | en_fi | – |
    <BLANKLINE>
    >>> print(render([table], "csv"))
    table,size,row,column,value
    main,1k,en-fr,FIPP,0.69123
    <BLANKLINE>
    """
    if format not in FORMATS:
        raise FippError(f"there is no format {format!r}; known are {', '.join(FORMATS)}")
    if format == "json":
        return json.dumps([asdict(table) for table in tables], ensure_ascii=False, indent=1) + "\n"
    if format == "csv":
        return _csv(tables)
    return "\n".join((_markdown if format == "markdown" else _latex)(table) for table in tables)


def _csv(tables: Sequence[Table]) -> str:
    """Write one figure a line, because the columns of the tables differ; for one that failed, why."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "size", "row", "column", "value"])
    for table in tables:
        for row in table.rows:
            # Where a pair has several rows, its name and theirs together.
            name = " ".join(map(str, row[: table.names]))
            for label, value in zip(table.header[table.names :], row[table.names :], strict=True):
                if value is not None:
                    writer.writerow([table.name, table.size, name, label, value])
        for note in table.notes:
            writer.writerow([table.name, table.size, note.row, note.column, f"failed: {note.reason}"])
    return text.getvalue()


def _shown(value: Value, digits: int) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def _cells(table: Table) -> list[list[str]]:
    """Return all rows as text, and the number of its note where something failed."""
    rows = [[_shown(value, table.digits) for value in row] for row in table.rows]
    for number, note in enumerate(table.notes, 1):
        place = table.header.index(note.column)
        for row in rows:
            if row[0] == note.row:
                row[place] += f" ({number})"
    return rows


def _notes(table: Table) -> list[str]:
    return [f"({number}) {note.row}, {note.column}: {note.reason}" for number, note in enumerate(table.notes, 1)]


def _markdown(table: Table) -> str:
    def cell(value: str) -> str:
        text = value.replace("|", r"\|")
        return f"**{text}**" if _is_strong(value) else text

    def line(values: Sequence[str]) -> str:
        return "| " + " | ".join(map(cell, values)) + " |"

    rule = "|---" + "".join("|---:" if numeric else "|---" for numeric in _numeric(table)[1:]) + "|"
    notes = [text for note in _notes(table) for text in (note, "")]
    return "\n".join([f"## {table.title}", "", line(table.header), rule, *map(line, _cells(table)), "", *notes])


_LATEX = {"\\": r"\textbackslash{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}"}
_LATEX |= {"^": r"\textasciicircum{}", "→": r"$\to$", "–": "--", "≈": r"$\approx$", "≥": r"$\ge$", "×": r"$\times$"}


def _is_strong(value: str) -> bool:
    return isinstance(value, Figure) and value.strong


def _latex(table: Table) -> str:
    def escaped(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in text)

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


def _numeric(table: Table) -> list[bool]:
    """Tell for each column whether it holds numbers."""
    return [any(isinstance(row[place], (float, Figure)) for row in table.rows) for place in range(len(table.header))]
