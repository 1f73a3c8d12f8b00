"""Markdown tables, and how their figures are formatted."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def table(header, rows):
    """Return a Markdown table.

    >>> print(table(["pair", "FIPP"], [["en-fr", ".691"]]))
    | pair | FIPP |
    |---|---|
    | en-fr | .691 |
    """
    lines = [header, *rows]
    text = ["| " + " | ".join(map(str, line)) + " |" for line in lines]
    return "\n".join([text[0], "|---" * len(header) + "|", *text[1:]])


def pivot(corner, rows, columns, cell):
    """Return a table of ``cell(row, column)`` for two dicts that map names to rows and columns.

    Empty columns are dropped first, then every row with an empty cell.
    """
    cells = {name: [cell(row, column) for column in columns.values()] for name, row in rows.items()}
    shown = [place for place in range(len(columns)) if any(line[place] is not None for line in cells.values())]
    whole = {name: line for name, line in cells.items() if shown and all(line[place] is not None for place in shown)}
    header = [corner, *(list(columns)[place] for place in shown)]
    return table(header, [[name, *(line[place] for place in shown)] for name, line in whole.items()])


def short(value, digits=3):
    """Return a number without the zero before the point; text is returned unchanged.

    >>> short(0.6905), short(-0.0123), short("11 to 16")
    ('.691', '-.012', '11 to 16')
    """
    if isinstance(value, str):
        return value
    # Round the decimal digits, not the nearest float: .6905 becomes .691.
    digits_kept = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return str(digits_kept).replace("0.", ".", 1)


def both(record, digits=3):
    """Return the scores by cosine / by CSLS, or None without a record."""
    if record is None:
        return None
    return " / ".join(short(_score(record[way]), digits) for way in ("cosine", "csls") if way in record)


def between(score, digits=4):
    """Return a score with its interval."""
    value, *ends = score
    return f"{short(value, digits)} ({'–'.join(map(short, ends))})" if ends else short(value, digits)


def count(number):
    return f"{number:,}"


def _score(value):
    return value[0] if isinstance(value, list) else value
