"""The tables of the paper: our figures, with the paper's beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fipp.experiments import Note, Record, Table, Value
from fipp.reproduce._paper import (
    BLI,
    SIMILARITY,
    TABLES,
    VARIANTS,
    Column,
    TableSpec,
    printed,
    printed_similarity,
    with_others,
)
from fipp.reproduce._plan import Cell, check_names

_BESIDE = ", paper"
_ENGLISH_TURKISH = ", paper (en-tr)"
_COUNTS = ["seed pairs", "test words", "coverage", "vectors"]
_NO_COUNTS: list[Value] = [None] * len(_COUNTS)

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
        From `run`.
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
            builder = _Builder(with_others(name, TABLES[name], others), size, pairs, found)
            made.append(builder.one_row_per_pair(name) if builder.spec.measure == BLI else builder.several_rows(name))
    return [table for table in made if table.rows]


@dataclass(frozen=True)
class _Layout:
    """The columns of a table, those that have the paper's figure beside them, and what its label adds."""

    columns: Sequence[Column]
    with_paper: set[Column]
    suffix: str

    def header(self) -> list[str]:
        return [
            label
            for column in self.columns
            for label in (column.label, *([column.label + self.suffix] if column in self.with_paper else []))
        ]

    def row(self, own: Mapping[Column, Value], paper: Mapping[str, float | str]) -> list[Value]:
        return [
            value
            for column in self.columns
            for value in (own.get(column), *([paper.get(column.paper or "")] if column in self.with_paper else []))
        ]


@dataclass(frozen=True)
class _Builder:
    """Builds one table from the records of one size."""

    spec: TableSpec
    size: str
    pairs: list[str]
    found: Mapping[_Place, Record]

    def record(self, pair: str, column: Column) -> Record:
        return self.found.get((pair, column.variant, column.retrieval, self.spec.measure), {})

    def one_row_per_pair(self, name: str) -> Table:
        columns = [c for c in self.spec.columns if any(_has_something(self.record(pair, c), c) for pair in self.pairs)]
        shown = [pair for pair in self.pairs if any(self.record(pair, column) for column in columns)]
        paper = printed(self.size)
        # The paper's figures have a column if it has one for a pair shown here, or for all pairs together.
        printed_here = {figure for pair in [*shown, "mean"] for figure in paper.get(pair, {})}
        layout = _Layout(columns, {column for column in columns if column.paper in printed_here}, _BESIDE)
        header = ["pair", *layout.header()]
        rows: list[list[Value]] = []
        for pair in shown:
            records = {column: self.record(pair, column) for column in columns}
            own = {column: _value(record, column) for column, record in records.items()}
            rows.append([pair, *layout.row(own, paper.get(pair, {})), *_counts(records.values())])
        averaged = {column.label for column in columns if column.averaged}
        if rows and averaged:
            rows += _mean(rows, header, averaged)
            if any(column.paper in paper.get("mean", {}) for column in layout.with_paper):
                rows.append(["paper, mean of 28", *layout.row({}, paper["mean"]), *_NO_COUNTS])
        return self._table(name, [*header, *_COUNTS], rows, 1, columns)

    def several_rows(self, name: str) -> Table:
        columns = self.spec.columns
        layout = _Layout(columns, {column for column in columns if column.paper}, _ENGLISH_TURKISH)
        rows: list[list[Value]] = []
        for pair in self.pairs:
            found = {column: dict(self.record(pair, column).get("rows", ())) for column in columns}
            for label in dict.fromkeys(label for figures in found.values() for label in figures):
                own = {column: figures.get(label, {}).get(column.value) for column, figures in found.items()}
                paper = printed_similarity(*label.split(" ", 1)) if self.spec.measure == SIMILARITY else {}
                rows.append([pair, label, *layout.row(own, paper)])
        return self._table(name, ["pair", self.spec.rows, *layout.header()], rows, 2, columns)

    def _table(
        self, name: str, header: list[str], rows: list[list[Value]], names: int, columns: Sequence[Column]
    ) -> Table:
        title = f"{self.spec.title}, {self.size.upper()} training pairs"
        failed = {
            Note(pair, column.label, record["error"])
            for pair in self.pairs
            for column in columns
            if "error" in (record := self.record(pair, column))
        }
        notes = sorted(failed, key=lambda note: self.pairs.index(note.row))
        return Table(name, self.size, title, header, rows, self.spec.digits, names, notes)


def _counts(records: Iterable[Record]) -> list[Value]:
    """Return how many words were found, from the first method that was measured."""
    record = next((record for record in records if "test" in record), None)
    if record is None:
        return _NO_COUNTS
    seed, test = record["seed"], record["test"]
    names = (f"{record[side]['name']} ({record[side]['dimensions']})" for side in ("source", "target"))
    return [
        f"{seed['used']} of {seed['total']}",
        f"{test.get('n_queries', test.get('pairs'))} of {test['total']}",  # older records say "pairs"
        f"{100 * test['coverage']:.0f} %",
        " → ".join(names),
    ]


def _mean(rows: list[list[Value]], header: list[str], averaged: set[str]) -> list[list[Value]]:
    """Return the mean over the pairs that have all of our columns, also of the paper's; none for fewer than two."""
    ours = [place for place, label in enumerate(header) if label in averaged]
    whole = [row for row in rows if all(row[place] is not None for place in ours)]
    if len(whole) < 2:
        return []
    mean: list[Value] = [f"mean of {len(whole)}"]
    for place, label in enumerate(header[1:], 1):
        values = [value for row in whole if isinstance(value := row[place], float)]
        known = label.removesuffix(_BESIDE) in averaged and len(values) == len(whole)
        mean.append(sum(values) / len(values) if known else None)
    return [mean + _NO_COUNTS]


def _has_something(record: Record, column: Column) -> bool:
    return "error" in record or _value(record, column) is not None


def _value(record: Record, column: Column) -> Value:
    value: Any = record
    for part in column.value.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list):
        return ", ".join(
            "–".join(item[:2]) + "".join(f" {similarity:.3f}" for similarity in item[2:]) for item in value
        )
    return f"{value:,}" if isinstance(value, int) else value
