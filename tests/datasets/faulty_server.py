"""A server on this machine that can be told to behave badly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    """What a path answers, and which faults it has."""

    body: bytes = b""
    status: int = 200
    etag: str | None = '"1"'
    ranges: bool = True
    location: str | None = None
    cut_after: list[int] = field(default_factory=list)
    """Bytes after which the connections, one after the other, are cut; later ones are not."""

    always_cut_after: int | None = None
    claimed_length: int | None = None
    tells_length: bool = True
    chunked: bool = False
    first_statuses: list[int] = field(default_factory=list)
    silent_seconds: float = 0.0
    seconds_a_block: float = 0.0
    encoding: str | None = None
    last_modified: str | None = None
    ignores_if_range: bool = False
    extra: bytes = b""
    """Sent after the end that was announced."""

    endless: bool = False
    keeps_open: bool = False


class Server(ThreadingHTTPServer):
    """Answers by its pages, and remembers what was asked."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.conditions: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.stopping = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that go away are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append((self.path, asked))
        self.server.conditions.append(self.headers.get("If-Range"))
        page = self.server.pages.get(self.path, Page(status=404))
        self.server.stopping.wait(page.silent_seconds)
        status = page.first_statuses.pop(0) if page.first_statuses else page.status
        start = self._start(page, asked)
        if status != 200 or (start and start >= len(page.body)):
            self.send_response(status if status != 200 else 416)
            if page.location is not None:
                self.send_header("Location", page.location)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = page.body[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(page.body) - 1}/{len(page.body)}")
        if page.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif page.tells_length:
            length = page.claimed_length if page.claimed_length is not None else len(page.body)
            self.send_header("Content-Length", str(length - start))
        if page.etag:
            self.send_header("ETag", page.etag)
        if page.last_modified:
            self.send_header("Last-Modified", page.last_modified)
        if page.encoding:
            self.send_header("Content-Encoding", page.encoding)
        self.end_headers()
        cut = page.cut_after.pop(0) if page.cut_after else page.always_cut_after
        self._send(page, body if cut is None else body[:cut], whole=cut is None)

    def _start(self, page: Page, asked: str | None) -> int:
        valid = page.ignores_if_range or self.headers.get("If-Range") in {None, page.etag, page.last_modified}
        return int(asked.removeprefix("bytes=").removesuffix("-")) if asked and page.ranges and valid else 0

    def _send(self, page: Page, body: bytes, whole: bool) -> None:
        for first in range(0, len(body), 1000):
            block = body[first : first + 1000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block) if page.chunked else block)
            if page.seconds_a_block and self.server.stopping.wait(page.seconds_a_block):
                return
        while page.endless and not self.server.stopping.is_set():
            self.wfile.write(b"%x\r\n%s\r\n" % (4096, bytes(4096)) if page.chunked else bytes(4096))
        if page.chunked and whole:
            self.wfile.write(b"0\r\n\r\n")
        if whole:
            self.wfile.write(page.extra)
        if page.keeps_open:
            self.wfile.flush()
            self.server.stopping.wait(60)


def wait_until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Return when ``condition()`` is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.01)
