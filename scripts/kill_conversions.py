"""Kill conversions of a collection at random moments, resume them, and compare with an undisturbed one.

    python scripts/kill_conversions.py [--kills 100] [--seed 0] [--record]

The counts are printed, and with --record kept in docs/security/counts.json. The exit code is 1 if a result differs, or
if a kill made more than one fragment be done again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "migrate"))

from _counts import record
from conversion_trials import trial


def main() -> int:
    """Run the trial and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="kills in all (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments (default 0)")
    parser.add_argument("--record", action="store_true", help="keep the counts in docs/security/counts.json")
    options = parser.parse_args()
    counts = trial(options.kills, options.seed)
    print(json.dumps(counts, indent=1))
    if options.record:
        record("conversions", counts)
    return int(counts["failures"] > 0)


if __name__ == "__main__":
    sys.exit(main())
