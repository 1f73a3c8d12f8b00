"""The documentation is true: its code and its commands run, its links lead somewhere."""

import io
import os
import re
import shutil
import tomllib
from contextlib import redirect_stdout
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from typer.main import get_command
from typer.testing import CliRunner

import fipp
from documentation import PAGES, ROOT, blocks, prepare, small_demo
from fipp.cli import app
from postgres import postgres

NOT_RUN = {
    "pip *": "it would change this environment; the extras are looked up",
    "make *": "it would change this environment; targets and benchmarks are looked up",
    "python *": "test_examples.py and test_results.py run the scripts; that they exist is looked up",
    "curl *": "no server is running; tests/explore ask for these addresses",
    "fipp explore *": "it serves until Ctrl-C; tests/explore run it",
    "fipp download [!-]*": "it needs a network",
    "fipp align data/*": "its vectors are gigabytes from the network",
    "fipp reproduce documents *": "the corpus is not public; tests/cli/test_cli_reproduce.py has a small one",
    "fipp reproduce inference *": "the corpora need a network; tests/cli/test_cli_reproduce.py has small ones",
    "fipp reproduce xling vectors/ xling/*": "it runs for hours; tests/cli/test_cli_reproduce_xling.py has small data",
    "fipp migrate * *://*": "it needs a database; tests/migrate start PostgreSQL and a local Qdrant",
    "* --dask tcp:*": "it needs a cluster; tests/test_cluster.py starts one",
    "FIPP_DEVICE=cuda *": "it needs a GPU",
}
"""Commands that are not run, as patterns, and the reasons. Their options are checked all the same."""

SHORTER = {
    "fipp compare *": ["--methods", "procrustes,spectral"],
    "fipp reproduce words *": ["--methods", "procrustes"],
    "fipp reproduce xling vectors/ dictionaries/*": ["--tables", "main", "--methods", "procrustes,fipp"],
    "fipp migrate demo old/": ["--items", "2500"],
    "fipp migrate sample *": ["-n", "1000"],
}
"""What is added to commands that would take long."""


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """The files that pages name."""
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder


@pytest.fixture(scope="session")
def database():
    with postgres() as place:
        yield place


@pytest.fixture
def shell(tmp_path, prepared, monkeypatch):
    """A terminal in a folder with these files; the demo is small."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fipp.datasets, "load_demo", small_demo)
    with threadpool_limits(1):
        yield Shell(tmp_path, monkeypatch)


class Shell:
    """What a reader types, done in this process."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.monkeypatch, self.printed = folder, monkeypatch, ""
        self.unused = {path.name for path in folder.iterdir()}

    def run(self, command):
        """Run a command, or check what can be checked of one that is not run."""
        check = {"fipp": parse, "pip": look_up_extras, "make": look_up_target, "python": look_up_script}
        program, *arguments = command.words
        if program in check:
            check[program](arguments)
        if program == "ln":
            os.symlink(*arguments[1:])
        elif not any(fnmatchcase(command.line, pattern) for pattern in NOT_RUN):
            assert program == "fipp", f"say in NOT_RUN why this is not run: {command.line}"
            self._fipp(command, arguments)

    def _fipp(self, command, arguments):
        for option, output in pairwise(arguments):
            if option in ("-o", "--output", "--rest") and output in self.unused:
                self.unused.remove(output)
                (self.folder / output).unlink()  # the reader has no such file yet
        arguments += [each for pattern, more in SHORTER.items() if fnmatchcase(command.line, pattern) for each in more]
        with self.monkeypatch.context() as patch:
            for name, value in command.variables.items():
                patch.setenv(name, value)
            done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{command.line}\n{done.output}"
        self.printed += done.output
        if command.redirected:
            (self.folder / command.redirected).write_text(done.stdout, encoding="utf-8")

    def python(self, block, page, request):
        """Run a block of Python by itself."""
        if "DATABASE_URL" in block.text:
            self.monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database"))
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * block.line + block.text, page, "exec"), {})
        self.printed += printed.getvalue()

    def look_for(self, block):
        """Check that every line was printed before, but for its figures and the spaces between them."""
        seen = figures_aside(self.printed)
        for line in block.text.splitlines():
            assert figures_aside(line) in seen or "…" in line, f"not printed: {line}"


def figures_aside(text):
    return re.sub(r"\s+", " ", re.sub(r"[-+]?[\d.,]*\d", "0", text)).strip()


def parse(arguments):
    """Check that a command exists and has these options."""
    group, context = get_command(app), None
    while hasattr(group, "commands") and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        context = group.make_context(name, [name, *arguments], parent=context, resilient_parsing=True)
        group = group.commands[name]
    if "--list" not in arguments:
        group.make_context("fipp", list(arguments), parent=context)


def look_up_extras(arguments):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for extra in re.findall(r"\[(.*?)\]", " ".join(arguments)):
        assert set(extra.split(",")) <= set(settings["project"]["optional-dependencies"])


def look_up_target(arguments):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in arguments:
        name, _, value = word.partition("=")
        if value:
            assert re.search(rf"\$\({name}\)|^{name} \?=", makefile, re.MULTILINE), word
        else:
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), word
        if name == "RUN":
            assert all(
                (ROOT / "benchmarks" / f"{each}.py").exists() for each in value.split() if each not in ("1", "all")
            )


def look_up_script(arguments):
    assert (ROOT / arguments[0]).is_file()


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if blocks(page)])
@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
def test_every_block_of_a_page_runs(name, shell, request):
    for block in blocks(PAGES[name]):
        if block.kind == "python" and not block.missing:
            shell.python(block, name, request)
        elif block.kind == "commands":
            for command in block.commands():
                shell.run(command)
        elif block.kind == "text":
            shell.look_for(block)


def test_every_reason_for_not_running_a_command_is_needed():
    used = [
        each.line
        for page in PAGES.values()
        for block in blocks(page)
        if block.kind == "commands"
        for each in block.commands()
    ]
    assert [pattern for pattern in {**NOT_RUN, **SHORTER} if not any(fnmatchcase(line, pattern) for line in used)] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_link_to_a_file_leads_somewhere(name):
    prose = re.sub(r"^```.*?^```", "", PAGES[name].read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
        # The reference is written when the site is built, which checks links too.
        assert (PAGES[name].parent / link).exists() or "reference/" in link, f"{name} links to {link}"


def test_the_page_for_documents_does_not_speak_of_words():
    assert not re.search(r"\bwords?\b", PAGES["docs/tutorials/models.md"].read_text(encoding="utf-8"), re.IGNORECASE)


def test_the_tests_that_the_page_of_promises_names_exist():
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 10 and [name for name in named if not (ROOT / name).is_file()] == []


def test_the_code_that_the_page_of_the_mathematics_names_exists():
    X = np.random.default_rng(0).standard_normal((60, 4))
    fitted = fipp.FIPP(solver="sgd", n_steps=2, self_learning=5).fit(X, X[:, :3], [(i, i) for i in range(30)])
    rooms = {name: import_module(f"fipp.{name}") for name in ("linalg", "preprocess", "retrieve", "evaluate")}
    rooms |= {name: import_module(f"fipp.aligners.{name}") for name in ("_solvers", "_appendix_c", "_fipp_reference")}
    rooms |= {
        "FIPP": fitted,
        "Alignment": fipp.Alignment,
        "Vectors": fipp.Vectors(["a"], [[1.0]]),
        "Lexicon": fipp.Lexicon([]),
    }
    page = PAGES["docs/mathematics.md"].read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)\.(\w+)`", page))
    assert len(named) > 50
    assert [f"{room}.{name}" for room, name in sorted(named) if room != "fipp" and not hasattr(rooms[room], name)] == []
    assert {name for room, name in named if room == "FIPP"} > {
        f"{name}_" for name in ("map", "kept_fraction", "weights", "pairs")
    }
