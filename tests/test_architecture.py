"""The house has one direction: rooms import rooms above them, through their doors, and never in a circle."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "fipp"
PAGE = ROOT / "ARCHITECTURE.md"
MAP = re.compile(r"    src/fipp/\n((?: {6,}.*\n)+)")

ROOMS = (
    "_version", "_printable", "exceptions", "_optional", "_progress", "_progress_bar", "_deadline", "_compiled",
    "linalg", "cluster", "_validation", "preprocess", "retrieve", "io", "stores", "aligners", "evaluate", "_inputs",
    "_probe", "_alignment", "_align", "_hub", "migrate", "experiments", "tasks", "reproduce", "report", "explore",
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


def test_the_map_of_the_house_has_every_module_with_the_first_line_of_its_docstring():
    assert MAP.search(PAGE.read_text(encoding="utf-8"))[1] == house(), "run `python tests/test_architecture.py`"


def house():
    """Return the map: rooms from the top of the house to the bottom, their modules in the order of their imports."""
    graph = {module: sorted({imported for imported, _ in imports(module)} - {"fipp"}) for module in sorted(modules())}
    order = list(TopologicalSorter(graph).static_order())
    lines = []

    def show(module, depth):
        path = modules()[module]
        is_folder = path.name == "__init__.py"
        name = path.parent.name + "/" if is_folder else path.name
        what = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0].removesuffix(".")
        lines.append(f"{' ' * (6 + 2 * depth)}{name:<{22 - 2 * depth}} {what}\n")
        inside = [other for other in order if other.rpartition(".")[0] == module]
        for other in sorted(inside, key=lambda other: modules()[other].name == "__init__.py") if is_folder else ():
            show(other, depth + 1)

    for each in ROOMS:
        show(f"fipp.{each}", 0)
    return "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(MAP.sub(lambda found: "    src/fipp/\n" + house(), PAGE.read_text("utf-8")), encoding="utf-8")
