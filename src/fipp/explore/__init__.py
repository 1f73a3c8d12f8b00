"""A local web page to explore and improve an alignment, and its JSON API: ``pip install 'fipp[explore]'``."""

from fipp.explore._app import make_app
from fipp.explore._server import serve
from fipp.explore._session import Session

__all__ = ["Session", "make_app", "serve"]
