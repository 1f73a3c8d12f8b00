"""The tables of the study: ours, with the paper's figures beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fipp.reproduce._paper import printed, printed_similarity
from fipp.reproduce._plan import Cell, check_names
from fipp.reproduce._results import Record
from fipp.reproduce._specs import BLI, SIMILARITY, TABLES, Column, TableSpec, with_others
from fipp.reproduce._variants import VARIANTS


class Figure(str):
    """A figure as it is to be shown, with whatever belongs to it; ``strong`` makes it bold where a format can."""

    strong: bool = False

    def __new__(cls, text: str, strong: bool = False) -> Figure:
        """Make it of its text."""
        figure = super().__new__(cls, text)
        figure.strong = strong
        return figure


Value = str | float | None


class Note(NamedTuple):
    """Why there is no figure in a place of a table."""

    row: str
    column: str
    reason: str


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
    names : int
        How many columns at the beginning name the row.
    notes : list of Note
        What failed, and why.
    """

    name: str
    size: str
    title: str
    header: list[str]
    rows: list[list[Value]]
    digits: int = 3
    names: int = 1
    notes: list[Note] = field(default_factory=list)


_Place = tuple[str, str, str, str]
"""Pair, variant, retrieval and measure."""


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
    others = list(dict.fromkeys(cell.variant for cell in cells if cell.variant not in VARIANTS))
    made = []
    for size in dict.fromkeys(cell.size for cell in cells):
        found = {
            (cell.pair, cell.variant, cell.retrieval, cell.measure): records[cell.key]
            for cell in cells
            if cell.size == size and cell.key in records
        }
        pairs = list(dict.fromkeys(cell.pair for cell in cells if cell.size == size))
        for name in check_names(tables, TABLES, "table"):
            spec = with_others(name, TABLES[name], others)
            make = _one_row_a_pair if spec.measure == BLI else _several_rows_a_pair
            made.append(make(name, spec, size, pairs, found))
    return [table for table in made if table.rows]


def _one_row_a_pair(name: str, spec: TableSpec, size: str, pairs: list[str], found: Mapping[_Place, Record]) -> Table:
    def record_of(pair: str, column: Column) -> Record:
        return found.get((pair, column.variant, column.retrieval, spec.measure), {})

    def has_something(pair: str, column: Column) -> bool:
        record = record_of(pair, column)
        return "error" in record or _value(record, column) is not None

    columns = [column for column in spec.columns if any(has_something(pair, column) for pair in pairs)]
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

    def row_of(name: str, ours: Sequence[Value], figures: Mapping[str, float | str]) -> list[Value]:
        row: list[Value] = [name]
        for column, value in zip(columns, ours, strict=True):
            row += [value, figures.get(beside[column])] if column in beside else [value]
        return row

    rows = []
    for pair in shown:
        records = [record_of(pair, column) for column in columns]
        values = [_value(record, column) for record, column in zip(records, columns, strict=True)]
        rows.append(row_of(pair, values, paper.get(pair, {})) + _counts(records))
    averaged = {column.label for column in columns if column.averaged}
    if rows and averaged:
        rows += _mean(rows, header, averaged)
        if any(figure in paper.get("mean", {}) for figure in beside.values()):
            rows.append(row_of("paper, mean of 28", [None] * len(columns), paper["mean"]) + _NO_COUNTS)
    return Table(
        name,
        size,
        _title(spec, size),
        [*header, *_COUNTS],
        rows,
        spec.digits,
        1,
        _failures(spec, columns, pairs, found),
    )


def _several_rows_a_pair(
    name: str, spec: TableSpec, size: str, pairs: list[str], found: Mapping[_Place, Record]
) -> Table:
    def rows_of(pair: str, column: Column) -> dict[str, Record]:
        record = found.get((pair, column.variant, column.retrieval, spec.measure), {})
        return dict(record.get("rows", ()))

    header = ["pair", spec.rows]
    for column in spec.columns:
        header += [column.label, column.label + _ENGLISH_TURKISH] if column.paper else [column.label]
    rows: list[list[Value]] = []
    for pair in pairs:
        for label in dict.fromkeys(label for column in spec.columns for label in rows_of(pair, column)):
            figures = printed_similarity(*label.split(" ", 1)) if spec.measure == SIMILARITY else {}
            row: list[Value] = [pair, label]
            for column in spec.columns:
                value = rows_of(pair, column).get(label, {}).get(column.value)
                row += [value, figures.get(column.paper)] if column.paper else [value]
            rows.append(row)
    notes = _failures(spec, spec.columns, pairs, found)
    return Table(name, size, _title(spec, size), header, rows, spec.digits, 2, notes)


def _failures(
    spec: TableSpec, columns: Sequence[Column], pairs: list[str], found: Mapping[_Place, Record]
) -> list[Note]:
    reasons = {
        Note(pair, column.label, found[place]["error"])
        for pair in pairs
        for column in columns
        if "error" in found.get(place := (pair, column.variant, column.retrieval, spec.measure), {})
    }
    return sorted(reasons, key=lambda note: pairs.index(note.row))


def _title(spec: TableSpec, size: str) -> str:
    return f"{spec.title}, {size.upper()} training pairs"


_BESIDE = ", paper"
_ENGLISH_TURKISH = ", paper (en-tr)"
_COUNTS = ["seed pairs", "test words", "coverage", "vectors"]
_NO_COUNTS: list[Value] = [None] * len(_COUNTS)


def _counts(records: Sequence[Record]) -> list[Value]:
    """Return how many words were found, from the first method that got so far."""
    measured = [record for record in records if "test" in record]
    if not measured:
        return _NO_COUNTS
    record = measured[0]
    seed, test = record["seed"], record["test"]
    names = (f"{record[side]['name']} ({record[side]['dimensions']})" for side in ("source", "target"))
    n_queries = test["n_queries"] if "n_queries" in test else test["pairs"]  # older records say "pairs"
    return [
        f"{seed['used']} of {seed['total']}",
        f"{n_queries} of {test['total']}",
        f"{100 * test['coverage']:.0f} %",
        " → ".join(names),
    ]


def _mean(rows: list[list[Value]], header: list[str], averaged: set[str]) -> list[list[Value]]:
    """Return the mean over the pairs that have all of our columns, for the paper's too; nothing for fewer than two."""
    ours = [place for place, label in enumerate(header) if label in averaged]
    whole = [row for row in rows if all(row[place] is not None for place in ours)]
    if len(whole) < 2:
        return []
    mean: list[Value] = [f"mean of {len(whole)}"]
    for place, label in enumerate(header[1:], 1):
        values = [value for row in whole if isinstance(value := row[place], float)]
        said = label.removesuffix(_BESIDE) in averaged and len(values) == len(whole)
        mean.append(sum(values) / len(values) if said else None)
    return [mean + _NO_COUNTS]


def _value(record: Record, column: Column) -> Value:
    value: Any = record
    for part in column.value.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list):
        return ", ".join(
            "–".join(item[:2]) + "".join(f" {similarity:.3f}" for similarity in item[2:]) for item in value
        )
    return f"{value:,}" if isinstance(value, int) else value
