"""Write every table and figure of the documentation from the records in docs/results/data.

    python benchmarks/results.py                        # render all pages and figures
    python benchmarks/results.py --check                # only report what would change, like the tests
    python benchmarks/results.py --run all              # first measure what the current code has not measured
    python benchmarks/results.py --run auto compare     # … only these benchmarks

In a page, tables and single figures are enclosed in comments. A single figure must not start a line, because GitHub
would then treat the whole line as HTML:

    <!-- results: accuracy.table() -->
    <!-- end of results -->

    a mean of <!-- = accuracy.mean("FIPP") -->.406<!-- /= -->

Both call a function of a benchmark with text or numbers as arguments.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from _benchmark import ROOT
from _tables import count, table

IMAGES = ROOT / "docs" / "images"
DIGESTS = IMAGES / "digests.json"
BLOCK = re.compile(r"(<!-- results: ([^>\n]+?) -->\n).*?(<!-- end of results -->)", re.DOTALL)
INLINE = re.compile(r"(<!-- = ([^>\n]+?) -->).*?(<!-- /= -->)")
AT_LINE_START = re.compile(r"^[ \t]*<!-- = .*", re.MULTILINE)
CALL = re.compile(r"(\w+)\.(\w+)\((.*)\)", re.DOTALL)
FIGURE_IN_TABLE = re.compile(r"^\|.*\d.*", re.MULTILINE)


@cache
def modules():
    """Return the benchmarks, and the other modules that pages may call, by name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return {name: import_module(name) for name in names if name != "results"}


def benchmarks():
    return {name: module.benchmark for name, module in modules().items() if hasattr(module, "benchmark")}


def figures():
    return {figure.name: figure for module in modules().values() for figure in getattr(module, "FIGURES", ())}


def pages():
    """Return the pages that may contain results."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return top + sorted((ROOT / "docs").rglob("*.md"))


def rendered(text):
    """Return the text of a page with all results rendered again."""
    if misplaced := AT_LINE_START.search(text):
        raise ValueError(f"a figure starts a line, which GitHub would treat as HTML: {misplaced[0]}")
    text = BLOCK.sub(lambda found: f"{found[1]}\n{_called(found[2])}\n\n{found[3]}", text)
    return INLINE.sub(lambda found: f"{found[1]}{_called(found[2])}{found[3]}", text)


def outside(text):
    """Return the table rows with figures that are not rendered by a command."""
    return FIGURE_IN_TABLE.findall(BLOCK.sub("", text))


def plan_table():
    """Return all benchmarks with their numbers of records and minutes."""
    rows = [
        [f"`{name}`", module.__doc__.splitlines()[0], count(len(module.benchmark.plan)), module.benchmark.minutes]
        for name, module in modules().items()
        if hasattr(module, "benchmark")
    ]
    return table(["name", "content", "records", "minutes"], rows)


def changes():
    """Return what differs from the records: the new text of pages by path, and the figures to draw."""
    texts = {path: path.read_text(encoding="utf-8") for path in pages()}
    new = {path: rendered(text) for path, text in texts.items()}
    drawn = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    return {path: text for path, text in new.items() if text != texts[path]}, [
        figure
        for figure in figures().values()
        if figure.data() is not None
        and (drawn.get(figure.name) != figure.digest() or not (IMAGES / figure.name).exists())
    ]


def render():
    """Write the pages and draw the figures that differ from the records."""
    changed, undrawn = changes()
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    for figure in undrawn:
        figure.draw(figure.data(), IMAGES / figure.name)
    drawn = {name: figure.digest() for name, figure in sorted(figures().items()) if figure.data() is not None}
    DIGESTS.write_text(json.dumps(drawn, indent=1) + "\n")
    return [*changed, *(IMAGES / figure.name for figure in undrawn)]


def run(names, again):
    """Run benchmarks one after the other, each in its own process, and return the number of failures."""
    unknown = [name for name in names if name not in benchmarks()]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}; the benchmarks are {', '.join(benchmarks())}")
    script = Path(__file__).parent
    commands = [[sys.executable, str(script / f"{name}.py"), *(["--again"] if again else [])] for name in names]
    return sum(subprocess.run(command).returncode != 0 for command in commands)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would change")
    parser.add_argument("--run", nargs="+", metavar="NAME", default=[], help="first run these benchmarks, or all")
    parser.add_argument("--again", action="store_true", help="measure again what the current code has measured")
    given = parser.parse_args()
    names = list(benchmarks()) if given.run == ["all"] else given.run
    failed = run(names, given.again)
    for benchmark in benchmarks().values():
        vars(benchmark).pop("records", None)  # other processes have written new records
    if given.check:
        changed, undrawn = changes()
        found = [*changed, *(IMAGES / figure.name for figure in undrawn)]
    else:
        found = render()
    for path in found:
        print(f"{'differs from its records' if given.check else 'written'}: {path.relative_to(ROOT)}")
    sys.exit(min(failed + given.check * len(found), 1))


def _called(expression):
    """Call the function that a page names."""
    found = CALL.fullmatch(expression)
    if not found:
        raise ValueError(f'{expression!r} is not a call such as accuracy.mean("FIPP")')
    name, function, arguments = found.groups()
    module = sys.modules[__name__] if name == "results" else modules()[name]
    return getattr(module, function)(*(ast.literal_eval(f"({arguments},)") if arguments else ()))


if __name__ == "__main__":
    main()
