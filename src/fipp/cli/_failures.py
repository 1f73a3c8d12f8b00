"""What a person sees when a command fails, is interrupted or warns: one line, and never a traceback.

Defects of fipp itself are not dressed up: whatever no user can cause keeps its traceback.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from fipp.cli import _console
from fipp.exceptions import FippError, FippWarning

MISTAKE = 2
"""Exit code when something was wrong with what the user gave."""

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells have it."""


@contextmanager
def readable_failures() -> Iterator[None]:
    """Turn failures into a line on standard error and an exit code, and warnings into lines."""
    _console.written.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", FippWarning)
            warnings.showwarning = _show_warning
            yield
    except KeyboardInterrupt:
        written = ", ".join(map(str, _console.written))
        _console.say(f"interrupted; {written or 'nothing'} was written")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # `fipp … | head` is no mistake; typer ends quietly
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        _console.say(f"error: {message}", style="bold red")
        raise typer.Exit(MISTAKE) from None


def _message(error: Exception) -> str | None:
    """Say what went wrong, or None if it cannot be the user's doing."""
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"{error.filename}: "
        return f"{name}{error.strerror or error}"
    if isinstance(error, UnicodeDecodeError):
        return f"this is not UTF-8 text: {error.reason} at byte {error.start}"
    if isinstance(error, MemoryError):
        return f"the memory does not suffice{f' ({error})' if str(error) else ''}: take fewer words with --limit"
    if isinstance(error, FippError) or _is_of_a_setting(error):
        return " ".join(str(error).split())
    return None


def _is_of_a_setting(error: Exception) -> bool:
    # Looked up, not imported: scikit-learn takes a second to load, and `fipp align --help` comes through here too.
    validation = sys.modules.get("sklearn.utils._param_validation")
    return validation is not None and isinstance(error, validation.InvalidParameterError)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _console.warn(" ".join(str(message).split()))
