"""The counts of the last long searches for defects, which SECURITY.md shows. The scripts in scripts/ write them."""

from __future__ import annotations

import json

import _tables
from _benchmark import ROOT

COUNTS = ROOT / "docs" / "security" / "counts.json"
SEARCHES = ("readers", "models", "numbers", "writers")


def table():
    """Return a row for each search that was run: what it counted, by which version, and when."""
    counts = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    rows = [
        [key, _told(counts[key]), counts[key]["version"], counts[key]["date"]]
        for key in dict.fromkeys([*SEARCHES, *counts])
        if key in counts
    ]
    return _tables.table(["search", "counts", "version", "date"], rows) if rows else "No long run is recorded yet."


def _told(counts):
    figures = {name: value for name, value in counts.items() if isinstance(value, int)}
    return ", ".join(f"{_tables.count(value)} {name.replace('_', ' ')}" for name, value in figures.items())
