"""The command line: one module for each command, nothing in them that the library does not offer.

Only the commands load the library, which takes a second or more; ``fipp --help`` answers without it.
"""

from fipp.cli._app import app, main

__all__ = ["app", "main"]
