"""Search for spaces, pairs and settings that give NaN, infinity or an error other than a FippError, or that hang.

    python scripts/fuzz_numbers.py [--method cca] [--cases 1000] [--first 0] [--workers 2] [--seconds 30]
                                   [--record] [--resume]

Each case is a fit of one method on tiny spaces at the edge of what numbers can hold, with everything that can be asked
of it afterwards (``tests/edge_cases.py``). The method and the number of a case decide all of it, so that
``--method cca --first 814 --cases 1`` repeats a single one. A case that takes more than ``--seconds`` of processor
time, or ends its process, has failed. With ``--record``, the counts of the methods that were tried are kept in
``docs/security/counts.json``, beside those of the others. ``--resume`` goes on after the recorded cases of each method
and adds to their counts. Ctrl-C ends the search, and what was counted so far is printed and kept.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from _counts import record, recorded

from cheap_methods import CHEAP, EXTRAS
from edge_cases import Case, check_case, make_case

Job = tuple[str, int]
# Seconds after which a process that uses no processor time is given up.
STUCK = 600


def main() -> int:
    """Check all cases, print those that failed, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=sorted(CHEAP), action="append", help="only these; all of them otherwise")
    parser.add_argument("--cases", type=int, default=1000, help="cases of every method (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (default 0)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--seconds", type=float, default=30, help="processor time of a case (default 30)")
    parser.add_argument("--record", action="store_true", help="keep the counts in docs/security/counts.json")
    parser.add_argument("--resume", action="store_true", help="go on after the cases that are recorded")
    options = parser.parse_args()
    kept = recorded("numbers").get("methods", {})
    methods = options.method or [name for name in CHEAP if name not in EXTRAS or find_spec(EXTRAS[name])]
    counts = {name: Counter(results=0, refusals=0, failures=0) for name in methods}
    if options.resume:
        counts = {name: Counter({**counted, **kept.get(name, {})}) for name, counted in counts.items()}
    first = {name: options.first + counts[name].total() for name in methods}
    jobs = ((name, first[name] + number) for number in range(options.cases) for name in methods)
    with suppress(KeyboardInterrupt):
        for (name, number), outcome in run(jobs, options.workers, options.seconds):
            counts[name][outcome if outcome in ("results", "refusals") else "failures"] += 1
            if outcome not in ("results", "refusals"):
                print(f"== {make(name, number)}\n   --method {name} --first {number} --cases 1\n{outcome}", flush=True)
    for name, counted in counts.items():
        print(f"{name:20}", *(f"{count:7,} {what}" for what, count in counted.items()))
    print(f"{total(counts):,} cases, {total(counts, 'failures'):,} failures")
    if options.record:
        told = {**kept, **counts}
        cases, failures = total(told), total(told, "failures")
        record("numbers", {"cases": cases, "failures": failures, "methods": told})
    return 1 if total(counts, "failures") else 0


def total(counts: Mapping[str, Mapping[str, int]], *names: str) -> int:
    """Return the sum of the counts with these names, or of all, over all methods."""
    return sum(count for counted in counts.values() for name, count in counted.items() if name in (names or counted))


def make(name: str, number: int) -> Case:
    """Return the case of a method with this number."""
    rng = np.random.default_rng([number, zlib.crc32(name.encode())])
    return make_case(name, lambda options: options[rng.integers(len(options))])


def check(name: str, number: int) -> str:
    """Return ``"results"``, ``"refusals"``, or the traceback of whatever else happened."""
    try:
        return "results" if check_case(make(name, number)) == "result" else "refusals"
    except Exception:
        return traceback.format_exc()


def work(connection: Connection, seconds: float) -> None:
    """Check the cases that come through the connection; a case that takes too long ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    for package in EXTRAS.values():
        with suppress(ImportError):
            import_module(package)
    while True:
        job = connection.recv()
        # SIGPROF ends the process whatever it does, and processor time does not depend on how busy the machine is.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        outcome = check(*job)
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.send(outcome)


class Worker:
    """A process that checks one case at a time."""

    def __init__(self, seconds: float) -> None:
        self.connection, other = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=work, args=(other, seconds), daemon=True)
        self.process.start()
        other.close()

    def give(self, job: Job) -> None:
        """Send a case."""
        self.job, self.until = job, time.monotonic() + STUCK
        self.connection.send(job)

    def outcome(self) -> str | None:
        """Return how the case ended, or None if it has not."""
        try:
            if self.connection.poll():
                return str(self.connection.recv())
        except (EOFError, OSError):
            self.process.join()
            return "it took too long" if self.process.exitcode == -signal.SIGPROF else f"{self.process} died"
        if time.monotonic() < self.until:
            return None
        self.process.kill()
        self.process.join()
        return "it is stuck"


def run(jobs: Iterator[Job], n_workers: int, seconds: float) -> Iterator[tuple[Job, str]]:
    """Yield every job with how it ended, in the order of the ends."""
    busy: list[Worker] = []
    for _, job in zip(range(n_workers), jobs, strict=False):
        busy.append(Worker(seconds))
        busy[-1].give(job)
    while busy:
        wait([worker.connection for worker in busy], timeout=1)
        for place, worker in enumerate(busy):
            outcome = worker.outcome()
            if outcome is None:
                continue
            yield worker.job, outcome
            following = next(jobs, None)
            if following is None:
                worker.process.kill()
                del busy[place]
                break
            if not worker.process.is_alive():
                busy[place] = Worker(seconds)
            busy[place].give(following)


if __name__ == "__main__":
    sys.exit(main())
