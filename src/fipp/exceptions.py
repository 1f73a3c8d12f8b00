"""Errors and warnings with messages that a person can act on."""

import sys
import warnings

from fipp._printable import printable


class FippError(ValueError):
    """A mistake in the user's input: a file, a setting, or two inputs that do not fit.

    The message says what was wrong, where, and what to do. The command line prints it without a traceback and exits
    with 2.

    Examples
    --------
    >>> raise FippError("no pair of the dictionary was found in both vocabularies")
    Traceback (most recent call last):
    fipp.exceptions.FippError: no pair of the dictionary was found in both vocabularies
    """

    def __str__(self) -> str:
        # Messages quote words and names of files, and tracebacks print them.
        return printable(super().__str__(), lines=True)


class FippWarning(UserWarning):
    """Something that the user should know although there is a result, for example fewer pairs than dimensions."""


def warn(message: str) -> None:
    """Issue a `FippWarning` for the line outside of fipp that led here."""
    level, frame = 2, sys._getframe(1)
    # Decorators of fipp's functions come from contextlib.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("fipp.", "contextlib")):
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(message, lines=True), FippWarning, stacklevel=level)
