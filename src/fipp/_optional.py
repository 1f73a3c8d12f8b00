"""Optional packages, which are imported only when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fipp.exceptions import FippError

_PACKAGES = {
    "ot": "POT", "faiss": "faiss-cpu", "babel": "Babel", "backports": "backports.zstd", "lance": "pylance",
    "qdrant_client": "qdrant-client",
}  # fmt: skip
"""Names of packages that differ from the names of their modules."""


def require(module: str, purpose: str, *, extra: str | None = None) -> Any:
    """Return a module, or say what needs it and how to install it, by itself or by an extra of fipp.

    Examples
    --------
    >>> require("no_such_module", "drawing", extra="plot")
    Traceback (most recent call last):
    ...
    fipp.exceptions.FippError: drawing needs the package no_such_module: pip install 'fipp[plot]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = _PACKAGES.get(module.partition(".")[0], module.partition(".")[0])
        how = f"'fipp[{extra}]'" if extra else package
        raise FippError(f"{purpose} needs the package {package}: pip install {how}") from error
