"""The command line. A command does nothing that the library does not offer.

Commands import the library only when they run, because that takes a second or more: ``fipp --help`` answers at once.
"""

from fipp.cli._app import app, main

__all__ = ["app", "main"]
