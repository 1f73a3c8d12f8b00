"""The counts of the last long searches for defects, which SECURITY.md shows. The scripts in scripts/ write them."""

from __future__ import annotations

import json

import _tables
from _benchmark import ROOT

COUNTS = ROOT / "docs" / "security" / "counts.json"
SEARCHES = ("readers", "models", "numbers", "writers")


def table():
    """Return a row for each search: what its last run counted, by which version, and when."""
    counts = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    rows = [[key, *_told(counts.get(key, {}))] for key in dict.fromkeys([*SEARCHES, *counts])]
    return _tables.table(["search", "counts", "version", "date"], rows)


def _told(counts):
    figures = {name: value for name, value in counts.items() if isinstance(value, int)}
    told = ", ".join(f"{_tables.count(value)} {name.replace('_', ' ')}" for name, value in figures.items())
    return told or "no run is recorded", counts.get("version", "none"), counts.get("date", "none")
