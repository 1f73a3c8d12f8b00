"""The counts of the last long runs, in docs/security/counts.json: one key for each script."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import fipp
from fipp.io import atomic_path

COUNTS = Path(__file__).resolve().parents[1] / "docs" / "security" / "counts.json"


def record(key: str, counts: dict[str, Any]) -> None:
    """Replace the counts of one script."""
    known = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    known[key] = {**counts, "version": fipp.__version__, "date": date.today().isoformat()}
    COUNTS.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(COUNTS) as temporary:
        temporary.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
