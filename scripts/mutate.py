"""Change one operator, comparison or constant of a room at a time, and see whether the room's tests notice.

    python scripts/mutate.py [linalg fipp retrieve migrate] [--mutants 60] [--seed 0] [--seconds 600]

Each mutant is made in a copy of the project, and only the tests that run its line are run, until the first fails. The
mutants of a room are drawn at random; the seed decides which. Outcomes are kept in ``docs/results/data/mutants.jsonl``:
a mutant that was noticed is not tried again unless its module has changed, so that the same command tries the survivors
again when there are new tests. ``docs/results/mutants.md`` shows the counts, and why the survivors are right.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    # One thread, and no byte code: it would be taken for that of the next mutant of the same size and second.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.dont_write_bytecode = True

import numba  # noqa: F401
import pytest
import scipy.linalg  # noqa: F401
import sklearn.base  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "results" / "data" / "mutants.jsonl"
FIPP = [f"src/fipp/aligners/{name}.py" for name in ("_fipp", "_solvers", "_appendix_c", "_fipp_reference")]
FIPP_TESTS = [f"tests/aligners/test_{name}.py" for name in ("fipp_answers", "fipp_reference", "self_learning")]
ROOMS = {
    "linalg": (["src/fipp/linalg/*.py"], ["tests/linalg", "tests/aligners/test_mlp.py", *FIPP_TESTS[:2]]),
    "fipp": (FIPP, [*FIPP_TESTS, "tests/linalg/test_descent.py"]),
    "retrieve": (["src/fipp/retrieve/*.py"], ["tests/retrieve", "tests/test_edges_of_rooms.py"]),
    "migrate": (["src/fipp/migrate/*.py"], ["tests/migrate"]),
}
"""By name: the modules that are changed, and the tests that should notice."""
LEFT_OUT = "not (torch or without_a_folder or names_a_device or postgres or qdrant or lance or test_engines)"
"""Tests that take long or need a server, for what others test, too."""
COMPILED = ("_kernels.py",)
"""Modules whose lines run as machine code, where no tool sees which tests run them."""
PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", LEFT_OUT]
PROCESSOR_SECONDS, MEMORY = 90, 8 << 30
"""What the tests of one mutant may take; one that needs more was noticed."""
SWAPS: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
    **{ast.Mod: ast.Add, ast.Pow: ast.Mult},
}
SKIPPED = (ast.Raise, ast.AnnAssign, ast.arguments, ast.JoinedStr, ast.Assert)
"""Declarations, defaults and messages are not changed."""


class Mutant(NamedTuple):
    """One change: what it replaces by what, in which line and, if there are several like it, where in the line."""

    path: str
    line: int
    column: int
    before: str
    after: str


def mutants(path: str) -> Iterator[Mutant]:
    """Return all mutants of a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for node in _changed_nodes(tree):
        for after in _changes(node):
            # The text of both sides, shortened by ast alone: quotes and parentheses are normal.
            yield Mutant(path, node.lineno, node.col_offset, ast.unparse(node), ast.unparse(after))


def mutated(mutant: Mutant) -> str:
    """Return the text of the module with the change."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))

    class Replace(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            if (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) == (mutant.line, mutant.column):
                found = [each for each in _changes(node) if ast.unparse(each) == mutant.after]
                if found and ast.unparse(node) == mutant.before:
                    return found[0]
            return super().generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree))) + "\n"


def _changed_nodes(node: ast.AST) -> Iterator[Any]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, SKIPPED) or (isinstance(child, ast.Call) and _name(child.func) in ("warn", "FippError")):
            continue
        if isinstance(child, ast.expr | ast.AugAssign):
            yield child
        yield from _changed_nodes(child)


def _name(function: ast.AST) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))


def _changes(node: Any) -> Iterator[ast.AST]:
    """Return the node with each change that it allows."""
    match node:
        case ast.Compare(ops=ops):
            for place, operator in enumerate(ops):
                new = copy.deepcopy(node)
                new.ops[place] = SWAPS[type(operator)]()
                yield new
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            if type(operator) in SWAPS and not _of_text_or_types(node):
                new = copy.deepcopy(node)
                new.op = SWAPS[type(operator)]()
                yield new
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value if value else 1.0)


def _of_text_or_types(node: Any) -> bool:
    return any(
        isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in ast.walk(node)
    )


def sample(room: str, number: int, seed: int) -> list[Mutant]:
    """Draw mutants of a room."""
    paths = sorted(str(path.relative_to(ROOT)) for pattern in ROOMS[room][0] for path in ROOT.glob(pattern))
    every = [mutant for path in paths for mutant in mutants(path)]
    drawn = random.Random(seed).sample(every, min(number, len(every)))
    print(f"{room}: {len(drawn)} of {len(every)} mutants", flush=True)
    return drawn


class Copy:
    """A copy of the project, in which modules are changed and tests run."""

    def __init__(self, folder: Path, room: str) -> None:
        self.folder, self.tests = folder, ROOMS[room][1]
        hidden = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "data", "images")
        for name in ("src", "tests", "benchmarks", "examples", "scripts"):
            shutil.copytree(ROOT / name, folder / name, ignore=hidden if name != "tests" else None)
        shutil.copy2(ROOT / "pyproject.toml", folder)
        self.lines = self._tests_by_line()

    def run(self, tests: Sequence[str]) -> int:
        """Run tests until the first fails, and return whether one does: the exit code, negative for a signal."""
        process = os.fork()  # what the tests import beside fipp is imported here, once
        if process == 0:
            code: int = pytest.ExitCode.INTERNAL_ERROR
            try:
                for kind, limit in ((resource.RLIMIT_CPU, PROCESSOR_SECONDS), (resource.RLIMIT_AS, MEMORY)):
                    resource.setrlimit(kind, (limit, limit))
                os.chdir(self.folder)
                sys.path.insert(0, str(self.folder / "src"))
                with open(os.devnull, "w") as nowhere:
                    os.dup2(nowhere.fileno(), 1)
                    os.dup2(nowhere.fileno(), 2)
                code = pytest.main([*PYTEST, *tests])
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    def _tests_by_line(self) -> Mapping[str, Mapping[int, Sequence[str]]]:
        """Run the tests once, unchanged, and return which of them run each line of each module."""
        import coverage

        settings = self.folder / "contexts.ini"
        settings.write_text("[run]\nsource_pkgs = fipp\ndynamic_context = test_function\ndata_file = contexts\n")
        command = ["-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", *PYTEST, *self.tests]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder / "src"), *sys.path])}
        done = subprocess.run(
            [sys.executable, *command], cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True
        )
        if done.returncode:
            sys.exit(f"the tests fail without any change:\n{done.stdout}")
        if self.run(self.tests[-1:]):
            sys.exit("the tests fail without any change if they are run as those of mutants are")
        data = coverage.CoverageData(str(self.folder / "contexts"))
        data.read()
        return {
            str(Path(name).relative_to(self.folder)): data.contexts_by_lineno(name) for name in data.measured_files()
        }

    def noticed(self, mutant: Mutant) -> bool | None:
        """Return whether the tests notice the change, or None if no test runs its line."""
        tests = self.tests if mutant.path.endswith(COMPILED) else self._tests_of(mutant)
        if not tests:
            return None
        path = self.folder / mutant.path
        original = path.read_bytes()
        path.write_text(mutated(mutant), encoding="utf-8")
        try:
            return self.run(tests) != 0
        finally:
            path.write_bytes(original)

    def _tests_of(self, mutant: Mutant) -> list[str]:
        contexts = self.lines.get(mutant.path, {}).get(mutant.line, ())
        if "" in contexts:  # the line runs when the module is imported, before any test
            return list(self.tests)
        return _node_ids(tuple(contexts))


@cache
def _node_ids(contexts: tuple[str, ...]) -> list[str]:
    """Return the names that pytest gives to ``module.test`` and ``module.Class.test``."""
    files = {path.stem: path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    found = []
    for context in contexts:
        module, *names = context.split(".")
        if "test_" in context and module in files:
            found.append("::".join([files[module], *names]))
    return sorted(found)


def kept() -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the recorded outcomes by mutant and the text of its module."""
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    return {_identity(record): record for record in map(json.loads, lines)}


def _identity(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("room", *Mutant._fields, "module"))


def digest(path: str) -> str:
    """Identify the code of a module, without its comments."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:12]


def search(room: str, number: int, seed: int, seconds: float) -> None:
    """Try the mutants of a room that were not noticed yet, and keep each outcome at once."""
    found, drawn = kept(), sample(room, number, seed)
    records = [{"room": room, **mutant._asdict(), "module": digest(mutant.path)} for mutant in drawn]
    todo = [each for each in records if not found.get(_identity(each), {}).get("noticed")]
    with tempfile.TemporaryDirectory() as folder:
        project = Copy(Path(folder), room) if todo else None
        started = processor_seconds()
        for record in todo:
            if project is None or processor_seconds() - started > seconds:
                break
            record["noticed"] = project.noticed(Mutant(**{name: record[name] for name in Mutant._fields}))
            found[_identity(record)] = record
            if not record["noticed"]:
                print(f"{record['path']}:{record['line']}: {record['before']}  ->  {record['after']}", flush=True)
            _write(found)
    told = [found[_identity(each)] for each in records if _identity(each) in found]
    print(f"{room}: {sum(bool(each['noticed']) for each in told)} of {len(told)} noticed", flush=True)
    # Outcomes for a module that has changed since, or that were not drawn, are dropped.
    drawn_now = {_identity(each) for each in records}
    _write({key: each for key, each in found.items() if each["room"] != room or key in drawn_now})


def processor_seconds() -> float:
    """Return what the tests of all mutants took so far."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _write(found: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> None:
    ordered = sorted(found.values(), key=lambda each: (list(ROOMS).index(each["room"]), each["path"], each["line"]))
    temporary = KEPT.with_suffix(".part")
    temporary.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in ordered), encoding="utf-8")
    temporary.replace(KEPT)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], help="the rooms to change; all unless some are named")
    parser.add_argument("--mutants", type=int, default=60, help="how many of each room are drawn (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="decides which are drawn (default: 0)")
    parser.add_argument(
        "--seconds", type=float, default=600, help="begin no further mutant of a room after so many processor seconds"
    )
    given = parser.parse_args()
    for room in given.rooms or ROOMS:
        search(room, given.mutants, given.seed, given.seconds)


if __name__ == "__main__":
    main()
