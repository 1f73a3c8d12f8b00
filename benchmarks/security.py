"""The counts of the last long searches for defects, which SECURITY.md shows. The scripts in scripts/ write them."""

from __future__ import annotations

import json

import _tables
from _benchmark import ROOT

COUNTS = ROOT / "docs" / "security" / "counts.json"
SEARCHES = ("readers", "models", "numbers", "writers", "conversions")


def table():
    """Return a row for each search: what its last run counted, by which version, and when."""
    counts = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    rows = [[key, *_told(counts.get(key, {}))] for key in dict.fromkeys([*SEARCHES, *counts])]
    return _tables.table(["search", "counts", "version", "date"], rows)


def _told(counts):
    parts = [_figures(counts)]
    for name, part in counts.items():
        if isinstance(part, dict) and name == "methods":
            least = min(sum(counted.values()) for counted in part.values())
            parts.append(f"{_tables.count(least)} cases of each of {len(part)} methods at least")
        elif isinstance(part, dict) and _figures(part):
            parts.append(f"{name}: {_figures(part)}")
    told = "; ".join(filter(None, parts))
    return told or "no run is recorded", counts.get("version", "none"), counts.get("date", "none")


def _figures(counts):
    """Return the numbers with their names, and why a part was skipped."""
    told = [f"{_tables.count(value)} {name.replace('_', ' ')}" for name, value in counts.items() if type(value) is int]
    if "skipped" in counts:
        told.append(f"skipped, because {counts['skipped']}")
    return ", ".join(told)
