"""One file over HTTP: resumed when interrupted, checked, and moved to its place only when complete.

Ours rather than a library's: pooch cannot resume, so an error near the end of a file of seven gigabytes would start it
again; filelock leaves a lock file beside every download; requests would replace `urllib` but not the rules here: which
errors to retry, which redirects to refuse, which part of which version was sent.

The bytes received so far are in ``.NAME.part`` beside the file; ``.NAME.part.json`` records the version they belong to.
They are resumed only with bytes that the server says are of the same version, or if a checksum would reveal a mixture.
The part is locked while it is written, so that a second download of the same file waits for the first and uses it.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from fipp._progress import Progress, Steps
from fipp._version import __version__
from fipp.exceptions import FippError
from fipp.io import explain_failure, flush_to_disk, is_same_file, lock

ATTEMPTS = 4
"""How many times in a row a connection may fail without a byte gained."""

PAUSE = 1.0
"""Seconds before the second attempt, doubled for each further one."""

LARGEST = 64 << 30
"""The most bytes that a file may have, unless its size is known or the user says otherwise."""

SLOWEST = 1000
"""Bytes per second below which a transfer is given up; measured over `ATTEMPTS` timeouts."""

_BLOCK = 1 << 18
_DIGITS = "[0-9]{1,18}"
_TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}
_ADVICE = "make room or choose another folder with --output"


def fetch(
    url: str,
    target: Path,
    *,
    checksum: str | None = None,
    timeout: float = 30.0,
    largest: int = LARGEST,
    replace: bool = False,
    progress: Progress | None = None,
) -> None:
    """Download ``url`` to ``target``; afterwards the file is complete and has the checksum, or does not exist.

    The folder must exist. An existing file is kept unless ``replace``. ``checksum`` is such as ``"sha256:e3b0…"``;
    ``timeout`` is the number of seconds without a byte after which a connection is considered lost. A file of more than
    ``largest`` bytes is refused, and so is a body that is longer than announced.
    """
    target = Path(os.path.realpath(target))  # keep a symbolic link
    part = target.with_name(f".{target.name}.part")
    with explain_failure(target, _ADVICE), _own(part, target, replace) as file:
        if file is None:
            return
        transfer = _Transfer(url, part, file, timeout, largest, checksum is not None, progress)
        transfer.run()
        if checksum is not None:
            _check(url, part, checksum, transfer)
        flush_to_disk(part)
        transfer.forget()
        if os.name == "nt":
            file.close()  # Windows cannot move an open file
        os.replace(part, target)


def has_checksum(path: Path, checksum: str) -> bool:
    """Return whether a file has a checksum such as ``"sha256:e3b0…"``."""
    return checksum_of(path, checksum.partition(":")[0]) == checksum.lower()


def checksum_of(path: Path, algorithm: str = "sha256") -> str:
    """Return the checksum of a file, such as ``"sha256:e3b0…"``."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False))
    return f"{algorithm}:{digest.hexdigest()}"


def _check(url: str, part: Path, checksum: str, transfer: _Transfer) -> None:
    found = checksum_of(part, checksum.partition(":")[0])
    if found != checksum.lower():
        transfer.restart()  # an empty part is removed
        raise FippError(
            f"{url} has the checksum {found} instead of {checksum} and was not kept: it was damaged on the way, or "
            "the file has changed. Try again; if that does not help and you trust the file, --no-verify accepts it"
        )


@dataclass
class _Transfer:
    """Completes the bytes of a part, over as many connections as it takes."""

    url: str
    part: Path
    file: BinaryIO
    timeout: float
    largest: int
    can_be_checked: bool
    progress: Progress | None

    def run(self) -> None:
        """Receive all missing bytes; raise a FippError if that is not possible."""
        failures, most = 0, self._size()
        self._since, self._received = time.monotonic(), 0
        while True:
            try:
                self._attempt()
                return
            except Cut as cut:
                if isinstance(cut, NoSuchPart):
                    self.restart()
                # Reaching the same size again is no progress; otherwise a broken server would be asked for ever.
                failures = 1 if self._size() > most else failures + 1
                most = max(most, self._size())
                if failures >= ATTEMPTS:
                    raise FippError(
                        f"{self.url}: {cut}, {failures} times in a row. The bytes received are kept, and the same "
                        "command resumes from there; a longer --timeout or a mirror (FIPP_MIRROR) may help"
                    ) from cut
                time.sleep(PAUSE * 2 ** (failures - 1))

    def forget(self) -> None:
        """Remove the notes about the part."""
        self._notes.unlink(missing_ok=True)

    @property
    def _notes(self) -> Path:
        return self.part.with_name(self.part.name + ".json")

    def _size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def _attempt(self) -> None:
        start, version, total = self._state()
        if total is not None and start == total:
            return
        with open_url(self.url, start, version, self.timeout) as answer:
            if start and (answer.start, answer.total, answer.version) != (start, total, version):
                # The server cannot resume, or the file has changed.
                start = 0
            if answer.start != start:
                self.restart()
                raise Cut("the server sent another part or another version than requested")
            if not (answer.has_known_end or self.can_be_checked):
                raise FippError(
                    f"{self.url}: the server does not say how long the file is, so an incomplete download could not be "
                    "detected; download it by other means"
                )
            self._check_size(answer.total or 0)
            self.file.truncate(start)
            self.file.seek(start)
            self._note(answer)
            self._ensure_room(answer.total, start)
            done = self._receive(answer, start)
        if answer.total is not None and done < answer.total:
            raise Cut(f"the connection ended after {done:,} of {answer.total:,} bytes")

    def _receive(self, answer: Answer, done: int) -> int:
        steps = Steps(self.progress if answer.total else None, answer.total or 0)
        steps(done)
        try:
            for block in answer.blocks(_BLOCK):
                self._check_length(steps.done + len(block), answer.total)
                self.file.write(block)
                steps(len(block))
                self._check_pace(len(block))
        except Cut:
            if steps.done != answer.total:  # everything is here; the server only did not hang up
                raise
        finally:
            self.file.flush()
        return steps.done

    def _check_length(self, done: int, total: int | None) -> None:
        """Refuse more bytes than announced: the file or what was said of it is wrong."""
        self._check_size(done)
        if total is not None and done > total:
            self.restart()
            raise FippError(
                f"{self.url}: the server sends more than the {total:,} bytes that it announced, and the file was not "
                "kept; try again later, or use a mirror (FIPP_MIRROR)"
            )

    def _check_size(self, size: int) -> None:
        if size > self.largest:
            self.restart()
            raise FippError(
                f"{self.url} has more than the {self.largest:,} bytes that were expected at most, and was not kept; if "
                "that is right, allow more with --max-size"
            )

    def _check_pace(self, count: int) -> None:
        """End a transfer that would never end because the server sends a few bytes at a time."""
        self._received += count
        seconds = time.monotonic() - self._since
        if seconds < ATTEMPTS * self.timeout:
            return
        if self._received < SLOWEST * seconds:
            raise FippError(
                f"{self.url}: the server sent only {self._received:,} bytes in {seconds:.0f} seconds. The bytes "
                "received are kept, and the same command resumes from there; a longer --timeout or a mirror "
                "(FIPP_MIRROR) may help"
            )
        self._since, self._received = time.monotonic(), 0

    def _state(self) -> tuple[int, str | None, int | None]:
        """Return the size of the part, its version and the total size; drop a part that cannot be resumed."""
        try:
            notes = json.loads(self._notes.read_text(encoding="utf-8"))
            url, version, total = notes["url"], notes["version"], notes["total"]
        except (OSError, ValueError, KeyError, TypeError):
            url = None
        # Without a version, only a checksum would reveal that halves of two files were joined.
        known = url == self.url and isinstance(total, int) and (isinstance(version, str) or self.can_be_checked)
        if not known or self._size() > total:
            self.restart()
            return 0, None, None
        return self._size(), version, total

    def restart(self) -> None:
        """Drop the bytes received so far."""
        self.file.truncate(0)
        self.forget()

    def _note(self, answer: Answer) -> None:
        notes = {"url": self.url, "version": answer.version, "total": answer.total}
        self.forget()  # what is there may be a link to another file
        self._notes.write_text(json.dumps(notes), encoding="utf-8")

    def _ensure_room(self, total: int | None, done: int) -> None:
        free = shutil.disk_usage(self.part.parent).free
        if total is not None and total - done > free:
            raise FippError(
                f"{self.url} needs {(total - done) / 1e9:.1f} GB more, but {self.part.parent} has room for "
                f"{free / 1e9:.1f} GB; choose another folder with --output"
            )


@contextmanager
def _own(part: Path, target: Path, replace: bool) -> Iterator[BinaryIO | None]:
    """Yield the part, open and locked; None if the file exists, perhaps because another download just finished it."""
    while True:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        with os.fdopen(descriptor, "r+b", buffering=_BLOCK) as file:
            lock(descriptor, wait=True)
            if is_same_file(descriptor, part):
                try:
                    yield None if target.exists() and not replace else file
                finally:
                    if not file.closed and is_same_file(descriptor, part) and os.fstat(descriptor).st_size == 0:
                        _remove(part, file)
                return
        if target.exists():  # the other download has moved the part there
            yield None
            return


def _remove(part: Path, file: BinaryIO) -> None:
    if os.name == "nt":
        file.close()  # Windows cannot remove an open file
    with suppress(OSError):
        part.unlink()


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
        self.version = _version(headers)

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the bytes as they arrive until the server hangs up, also those after the end that it announced."""
        self._response.length = None
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


def _version(headers: Any) -> str | None:
    """Return what identifies the very bytes of a file, as `If-Range` accepts it; None if nothing does."""
    etag = headers.get("ETag", "")
    if etag.startswith('"'):  # a weak tag promises an equivalent file, not the same bytes
        return str(etag)
    changed, now = headers.get("Last-Modified"), headers.get("Date")
    with suppress(TypeError, ValueError):
        # A file that was changed within the last second may change again within the same second.
        if parsedate_to_datetime(now) - parsedate_to_datetime(changed) > timedelta(seconds=1):
            return str(changed)
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(_DIGITS, text.strip()) else None
