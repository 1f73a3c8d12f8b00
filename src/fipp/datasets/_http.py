"""A request for the rest of a file, and its answer.

Ours rather than requests': it would replace `urllib` but not the rules here, which errors to retry, which redirects to
refuse and which part of which version was sent, and it brings four packages.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from fipp._version import __version__
from fipp.exceptions import FippError

_DIGITS = "[0-9]{1,18}"
_TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}


class Cut(Exception):  # noqa: N818
    """The connection failed in a way that another attempt may fix."""


class NoSuchPart(Cut):
    """The file on the server is shorter than the part."""


class Answer:
    """An answer: its first byte, the total number of bytes if known, and the version of the file."""

    def __init__(self, response: Any) -> None:
        self._response = response
        headers = response.headers
        length = _number(headers.get("Content-Length"))
        self.start, self.total = 0, length
        if response.status == 206:
            match = re.fullmatch(
                rf"bytes ({_DIGITS})-{_DIGITS}/({_DIGITS}|\*)", headers.get("Content-Range", "").strip()
            )
            if match is None:
                raise Cut("the server sent a part and did not say which")
            self.start = int(match[1])
            self.total = _number(match[2]) if match[2] != "*" else None if length is None else self.start + length
        self.has_known_end = self.total is not None or headers.get("Transfer-Encoding", "").lower() == "chunked"
        etag = headers.get("ETag", "")
        # A weak tag promises an equivalent file, not the same bytes.
        self.version: str | None = etag if etag.startswith('"') else headers.get("Last-Modified")

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the bytes as they arrive; a short answer just ends."""
        with _cuts(self._response.url):
            while block := self._response.read1(size):
                yield block


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects to other protocols and from HTTPS to HTTP."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after not in {"http", "https"} or (before == "https" and after == "http"):
            raise FippError(
                f"{req.full_url} redirects to {newurl}, which is not safe to follow; nothing was downloaded"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def open_url(url: str, start: int, version: str | None, timeout: float) -> Iterator[Answer]:
    """Request a file from byte ``start`` on if it still has the given version, otherwise all of it."""
    headers = {"User-Agent": f"fipp/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if version is not None:
            headers["If-Range"] = version
    with _request(url, headers, timeout) as response:
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding != "identity" and not url.endswith(".gz"):  # for a .gz it says what the file is
            raise FippError(f"{url}: the server sends the file encoded as {encoding}, which was not requested")
        yield Answer(response)


def _request(url: str, headers: dict[str, str], timeout: float) -> Any:
    opener = urllib.request.build_opener(_SafeRedirects)
    try:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise FippError(f"{url!r} is not an address that begins with https:// or http://")
        with _cuts(url):
            return opener.open(urllib.request.Request(url, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            raise _refused(url, error.code, error.reason) from None
    except FippError:
        raise
    except (ValueError, http.client.InvalidURL) as error:  # brackets, ports and letters that no address can have
        raise FippError(f"{url!r} is not an address that can be opened: {error}") from None


@contextmanager
def _cuts(url: str) -> Iterator[None]:
    """Turn failures that may be temporary into `Cut`, and others into FippError."""
    try:
        yield
    except (urllib.error.HTTPError, http.client.InvalidURL):
        raise
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise FippError(f"{url}: the server's certificate is not valid ({reason.verify_message})") from None
        if isinstance(reason, socket.gaierror):
            raise FippError(
                f"{url}: the server's name could not be looked up; check the network, or set FIPP_MIRROR to a mirror"
            ) from None
        if isinstance(reason, TimeoutError):
            raise Cut("the server did not answer in time") from error
        if isinstance(reason, http.client.IncompleteRead):
            raise Cut("the connection was cut") from error
        raise Cut(f"the connection failed ({getattr(reason, 'strerror', None) or reason})") from error


def _refused(url: str, code: int, reason: str) -> Exception:
    if code in _TRY_AGAIN:
        return Cut(f"the server is in trouble ({code} {reason})")
    if code == 416:
        return NoSuchPart("the file on the server is shorter than what was received")
    if code in {404, 410}:
        return FippError(f"{url} does not exist ({code}): check the name; `fipp download --list` shows all addresses")
    return FippError(f"{url}: the server refused the request ({code} {reason})")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(_DIGITS, text.strip()) else None
