"""Benchmarks: a plan of keys, and one record for each key in docs/results/data.

A record is one line of JSON with the key, the measurements and their provenance. `code` identifies the version of the
library that was measured, so that a run skips keys that the current code has already measured. Records with
`transcribed` were copied from older pages, as printed there at `commit`; the next run replaces them.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import hashlib
import json
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from functools import cache, cached_property
from multiprocessing import get_context
from pathlib import Path

import fipp
from fipp.io import atomic_path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "results" / "data"
SOURCE = ROOT / "src" / "fipp"
_DIGITS = 6


class Benchmark:
    """A plan of keys, a function that measures one key, and the saved records.

    Attributes
    ----------
    name : str
        The records are in ``docs/results/data/NAME.jsonl``.
    plan : list of dict
        The keys, in the order in which records are saved. All have the same fields.
    measure : callable
        Takes the fields of a key and returns a dict of measurements.
    minutes : int
        The approximate time of the whole plan on two cores.
    obstacle : callable, optional
        Returns the reason why nothing can be measured on this machine, or None.
    """

    def __init__(self, name, plan, measure, *, minutes, obstacle=None):
        self.name, self.plan, self.measure, self.minutes = name, plan, measure, minutes
        self.obstacle = obstacle or (lambda: None)
        self.path = KEPT / f"{name}.jsonl"
        self.fields = tuple(plan[0])

    @cached_property
    def records(self):
        """The latest record of each key that has one, in the order of the plan."""
        found = {self._identity(record): record for record in _read(self.path)}
        return [found[key] for key in map(self._identity, self.plan) if key in found]

    def find(self, **fields):
        """Return the records with these fields."""
        return [record for record in self.records if fields.items() <= record.items()]

    def get(self, **fields):
        """Return the record with these fields, or None."""
        return next(iter(self.find(**fields)), None)

    def one(self, **fields):
        """Return the record with these fields, or raise an error if there is none."""
        record = self.get(**fields)
        if record is None:
            raise LookupError(f"{self.name} has no record with {_shown(fields)}: make results RUN={self.name}")
        return record

    def missing(self):
        """Return the keys of the plan without a record."""
        there = set(map(self._identity, self.records))
        return [key for key in self.plan if self._identity(key) not in there]

    def run(self, keys=None, *, again=False):
        """Measure what the current code has not measured, save each record at once, return the number of failures."""
        if self.obstacle():
            print(f"{self.name}: not measured, {self.obstacle()}", flush=True)
            return 0
        done = set() if again else {self._identity(each) for each in self.records if each.get("code") == fingerprint()}
        todo = [key for key in (self.plan if keys is None else keys) if self._identity(key) not in done]
        self._rewrite()
        failed = 0
        try:
            for number, key in enumerate(todo, 1):
                print(f"{self.name} {number} of {len(todo)}: {_shown(key)}", flush=True)
                failed += not self._measure(key)
        finally:
            self._rewrite()
        return failed

    def main(self):
        """Run the command line: measure the whole plan, or the keys that the options select."""
        parser = argparse.ArgumentParser(
            description=f"Measure what the current code has not measured yet into {self.path.relative_to(ROOT)}."
        )
        for field in self.fields:
            values = ", ".join(dict.fromkeys(str(key[field]) for key in self.plan))
            help = f"measure only these; * matches anything. Values: {values}".replace("%", "%%")
            parser.add_argument(f"--{field}", nargs="+", metavar=field.upper(), help=help)
        parser.add_argument("--again", action="store_true", help="measure again what the current code has measured")
        given = vars(parser.parse_args())
        keys = [key for key in self.plan if all(_chosen(key[field], given[field]) for field in self.fields)]
        if not keys:
            parser.error("the plan has no such key; --help lists the values")
        raise SystemExit(min(self.run(keys, again=given["again"]), 1))

    def _measure(self, key):
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", fipp.FippWarning)
                measured = rounded(self.measure(**key))
        except Exception:  # a failure must not stop the other keys
            traceback.print_exc()
            return False
        record = {**key, **measured, **_provenance(time.perf_counter() - started)}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(_line(record))
        print(f"    {_shown(measured)}", flush=True)
        return True

    def _rewrite(self):
        """Rewrite the file in the order of the plan, with one record per key."""
        vars(self).pop("records", None)
        KEPT.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.path) as temporary:
            temporary.write_text("".join(map(_line, self.records)), encoding="utf-8")

    def _identity(self, record):
        return tuple(record[field] for field in self.fields)


def in_new_process(work, *arguments):
    """Return ``work(*arguments)``, done in a process of its own, which has imported and kept nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


@cache
def fingerprint():
    """Return a hash of the library's code without comments, docstrings and the command line, which is not measured."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith("cli/"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                    node.body[0] = ast.Pass()
            digest.update(f"{name}\n{ast.unparse(tree)}\n".encode())
    return digest.hexdigest()[:12]


def rounded(value):
    """Return the value rounded to six digits and converted for JSON."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    if isinstance(value, str | bool | int | None):
        return value
    number = value.item() if hasattr(value, "item") else value
    return float(f"{number:.{_DIGITS}g}") if isinstance(number, float) else number


def _read(path):
    if not path.exists():
        return
    *lines, _cut = path.read_text(encoding="utf-8").split("\n")  # an incomplete last line was being written
    for line in lines:
        yield json.loads(line)


def _line(record):
    return json.dumps(record, ensure_ascii=False) + "\n"


def _provenance(seconds):
    today = datetime.date.today().isoformat()
    return {"took": round(seconds, 1), "version": fipp.__version__, "date": today, "code": fingerprint()}


def _chosen(value, patterns):
    return patterns is None or any(fnmatchcase(str(value), pattern) for pattern in patterns)


def _shown(fields, length=200):
    text = ", ".join(f"{name} {value}" for name, value in fields.items())
    return text if len(text) <= length else text[:length] + " …"
