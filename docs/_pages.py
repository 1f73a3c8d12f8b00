"""Pages of the site that are not kept in docs/: the reference, which is generated, and the pages at the top."""

import html
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
TOP = ("SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
ROOMS = (
    "migrate",
    "retrieve",
    "evaluate",
    "cluster",
    "preprocess",
    "experiments",
    "report",
    "datasets",
    "tasks",
    "reproduce",
    "io",
)
MARKUP = re.compile(r"\[bold\](.*?)\[/bold\]|<span style=\"font-weight: bold\">(.*?)</span>")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    made = {"reference/cli.md": commands(), "reference/api.md": names()}
    made |= {name: inside((ROOT / name).read_text(encoding="utf-8")) for name in TOP}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to the pages at the top lead to their places in the site."""
    return re.sub(rf"\]\(\.\./({'|'.join(map(re.escape, TOP))})", r"](\1", markdown)


def commands() -> str:
    """Return the reference of all commands, by typer, with markup for terminals as Markdown."""
    command = [sys.executable, "-m", "typer", "fipp.cli", "utils", "docs", "--name", "fipp", "--title", "Commands"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return html.unescape(MARKUP.sub(lambda found: f"`{found[1] or found[2]}`", told)).replace("\\[", "[")


def names() -> str:
    """Return a page with everything public, each name once: those of `fipp` first, then room by room."""
    parts, seen = ["# Python\n"], set()
    for room in ("fipp", *(f"fipp.{name}" for name in ROOMS)):
        module = import_module(room)
        public = [name for name in module.__all__ if not _is_module(getattr(module, name))]
        fresh = [name for name in public if id(getattr(module, name)) not in seen]
        seen |= {id(getattr(module, name)) for name in fresh}
        if fresh:
            parts.append(f"## `{room}`\n\n{(module.__doc__ or '').strip()}\n")
            parts += [f"::: {room}.{name}\n    options: {{ heading_level: 3 }}\n" for name in fresh]
    return "\n".join(parts)


def inside(text: str) -> str:
    """Return a page of the top with links as seen from the site; what is not in it is named without a link."""
    text = text.replace("](docs/", "](")
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)([^)]*)\)", lambda found: _kept(found[0], found[1], found[2]), text)


def _kept(link: str, label: str, path: str) -> str:
    page = path.partition("#")[0]
    return link if page in TOP or (ROOT / "docs" / page).exists() else label


def _is_module(value: object) -> bool:
    return type(value).__name__ == "module"
