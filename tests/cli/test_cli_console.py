"""Progress on a terminal, silence elsewhere."""

import io

import pytest
from rich.console import Console

from fipp.cli import _console


@pytest.fixture
def terminal(monkeypatch):
    """Make standard error a terminal of which we see what is written."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    monkeypatch.setattr(_console, "_console", lambda to_stderr: console)
    return screen


def test_a_terminal_shows_what_is_done_and_how_much_is_left(terminal):
    with _console.Reporter().progress("aligning") as progress:
        progress(1, 10)  # another pass begins afterwards
        progress(0, 4)
        progress(1, 4)
    assert "aligning" in terminal.getvalue() and "left" in terminal.getvalue()


def test_quiet_is_silent_even_on_a_terminal(terminal):
    report = _console.Reporter(quiet=True)
    with report.progress("aligning") as progress:
        progress(1, 4)
    report.note("a remark")
    assert terminal.getvalue() == ""


def test_without_a_terminal_there_is_no_bar(capsys):
    with _console.Reporter().progress("aligning") as progress:
        progress(1, 4)
    assert capsys.readouterr().err == ""


def test_words_are_shown_as_they_are(capsys):
    _console.say("[bold]x[/bold] :cat:")
    assert capsys.readouterr().err == "[bold]x[/bold] :cat:\n"
