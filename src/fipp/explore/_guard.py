"""Who may ask: checks of the host, the origin and the token of every request, and headers that keep a page to itself.

The explorer listens on this machine alone unless another address is given. Even so, any page in the same browser could
send requests to it. A page of another site is recognised by its origin, which browsers always send with what changes
something. A site that gives its own name the address of this machine (DNS rebinding) is recognised by the host that the
browser believes to talk to. Other machines need the token.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = MutableMapping[str, Any]
App = Callable[..., Awaitable[None]]

COOKIE = "fipp-explore"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


class Guard:
    """An ASGI application in front of another one, which only requests that may pass reach.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    host : str
        The address that the server listens on.
    token : str, optional
        What every request must have: as ``Authorization: Bearer …``, or as the cookie that the first page sets when its
        address has ``?token=…``.
    """

    def __init__(self, app: App, host: str, token: str | None) -> None:
        self._app, self._token = app, token
        self._hosts = {"localhost", "127.0.0.1", "::1", host}
        self._any_address = not is_loopback(host)
        if self._any_address:
            self._hosts |= {socket.gethostname(), socket.getfqdn()}

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        reason = self._reason_to_refuse(scope, headers)
        if reason is not None:
            await _answer(send, 403, {"error": reason})
        elif self._token is not None and self._brings_token(scope):
            cookie = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, None, {"location": "/", "set-cookie": cookie})
        elif self._token is not None and not self._has_token(headers):
            await _answer(send, 403, {"error": "open the address that was printed when the explorer was started"})
        else:
            await self._app(scope, receive, _with_headers(send))

    def _reason_to_refuse(self, scope: Scope, headers: Mapping[str, str]) -> str | None:
        host = headers.get("host", "")
        if not self._is_own(host):
            return "this host is not served here: open the address that was printed when the explorer was started"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "requests from other pages are refused"
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope.get('scheme', 'http')}://{host}":
            return "requests from other pages are refused"
        return None

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in {each.lower() for each in self._hosts}:
            return True
        try:  # an address, unlike a name, cannot be given to another machine
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._any_address

    def _brings_token(self, scope: Scope) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        return scope["method"] == "GET" and scope["path"] == "/" and len(given) == 1 and self._is_token(given[0])

    def _has_token(self, headers: Mapping[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _is_token(self, given: str) -> bool:
        # The time that this takes does not show how much of the token is right.
        return hmac.compare_digest(given.encode("utf-8", "replace"), (self._token or "").encode())


def _with_headers(send: Any) -> Any:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *_encoded(HEADERS)]
        await send(message)

    return sending


async def _answer(send: Any, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
    body = b"" if content is None else json.dumps(content).encode()
    known = {"content-type": "application/json", "content-length": str(len(body)), **HEADERS, **(headers or {})}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(known)})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
