"""The documentation builds as a site without a warning, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="needs fipp[docs]")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: it hides warnings from --strict, too.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_of_the_menu_is_built(site):
    wanted = re.findall(r": ([\w/-]+)\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(wanted) > 20 and [name for name in wanted if not (site / f"{name}.html").is_file()] == []


def test_every_page_of_the_documentation_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f" {page}\n" not in menu] == []


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?:[^\"]+)", page.read_text(encoding="utf-8")
        )
        assert loaded == [], page


def test_the_reference_has_every_command_and_every_public_name(site):
    import fipp
    from fipp.cli import app

    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert "[bold]" not in commands
    assert [each for each in app.registered_commands if f"fipp {each.name}</code>" not in commands] == []
    names = (site / "reference" / "api.html").read_text(encoding="utf-8")
    assert [name for name in fipp.__all__ if name[0].isupper() and f'id="fipp.{name}"' not in names] == []
    assert "<math" in names and "math::" not in names and ":math:" not in names
