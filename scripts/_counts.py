"""The counts of the long searches for defects, kept in ``docs/security/counts.json`` under a key for each."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from fipp import __version__
from fipp.io import atomic_path

COUNTS = Path(__file__).resolve().parents[1] / "docs" / "security" / "counts.json"


def recorded(key: str, path: Path = COUNTS) -> dict[str, Any]:
    """Return the counts of one search; none if it was never recorded."""
    return dict(json.loads(path.read_text(encoding="utf-8")).get(key, {})) if path.exists() else {}


def record(key: str, counts: dict[str, Any], path: Path = COUNTS) -> None:
    """Replace the counts of one search, with the date and the version of fipp; other keys stay as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept[key] = {"date": datetime.date.today().isoformat(), "version": __version__, **counts}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
