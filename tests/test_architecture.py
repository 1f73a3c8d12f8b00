"""The house has one direction: rooms import rooms above them, through their doors, and never in a circle."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "fipp"

ROOMS = (
    "_version", "exceptions", "_optional", "_progress", "_deadline", "linalg", "_validation", "preprocess", "retrieve",
    "io", "aligners", "evaluate", "_inputs", "_alignment", "_align", "experiments", "tasks", "reproduce", "report",
    "datasets", "cli", "__main__",
)  # fmt: skip
"""From the top of the house to the bottom, as ARCHITECTURE.md lists them. A room imports only rooms above it."""


@cache
def modules():
    """Return the path of every module by its dotted name."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(module):
    """Return (module, name) for all that a module imports from fipp, even in functions; types alone do not count."""
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names if alias.name.split(".")[0] == "fipp"]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            if (node.module or "").split(".")[0] == "fipp":
                found += [_resolved(node.module, alias.name) for alias in node.names]
    return tuple(found)


def _resolved(package, name):
    """Return the module that ``from package import name`` takes something from, and what; None is the module itself."""
    return (f"{package}.{name}", None) if f"{package}.{name}" in modules() else (package, name)


def room(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "fipp"


def between():
    """Yield (module, room, imported module, name, its room) for imports between rooms."""
    for module in modules():
        for imported, name in imports(module):
            if room(module) != room(imported):
                yield module, room(module), imported, name, room(imported)


def test_every_module_has_a_room():
    assert {room(module) for module in modules()} - {"fipp"} == set(ROOMS)


def allowed(own, other):
    """Return whether one room may import another; commands, the last room, may also ask for what users see."""
    if other == "fipp":
        return own in ("cli", "__main__")
    return own == "fipp" or ROOMS.index(other) < ROOMS.index(own)


def test_rooms_import_only_rooms_above_them():
    backwards = [
        f"{module} imports {imported}" for module, own, imported, _, other in between() if not allowed(own, other)
    ]
    assert not backwards


def test_no_module_is_imported_in_a_circle():
    graph = {}
    for module in modules():
        needed = {imported for imported, _ in imports(module)} - {"fipp", module}
        # A module of a room is imported after its door has been opened, and must not ask for what is behind it.
        graph[module] = needed
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_nothing_private_crosses_a_door():
    crossed = [
        f"{module} takes {name or 'all'} from {imported}"
        for module, _, imported, name, other in between()
        if "._" in imported.removeprefix(f"fipp.{other}") or ((name or "").startswith("_") and name != "__version__")
    ]
    assert not crossed


def test_every_module_is_in_the_architecture():
    """A line of the map lists a module by its path inside its room; rooms stand with less before them."""
    listed, folders = set(), []
    for indent, name in re.findall(
        r"^( {6,})(\w+(?:\.py|/))(?= )", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.M
    ):
        depth = (len(indent) - 6) // 2
        folders = [*folders[:depth], name.removesuffix("/")]
        if name.endswith(".py"):
            listed.add("/".join(folders))
    there = {path.relative_to(SOURCE).as_posix() for path in modules().values() if path.name != "__init__.py"}
    assert listed == there - {"__main__.py", "_version.py"}
