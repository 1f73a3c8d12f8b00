"""What a benchmark measures and what is kept of it: a plan of keys, and a record for each in docs/results/data.

A record is one line of JSON: the key, what was measured, and where it comes from. `code` identifies the library that
was measured, so that a run skips what the present code has measured already. A record with `transcribed` was copied
from a page of before there were such files, as printed there at `commit`; the next run replaces it.
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
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path

import fipp
from fipp.io import atomic_path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "results" / "data"
SOURCE = ROOT / "src" / "fipp"
_DIGITS = 6


class Benchmark:
    """A plan, how to measure one key of it, and the records that are kept.

    Attributes
    ----------
    name : str
        The records are in ``docs/results/data/NAME.jsonl``.
    plan : list of dict
        The keys, in the order in which records are kept. All have the same fields.
    measure : callable
        Takes the fields of a key, returns a dict of what it measured.
    minutes : int
        How long the whole plan takes on two cores, about.
    obstacle : callable, optional
        Returns why nothing can be measured here, or None.
    """

    def __init__(self, name, plan, measure, *, minutes, obstacle=None):
        self.name, self.plan, self.measure, self.minutes = name, plan, measure, minutes
        self.obstacle = obstacle or (lambda: None)
        self.path = KEPT / f"{name}.jsonl"
        self.fields = tuple(plan[0])

    @cached_property
    def records(self):
        """The record of each key that has one, in the order of the plan; of two, the later."""
        found = {self._identity(record): record for record in _read(self.path)}
        return [found[key] for key in map(self._identity, self.plan) if key in found]

    def find(self, **fields):
        """Return the records with these fields."""
        return [record for record in self.records if fields.items() <= record.items()]

    def get(self, **fields):
        """Return the record with these fields, or None."""
        return next(iter(self.find(**fields)), None)

    def one(self, **fields):
        """Return the record with these fields, which a page needs."""
        record = self.get(**fields)
        if record is None:
            raise LookupError(f"{self.name} has no record with {_shown(fields)}: make results RUN={self.name}")
        return record

    def missing(self):
        """Return the keys of the plan without a record."""
        there = set(map(self._identity, self.records))
        return [key for key in self.plan if self._identity(key) not in there]

    def run(self, keys=None, *, again=False):
        """Measure what the present code has not measured, keep every record at once; return how many keys failed."""
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
        """Run what the command line asks for: all of the plan, or the keys that its options choose."""
        parser = argparse.ArgumentParser(
            description=f"Measure into {self.path.relative_to(ROOT)} what the present code has not measured yet."
        )
        for field in self.fields:
            values = ", ".join(dict.fromkeys(str(key[field]) for key in self.plan))
            help = f"only these; * stands for anything. There are: {values}".replace("%", "%%")
            parser.add_argument(f"--{field}", nargs="+", metavar=field.upper(), help=help)
        parser.add_argument("--again", action="store_true", help="measure also what this code has measured already")
        given = vars(parser.parse_args())
        keys = [key for key in self.plan if all(_chosen(key[field], given[field]) for field in self.fields)]
        if not keys:
            parser.error("the plan has no such key; --help lists what there is")
        raise SystemExit(min(self.run(keys, again=given["again"]), 1))

    def _measure(self, key):
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", fipp.FippWarning)
                measured = rounded(self.measure(**key))
        except Exception:  # one key's failure must not cost the others
            traceback.print_exc()
            return False
        record = {**key, **measured, **_provenance(time.perf_counter() - started)}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(_line(record))
        print(f"    {_shown(measured)}", flush=True)
        return True

    def _rewrite(self):
        """Put the file in the order of the plan, one record for each key."""
        vars(self).pop("records", None)
        KEPT.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.path) as temporary:
            temporary.write_text("".join(map(_line, self.records)), encoding="utf-8")

    def _identity(self, record):
        return tuple(record[field] for field in self.fields)


@cache
def fingerprint():
    """Identify the library's code, without comments, docstrings, and the command line, which measures nothing."""
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
    """Return the value with six digits, which is more than can be trusted, and as JSON can hold it."""
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
    *lines, _cut = path.read_text(encoding="utf-8").split("\n")  # a line without its end was being written
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
