"""Kill conversions of a collection at random moments, resume them, and compare with an undisturbed one.

    python scripts/kill_conversions.py [--kills 100] [--sinks new/ new.npy postgresql qdrant] [--seed 0] [--record]

The counts are printed, and with --record kept in docs/security/counts.json instead of older ones of the same sinks. The
exit code is 1 if a result differs, or if a kill made more than one fragment be done again.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "migrate"))

from _counts import record, recorded
from conversion_trials import FILES, trial

from postgres import postgres

COLLECTIONS = ("postgresql", "qdrant")


def main() -> int:
    """Run the trials and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="kills of conversions to each sink (default 100)")
    known = [*FILES, *COLLECTIONS]
    parser.add_argument("--sinks", nargs="+", choices=known, default=known, metavar="SINK", help=", ".join(known))
    parser.add_argument("--seed", type=int, default=0, help="of the random moments (default 0)")
    parser.add_argument("--record", action="store_true", help="keep the counts in docs/security/counts.json")
    options = parser.parse_args()
    by_sink = {sink: counted(sink, options.kills, options.seed) for sink in options.sinks}
    if options.record:
        kept = {**recorded("conversions").get("by sink", {}), **by_sink}
        record("conversions", {"sinks": len(kept), **together(kept), "by sink": kept})
    return int(together(by_sink)["failures"] > 0)


def together(by_sink: dict[str, dict[str, int]]) -> dict[str, int]:
    """Return the counts of all sinks."""
    names = next(iter(by_sink.values()))
    return {name: (max if name.endswith("at most") else sum)(each[name] for each in by_sink.values()) for name in names}


def counted(sink: str, kills: int, seed: int) -> dict[str, int]:
    """Return what is counted in the trial of one sink, which is printed too."""
    with postgres() if sink == "postgresql" else nullcontext("qdrant://local") as place:
        counts = trial(f"{place}#new" if sink in COLLECTIONS else sink, kills, seed)
    print(sink, json.dumps(counts), flush=True)
    return counts


if __name__ == "__main__":
    sys.exit(main())
