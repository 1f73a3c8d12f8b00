"""The counts of the last long run of every search for defects, kept in ``docs/security/counts.json``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fipp
from fipp.io import atomic_path

COUNTS = Path(__file__).resolve().parents[1] / "docs" / "security" / "counts.json"


def record(key: str, counts: dict[str, Any]) -> None:
    """Replace the counts of one search, with the version of fipp and the date."""
    kept = json.loads(COUNTS.read_text("utf-8")) if COUNTS.exists() else {}
    kept[key] = {**counts, "version": fipp.__version__, "date": datetime.now(UTC).date().isoformat()}
    COUNTS.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(COUNTS) as path:
        path.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
