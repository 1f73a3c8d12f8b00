"""The explorer's server: it listens, says where, and ends with Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.explore._app import make_app
from fipp.explore._guard import is_loopback, new_token
from fipp.explore._session import Session


def serve(
    session: Session,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[str], object] = lambda address: None,
) -> None:
    """Serve the explorer until it is interrupted.

    Parameters
    ----------
    session : Session
        What is explored; it is closed at the end.
    host : str
        The address to listen on. One that other machines can reach is served with a token, which is part of the
        address that ``ready`` gets.
    port : int
        The port; 0 takes a free one.
    ready : callable
        Called with the address to open, when it can be opened.
    """
    uvicorn = require("uvicorn", "fipp explore", extra="explore")
    token = None if is_loopback(host) else new_token()
    try:
        listening = _listen(host, port)
    except FippError:
        session.close()
        raise
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")
    app = make_app(session, host=host, token=token)
    settings = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, proxy_headers=False, timeout_graceful_shutdown=2
    )

    class Server(uvicorn.Server):  # type: ignore[name-defined]  # uvicorn is optional
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready(address)

    Server(settings).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port that is taken is noticed before anything is prepared."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(where)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise FippError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    return listening
