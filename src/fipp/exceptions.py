"""What can go wrong, said so that a person can act on it."""

import sys
import warnings


class FippError(ValueError):
    """A mistake in what the user gave: a file, a setting, a pair of inputs that do not fit.

    The message says what was wrong, where, and what to do. The command line prints it and exits with 2;
    it never shows a traceback for one of these.

    Examples
    --------
    >>> raise FippError("no pair of the dictionary was found in both vocabularies")
    Traceback (most recent call last):
    fipp.exceptions.FippError: no pair of the dictionary was found in both vocabularies
    """


class FippWarning(UserWarning):
    """Something the user should know although the result is defined, for example fewer pairs than dimensions."""


def warn(message: str) -> None:
    """Issue a `FippWarning` for the line outside of fipp that led here, however deep inside this is."""
    level, frame = 2, sys._getframe(1)
    # Decorators of fipp's functions come from contextlib.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("fipp.", "contextlib")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, FippWarning, stacklevel=level)
