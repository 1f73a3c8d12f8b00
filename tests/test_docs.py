"""The README is true: its code runs, its commands exist, its links lead somewhere."""

import os
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", PYTHON_BLOCKS)
def test_every_python_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "documentation", "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        # The reference is written when the site is built, which checks links too.
        assert (page.parent / link).exists() or link.startswith("reference/"), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/models.md"])
def test_a_collection_is_migrated_by_the_commands_of_the_page_as_they_stand(page, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    from typer.testing import CliRunner

    from fipp.cli import app

    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = [
        shlex.split(line, comments=True) for line in re.findall(r"^    ((?:fipp migrate|ln) .*)", text, re.MULTILINE)
    ]
    assert {words[2] for words in commands} >= {"demo", "sample", "probe", "fit", "convert", "verify"}
    said = ""
    for program, *arguments in commands:
        if program == "ln":
            os.symlink(*arguments[1:])
            continue
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        said += done.output
    assert "Convert the old vectors" in said and "All is right." in said
    assert not re.search(r"\bwords?\b", said), "nobody who migrates documents thinks of words"


def test_the_page_for_documents_does_not_speak_of_words():
    assert not re.search(r"\bwords?\b", (ROOT / "docs/tutorials/models.md").read_text(encoding="utf-8"), re.IGNORECASE)


def test_every_command_of_the_readme_exists():
    from typer.main import get_command

    from fipp.cli import app

    commands = set(get_command(app).commands)
    used = set(re.findall(r"^    fipp (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert used and used <= commands


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_tests_that_the_page_of_promises_names_exist():
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 10 and [name for name in named if not (ROOT / name).is_file()] == []
