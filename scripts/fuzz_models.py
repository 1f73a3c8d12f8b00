"""Damage models of every method in many ways, and look for one that ends in anything but a FippError.

    python scripts/fuzz_models.py [--cases 200000] [--seed 0] [--processes 2] [--record]
    python scripts/fuzz_models.py --only 4711

Every number makes one damaged file: an edited header, edited arrays, or other bytes. It is loaded and, if it can be,
used: both sides are transformed, words translated, a dictionary evaluated, `fipp info` called. This happens in
processes with limits of memory and time; a case that takes longer ends its process, is tried once more in case the
machine had been stopped, and then counts as a hang.
Findings are kept in the folder ``fuzz-findings``. With ``--record``, the counts go to docs/security/counts.json.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not survive a fork
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from _counts import record

import model_fuzz

FINDINGS = Path("fuzz-findings")
# Cases in a process, before another one takes its place.
BLOCK = 500
# The limits of a case: processor time, which does not depend on how busy the machine is, time by the clock, and memory.
PROCESSOR_SECONDS, SECONDS, MEGABYTES = 5, 300, 1024
context = multiprocessing.get_context("fork")


def main() -> int:
    """Run all cases, print the counts, and return 1 if there was a failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200_000, help="how many files to make (default 200,000)")
    parser.add_argument("--seed", type=int, default=0, help="what the damage depends on (default 0)")
    parser.add_argument("--processes", type=int, default=2, help="how many cases at a time (default 2)")
    parser.add_argument("--record", action="store_true", help="keep the counts in docs/security/counts.json")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run this case alone, with its traceback")
    options = parser.parse_args()
    corpus = make_corpus()
    if options.only is not None:
        source, target = model_fuzz.spaces(model_fuzz.D2)
        path = FINDINGS / f"{options.only}.fipp"
        FINDINGS.mkdir(exist_ok=True)
        path.write_bytes(model_fuzz.Case(corpus, options.seed, options.only).content)
        print(path, model_fuzz.outcome(path, options.only, source, target))
        return 0
    counts = run(corpus, options.seed, options.cases, options.processes)
    failures = {kind: count for kind, count in counts.items() if kind not in ("refused", "loaded")}
    told = {
        "cases": sum(counts.values()),
        "methods": len({Path(name).stem for name in corpus}),
        "refused": counts["refused"],
        "loaded": counts["loaded"],
        "failures": sum(failures.values()),
        "seed": options.seed,
    }
    print(told, failures or "")
    if options.record:
        record("models", told)
    return 1 if failures else 0


def make_corpus() -> dict[str, bytes]:
    """Fit every method in a process of its own, so that none of its threads and libraries are in this one."""
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=model_fuzz.write_corpus, args=(Path(folder),))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit("the models to damage could not be made")
        source, target = model_fuzz.spaces(model_fuzz.D2)
        models = sorted(Path(folder).iterdir())
        for number, path in enumerate(models):
            # Whatever is imported on the way is then in all processes.
            if model_fuzz.outcome(path, number, source, target) == "refused":
                raise SystemExit(f"{path.name} should not have been refused")
        return {path.name: path.read_bytes() for path in models}


def run(corpus: dict[str, bytes], seed: int, n_cases: int, n_processes: int) -> Counter[str]:
    """Count the outcomes of all cases."""
    counts: Counter[str] = Counter()
    started, told = time.monotonic(), 0
    blocks = [range(start, min(start + BLOCK, n_cases)) for start in range(0, n_cases, BLOCK)]
    running: list[Running] = []
    again: set[int] = set()
    while blocks or running:
        while blocks and len(running) < n_processes:
            running.append(Running(corpus, seed, blocks.pop(0)))
        multiprocessing.connection.wait([each.process.sentinel for each in running])
        for each in [each for each in running if not each.process.is_alive()]:
            running.remove(each)
            rest = each.finish(counts, corpus, seed, again)
            if len(rest):
                blocks.insert(0, rest)
        done = sum(counts.values())
        if done // 10_000 > told:
            told = done // 10_000
            print(f"{done:,} cases, {done / (time.monotonic() - started):.0f} a second, {dict(counts)}", flush=True)
    return counts


class Running:
    """A process with a block of cases; `current` is the case that it is at, should it end before the last."""

    def __init__(self, corpus: dict[str, bytes], seed: int, numbers: range) -> None:
        self.numbers = numbers
        self.current = context.Value("q", numbers.start, lock=False)
        self.kinds, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=self._work, args=(corpus, seed, theirs))
        self.process.start()
        theirs.close()

    def _work(self, corpus: dict[str, bytes], seed: int, kinds: Any) -> None:
        limit = MEGABYTES << 20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        source, target = model_fuzz.spaces(model_fuzz.D2)
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            path = Path(folder, "model.fipp")
            for number in self.numbers:
                self.current.value = number
                path.write_bytes(model_fuzz.Case(corpus, seed, number).content)
                # Either signal ends the process.
                signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
                signal.alarm(SECONDS)
                try:
                    kind = model_fuzz.outcome(path, number, source, target)
                except Exception as error:
                    place = traceback.extract_tb(error.__traceback__)[-1]
                    kind = f"{type(error).__name__} in {place.name}"
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.alarm(0)
                kinds.send(kind)
                self.current.value = number + 1

    def finish(self, counts: Counter[str], corpus: dict[str, bytes], seed: int, again: set[int]) -> range:
        """Count what the process has done, keep what failed, and return the cases that are left to do.

        ``again`` holds the cases that are tried once more.
        """
        for number, kind in zip(self.numbers, self._received(), strict=False):
            counts[kind] += 1
            if kind not in ("refused", "loaded"):
                keep(corpus, seed, number, kind)
        at = self.current.value
        if at == self.numbers.stop:
            return range(0)
        hung = self.process.exitcode in (-signal.SIGALRM, -signal.SIGPROF)
        if hung and at not in again:
            again.add(at)
            return range(at, self.numbers.stop)
        kind = "hang" if hung else f"crash {self.process.exitcode}"
        counts[kind] += 1
        keep(corpus, seed, at, kind)
        return range(at + 1, self.numbers.stop)

    def _received(self) -> Iterator[str]:
        while True:
            try:
                yield self.kinds.recv()
            except EOFError:
                return


def keep(corpus: dict[str, bytes], seed: int, number: int, kind: str) -> None:
    """Write a file that led to a failure to the folder of findings."""
    FINDINGS.mkdir(exist_ok=True)
    case = model_fuzz.Case(corpus, seed, number)
    (FINDINGS / f"{number}.fipp").write_bytes(case.content)
    print(f"case {number} ({case.name}): {kind}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
