"""The tables of the study: ours, with the paper's figures beside them, in several formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fipp.exceptions import FippError
from fipp.study._paper import printed
from fipp.study._plan import TABLES, VARIANTS, Cell, Column, TableSpec, check_names
from fipp.study._results import Record

FORMATS = ("markdown", "csv", "latex", "json")


class Figure(str):
    """A figure as it is to be shown, with whatever belongs to it; ``strong`` makes it bold where a format can."""

    strong: bool = False

    def __new__(cls, text: str, strong: bool = False) -> Figure:
        """Make it of its text."""
        figure = super().__new__(cls, text)
        figure.strong = strong
        return figure


Value = str | float | None


@dataclass(frozen=True)
class Table:
    """A table with its title.

    Attributes
    ----------
    name, size, title : str
        The table's name, the size of the training dictionaries, what it shows.
    header : list of str
    rows : list of list
        Text, numbers, and None where there is nothing.
    digits : int
        How many decimals its numbers are shown with.
    """

    name: str
    size: str
    title: str
    header: list[str]
    rows: list[list[Value]]
    digits: int = 3


def make_tables(
    cells: Sequence[Cell], records: Mapping[str, Record], tables: Sequence[str] | None = None
) -> list[Table]:
    """Put records into tables, size by size; tables and columns without any result are left out.

    Parameters
    ----------
    cells : sequence of Cell
        The plan.
    records : dict
        From `run_study` or `read_results`.
    tables : sequence of str, optional
        Names in `TABLES`; all by default.

    Returns
    -------
    list of Table
    """
    found: dict[tuple[str, str, str, str], Record] = {}
    for cell in cells:
        record = records.get(cell.key, {})
        if "test" in record:
            found[cell.size, cell.pair, cell.variant, cell.retrieval] = record
    made = []
    for size in dict.fromkeys(cell.size for cell in cells):
        pairs = list(dict.fromkeys(cell.pair for cell in cells if cell.size == size))
        for name in check_names(tables, TABLES, "table"):
            spec = _with_further_methods(name, TABLES[name], cells)
            made.append(_make_table(name, spec, size, pairs, found))
    return [table for table in made if table.rows]


def _with_further_methods(name: str, spec: TableSpec, cells: Sequence[Cell]) -> TableSpec:
    """Add columns to the main table for aligners that the paper does not have."""
    if name != "main":
        return spec
    others = dict.fromkeys(cell.variant for cell in cells if cell.variant not in VARIANTS)
    return TableSpec(spec.title, (*spec.columns, *(Column(other, other) for other in others)), spec.digits)


def _make_table(
    name: str, spec: TableSpec, size: str, pairs: list[str], found: Mapping[tuple[str, str, str, str], Record]
) -> Table:
    def record_of(pair: str, column: Column) -> Record:
        return found.get((size, pair, column.variant, column.retrieval), {})

    columns = [
        column for column in spec.columns if any(_value(record_of(pair, column), column) is not None for pair in pairs)
    ]
    shown = [pair for pair in pairs if any(record_of(pair, column) for column in columns)]
    paper = printed(size)
    # A figure of the paper has a column if it has one for a pair here, or for all pairs together.
    beside = {
        column: column.paper
        for column in columns
        if column.paper and any(column.paper in paper.get(pair, {}) for pair in [*shown, "mean"])
    }
    header = ["pair"]
    for column in columns:
        header += [column.label, column.label + _BESIDE] if column in beside else [column.label]

    def row_of(name: str, ours: Sequence[Value], figures: Mapping[str, float]) -> list[Value]:
        row: list[Value] = [name]
        for column, value in zip(columns, ours, strict=True):
            row += [value, figures.get(beside[column])] if column in beside else [value]
        return row

    rows = []
    for pair in shown:
        records = [record_of(pair, column) for column in columns]
        values = [_value(record, column) for record, column in zip(records, columns, strict=True)]
        rows.append(row_of(pair, values, paper.get(pair, {})) + _counts(next(filter(None, records))))
    if rows and name != "filtered":
        ours = [place for place, label in enumerate(header) if place and not label.endswith(_BESIDE)]
        rows += _mean(rows, ours, len(header))
        if any(figure in paper.get("mean", {}) for figure in beside.values()):
            rows.append(row_of("paper, mean of 28", [None] * len(columns), paper["mean"]) + _NO_COUNTS)
    title = f"{spec.title}, {size.upper()} training pairs"
    return Table(name, size, title, [*header, *_COUNTS], rows, spec.digits)


_BESIDE = ", paper"
_COUNTS = ["seed pairs", "test words", "coverage", "vectors"]
_NO_COUNTS: list[Value] = [None] * len(_COUNTS)


def _counts(record: Record) -> list[Value]:
    seed, test = record["seed"], record["test"]
    names = (f"{record[side]['name']} ({record[side]['dimensions']})" for side in ("source", "target"))
    return [
        f"{seed['used']} of {seed['total']}",
        f"{test['pairs']} of {test['total']}",
        f"{100 * test['coverage']:.0f} %",
        " → ".join(names),
    ]


def _mean(rows: list[list[Value]], ours: list[int], width: int) -> list[list[Value]]:
    """Give the mean over the pairs that have every one of our columns; nothing if there is one pair or none."""
    whole = [row for row in rows if all(row[place] is not None for place in ours)]
    if len(whole) < 2:
        return []
    mean: list[Value] = [f"mean of {len(whole)}"]
    for place in range(1, width):
        values = [value for row in whole if isinstance(value := row[place], float)]
        mean.append(sum(values) / len(values) if len(values) == len(whole) else None)
    return [mean + _NO_COUNTS]


def _value(record: Record, column: Column) -> Value:
    value: Any = record
    for part in column.value.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list):
        return ", ".join(f"{source}–{target}" for source, target in value)
    return None if value is None else float(value)


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
        return json.dumps([vars(table) for table in tables], ensure_ascii=False, indent=1) + "\n"
    if format == "csv":
        return _csv(tables)
    return "\n".join((_markdown if format == "markdown" else _latex)(table) for table in tables)


def _csv(tables: Sequence[Table]) -> str:
    """Write one figure a line, because the columns of the tables differ."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "size", "row", "column", "value"])
    for table in tables:
        for row in table.rows:
            for label, value in zip(table.header[1:], row[1:], strict=True):
                if value is not None:
                    writer.writerow([table.name, table.size, row[0], label, value])
    return text.getvalue()


def _shown(value: Value, digits: int) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def _markdown(table: Table) -> str:
    def cell(value: Value) -> str:
        text = _shown(value, table.digits).replace("|", r"\|")
        return f"**{text}**" if _is_strong(value) else text

    def line(values: Sequence[Value]) -> str:
        return "| " + " | ".join(map(cell, values)) + " |"

    rule = "|---" + "".join("|---:" if numeric else "|---" for numeric in _numeric(table)[1:]) + "|"
    return "\n".join([f"## {table.title}", "", line(table.header), rule, *map(line, table.rows), ""])


_LATEX = {"\\": r"\textbackslash{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}"}
_LATEX |= {"^": r"\textasciicircum{}", "→": r"$\to$", "–": "--", "≈": r"$\approx$", "≥": r"$\ge$", "×": r"$\times$"}


def _is_strong(value: Value) -> bool:
    return isinstance(value, Figure) and value.strong


def _latex(table: Table) -> str:
    def cell(value: Value) -> str:
        text = "".join(_LATEX.get(sign, sign) for sign in _shown(value, table.digits))
        return rf"\textbf{{{text}}}" if _is_strong(value) else text

    def line(values: Sequence[Value]) -> str:
        return "    " + " & ".join(map(cell, values)) + r" \\"

    return "\n".join(
        [
            r"\begin{table}",
            r"\begin{tabular}{" + "".join("r" if numeric else "l" for numeric in _numeric(table)) + r"} \toprule",
            line(table.header) + r" \midrule",
            *map(line, table.rows),
            r"    \bottomrule",
            r"\end{tabular}",
            r"\caption{" + "".join(_LATEX.get(sign, sign) for sign in table.title) + "}",
            r"\end{table}",
            "",
        ]
    )


def _numeric(table: Table) -> list[bool]:
    """Tell for each column whether it holds numbers."""
    return [any(isinstance(row[place], (float, Figure)) for row in table.rows) for place in range(len(table.header))]
