"""One file from a server, whatever the server does."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import socket
import sys
import threading
import urllib.request
from dataclasses import replace

import pytest
from faulty_server import Page, wait_until

from fipp.datasets import _fetch
from fipp.datasets._fetch import fetch
from fipp.exceptions import FippError

BODY = random.Random(0).randbytes(50_000)
SHA256 = "sha256:" + hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "x.bin"


def ranges(server):
    return [asked for _, asked in server.asked]


def names(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("checksum", [None, SHA256, SHA256.upper().replace("SHA256", "sha256")])
def test_a_file_arrives_whole_and_alone(server, target, checksum):
    server.pages["/x"] = Page(BODY)
    told = []
    fetch(f"{server.url}/x", target, checksum=checksum, progress=lambda *step: told.append(step))
    assert target.read_bytes() == BODY
    assert names(target.parent) == ["x.bin"]
    assert told[-1] == (len(BODY), len(BODY)) and [done for done, _ in told] == sorted(done for done, _ in told)


def test_an_empty_file_is_a_file(server, target):
    server.pages["/x"] = Page(b"")
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == b"" and names(target.parent) == ["x.bin"]


def test_a_chunked_answer_arrives_whole(server, target):
    server.pages["/x"] = Page(BODY, chunked=True)
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY


def test_cut_connections_are_resumed_where_they_were_cut(server, target):
    server.pages["/x"] = Page(BODY, cut_after=[10_000, 5_000])
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY
    assert ranges(server) == [None, "bytes=10000-", "bytes=15000-"]


def test_many_cuts_do_no_harm_as_long_as_bytes_come(server, target):
    server.pages["/x"] = Page(BODY, always_cut_after=4_000)
    fetch(f"{server.url}/x", target, checksum=SHA256)
    assert target.read_bytes() == BODY


def test_a_server_that_cannot_resume_is_asked_for_the_whole_again(server, target):
    server.pages["/x"] = Page(BODY, ranges=False, cut_after=[10_000, 20_000])
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY


def test_without_a_version_halves_are_put_together_only_if_a_checksum_tells(server, target):
    server.pages["/x"] = Page(BODY, etag=None, cut_after=[10_000])
    fetch(f"{server.url}/x", target)
    assert ranges(server) == [None, None] and target.read_bytes() == BODY
    server.asked.clear()
    server.pages["/x"] = Page(BODY, etag=None, cut_after=[10_000])
    fetch(f"{server.url}/x", target, checksum=SHA256, replace=True)
    assert ranges(server) == [None, "bytes=10000-"] and target.read_bytes() == BODY


def test_the_next_run_goes_on_where_the_last_one_failed(server, target):
    server.pages["/x"] = Page(BODY, cut_after=[10_000, 0, 0, 0, 0, 0, 0, 0])
    with pytest.raises(FippError, match=r"in a row\. The bytes received are kept"):
        fetch(f"{server.url}/x", target)
    assert names(target.parent) == [".x.bin.part", ".x.bin.part.json"]
    server.pages["/x"] = Page(BODY)
    fetch(f"{server.url}/x", target)
    assert ranges(server)[-1] == "bytes=10000-"
    assert target.read_bytes() == BODY and names(target.parent) == ["x.bin"]


@pytest.mark.parametrize("other", [Page(BODY[::-1], etag='"2"'), Page(BODY[:5_000], etag='"2"')])
def test_halves_of_two_versions_are_never_put_together(server, target, other):
    server.pages["/x"] = Page(BODY, always_cut_after=0, cut_after=[10_000])
    with pytest.raises(FippError):
        fetch(f"{server.url}/x", target)
    server.pages["/x"] = other
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == other.body


OTHER = BODY[::-1]
LONG_AGO, LATER = "Tue, 15 Nov 1994 12:45:26 GMT", "Tue, 15 Nov 1994 12:45:27 GMT"
TO_COME = "Fri, 15 Nov 2999 12:45:26 GMT"  # not before the answer, so that the file may still change


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Page(BODY, etag='"1"'), Page(OTHER, etag='"2"')),
        (Page(BODY, etag='"1"'), Page(OTHER, etag=None)),
        (Page(BODY, etag='"1"'), Page(OTHER, etag='W/"1"')),
        (Page(BODY, etag='"1"'), Page(OTHER + b"longer", etag='"1"')),
        (Page(BODY, etag='W/"1"'), Page(OTHER, etag='W/"1"')),
        (Page(BODY, etag=None), Page(OTHER, etag=None)),
        (Page(BODY, etag=None, last_modified=LONG_AGO), Page(OTHER, etag=None, last_modified=LATER)),
        (Page(BODY, etag=None, last_modified=LONG_AGO), Page(OTHER, etag=None)),
        (Page(BODY, etag=None, last_modified=TO_COME), Page(OTHER, etag=None, last_modified=TO_COME)),
    ],
)
def test_a_server_that_ignores_conditions_cannot_splice_two_versions(server, target, before, after):
    server.pages["/x"] = replace(before, always_cut_after=0, cut_after=[10_000])
    with pytest.raises(FippError):
        fetch(f"{server.url}/x", target)
    server.pages["/x"] = replace(after, ignores_if_range=True)
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == after.body


def test_the_version_is_sent_as_a_condition(server, target):
    server.pages["/x"] = Page(BODY, etag='"1"', cut_after=[10_000])
    fetch(f"{server.url}/x", target)
    server.pages["/x"] = Page(BODY, etag=None, last_modified=LONG_AGO, cut_after=[10_000])
    fetch(f"{server.url}/x", target, replace=True)
    assert server.conditions == [None, '"1"', None, LONG_AGO] and target.read_bytes() == BODY


@pytest.mark.parametrize(("before", "after"), [("https://a/x", "http://a/x"), ("https://a/x", "file:///x")])
def test_a_redirect_never_leaves_https(before, after):
    request = urllib.request.Request(before)
    with pytest.raises(FippError, match="not safe to follow"):
        _fetch._SafeRedirects().redirect_request(request, None, 302, "Found", {}, after)


def test_a_planted_link_is_not_written_through(server, target, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    try:
        (tmp_path / ".x.bin.part.json").symlink_to(precious)
    except OSError:
        pytest.skip("links may not be made here")
    server.pages["/x"] = Page(BODY)
    fetch(f"{server.url}/x", target)
    assert precious.read_text() == "mine" and target.read_bytes() == BODY


def test_a_file_that_became_shorter_is_begun_anew(server, target):
    server.pages["/x"] = Page(BODY + b"more", etag=None, always_cut_after=0, cut_after=[len(BODY) + 1])
    with pytest.raises(FippError):
        fetch(f"{server.url}/x", target, checksum=SHA256)
    server.pages["/x"] = Page(BODY, etag=None)
    fetch(f"{server.url}/x", target, checksum=SHA256)
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("notes", ["", "[]", "{}", '{"url": 1, "version": 2, "total": "x"}', "\udcff"])
def test_a_damaged_note_about_a_part_begins_it_anew(server, target, notes):
    server.pages["/x"] = Page(BODY)
    (target.parent / ".x.bin.part").write_bytes(b"rubbish")
    (target.parent / ".x.bin.part.json").write_bytes(notes.encode("utf-8", "surrogateescape"))
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY and names(target.parent) == ["x.bin"]


def test_a_part_of_another_address_is_not_gone_on_with(server, target):
    server.pages["/x"] = Page(BODY, always_cut_after=0, cut_after=[10_000])
    server.pages["/y"] = Page(BODY[::-1])
    with pytest.raises(FippError):
        fetch(f"{server.url}/x", target)
    fetch(f"{server.url}/y", target)
    assert target.read_bytes() == BODY[::-1]


def test_a_wrong_checksum_keeps_nothing(server, target):
    server.pages["/x"] = Page(BODY[::-1])
    with pytest.raises(FippError, match=r"has the checksum sha256:.* instead of .* was not kept"):
        fetch(f"{server.url}/x", target, checksum=SHA256)
    assert names(target.parent) == []


def test_a_wrong_checksum_leaves_the_old_file(server, target):
    target.write_bytes(b"old")
    server.pages["/x"] = Page(BODY[::-1])
    with pytest.raises(FippError):
        fetch(f"{server.url}/x", target, checksum=SHA256, replace=True)
    assert target.read_bytes() == b"old" and names(target.parent) == ["x.bin"]


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "does not exist"), (410, "does not exist"), (403, "the server refused"), (401, "refused")],
)
def test_what_no_attempt_can_mend_is_said_at_once_and_leaves_nothing(server, target, status, message):
    server.pages["/x"] = Page(status=status)
    with pytest.raises(FippError, match=message):
        fetch(f"{server.url}/x", target)
    assert names(target.parent) == [] and len(server.asked) == 1


def test_a_server_in_trouble_is_asked_again(server, target):
    server.pages["/x"] = Page(BODY, first_statuses=[503, 500, 429])
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY


def test_a_server_in_lasting_trouble_is_given_up(server, target):
    server.pages["/x"] = Page(status=503)
    with pytest.raises(FippError, match=r"the server is in trouble .503"):
        fetch(f"{server.url}/x", target)
    assert len(server.asked) == _fetch.ATTEMPTS and names(target.parent) == []


def test_a_silent_server_is_given_up_after_the_timeout(server, target):
    server.pages["/x"] = Page(BODY, silent_seconds=60)
    with pytest.raises(FippError, match="did not answer in time"):
        fetch(f"{server.url}/x", target, timeout=0.05)
    assert names(target.parent) == []


def test_a_server_that_stops_in_the_middle_is_resumed(server, target, monkeypatch):
    server.pages["/x"] = page = Page(BODY, seconds_a_block=60)
    attempts = []

    def hurry(seconds):
        attempts.append(seconds)
        page.seconds_a_block = 0

    monkeypatch.setattr(_fetch.time, "sleep", hurry)
    fetch(f"{server.url}/x", target, timeout=0.3)
    assert target.read_bytes() == BODY and ranges(server) == [None, "bytes=1000-"] and len(attempts) == 1


def test_a_slow_server_is_waited_for_as_long_as_bytes_come(server, target):
    server.pages["/x"] = Page(BODY[:5_000], seconds_a_block=0.1)
    fetch(f"{server.url}/x", target, timeout=2)
    assert target.read_bytes() == BODY[:5_000] and len(server.asked) == 1


def test_nobody_listening_is_a_readable_error(server, target):
    with pytest.raises(FippError, match="the connection failed"):
        fetch("http://127.0.0.1:1/x", target)
    assert names(target.parent) == []


def test_redirects_are_followed_with_the_range(server, target):
    server.pages["/x"] = Page(status=302, location="/y")
    server.pages["/y"] = Page(BODY, cut_after=[10_000])
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY and server.asked[-1] == ("/y", "bytes=10000-")


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x"])
def test_redirects_to_other_protocols_are_refused(server, target, location):
    server.pages["/x"] = Page(status=302, location=location)
    with pytest.raises(FippError):
        fetch(f"{server.url}/x", target)
    assert names(target.parent) == []


def test_redirects_in_a_circle_end(server, target):
    server.pages["/x"] = Page(status=302, location="/x")
    with pytest.raises(FippError):
        fetch(f"{server.url}/x", target)
    assert names(target.parent) == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "x",
        "https:///x",
        "",
        "http://[/x",
        "http://127.0.0.1:x/",
        "http://127.0.0.1/ x",
        "http://127.0.0.1/č",
    ],
)
def test_only_web_addresses_are_opened(target, url):
    with pytest.raises(FippError, match="is not an address"):
        fetch(url, target)
    assert names(target.parent) == []


def test_a_server_that_promises_more_than_it_has_gives_no_file(server, target):
    server.pages["/x"] = Page(BODY, claimed_length=len(BODY) + 100)
    with pytest.raises(FippError, match="in a row"):
        fetch(f"{server.url}/x", target)
    assert "x.bin" not in names(target.parent)


@pytest.mark.parametrize("checksum", [None, SHA256])
@pytest.mark.parametrize(
    "page",
    [
        Page(BODY, claimed_length=1_000),
        Page(BODY, extra=b"more"),
        Page(BODY, extra=b"more", cut_after=[10_000]),
        Page(BODY, claimed_length=len(BODY), endless=True),
    ],
)
def test_a_body_longer_than_announced_is_refused(server, target, page, checksum):
    server.pages["/x"] = replace(page, cut_after=[*page.cut_after])
    with pytest.raises(FippError, match=r"more than the [\d,]+ bytes that it announced, and the file was not kept"):
        fetch(f"{server.url}/x", target, checksum=checksum)
    assert names(target.parent) == []


@pytest.mark.parametrize("page", [Page(BODY, chunked=True, endless=True), Page(BODY, tells_length=False, endless=True)])
def test_an_endless_body_is_refused_at_the_largest_size(server, target, page):
    server.pages["/x"] = page
    with pytest.raises(FippError, match=r"has more than the 100,000 bytes that were expected at most.*--max-size"):
        fetch(f"{server.url}/x", target, checksum=SHA256, largest=100_000)
    assert names(target.parent) == []


def test_a_file_that_is_announced_too_large_is_refused_before_anything_comes(server, target):
    server.pages["/x"] = Page(BODY, claimed_length=10**17)
    told = []
    with pytest.raises(FippError, match="expected at most"):
        fetch(f"{server.url}/x", target, progress=lambda *step: told.append(step))
    assert names(target.parent) == [] and told == []


def test_a_server_that_does_not_hang_up_after_the_end_does_no_harm(server, target):
    server.pages["/x"] = Page(BODY, keeps_open=True)
    fetch(f"{server.url}/x", target, timeout=0.3)
    assert target.read_bytes() == BODY and len(server.asked) == 1


def test_a_server_that_trickles_for_ever_is_given_up_and_the_part_is_kept(server, target, monkeypatch):
    clock = iter(range(0, 10**9, 60))  # every look at the clock is a minute later
    monkeypatch.setattr(_fetch.time, "monotonic", lambda: next(clock))
    server.pages["/x"] = Page(BODY, always_cut_after=500)
    with pytest.raises(
        FippError, match=r"sent only [\d,]+ bytes in \d+ seconds.*the same command resumes.*FIPP_MIRROR"
    ):
        fetch(f"{server.url}/x", target)
    assert names(target.parent) == [".x.bin.part", ".x.bin.part.json"]
    monkeypatch.setattr(_fetch.time, "monotonic", lambda: 0)
    server.pages["/x"] = Page(BODY)
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY and ranges(server)[-1] is not None


def test_a_file_of_unknown_length_needs_a_checksum(server, target):
    server.pages["/x"] = Page(BODY, tells_length=False)
    with pytest.raises(FippError, match="does not say how long"):
        fetch(f"{server.url}/x", target)
    assert names(target.parent) == []
    fetch(f"{server.url}/x", target, checksum=SHA256)
    assert target.read_bytes() == BODY


def test_an_encoding_that_was_not_asked_for_is_refused(server, target):
    server.pages["/x"] = server.pages["/x.gz"] = Page(BODY, encoding="gzip")
    with pytest.raises(FippError, match="encoded as gzip"):
        fetch(f"{server.url}/x", target)
    fetch(f"{server.url}/x.gz", target)
    assert target.read_bytes() == BODY


def test_too_little_room_is_said_before_anything_comes(server, target, monkeypatch):
    server.pages["/x"] = Page(BODY)
    usage = shutil.disk_usage(target.parent)
    monkeypatch.setattr(_fetch.shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(FippError, match="has room for"):
        fetch(f"{server.url}/x", target)
    assert "x.bin" not in names(target.parent)


def test_a_disk_that_fills_up_is_a_readable_error(server, target):
    def full(done, total):
        if done > 10_000:
            raise OSError(errno.ENOSPC, "No space left on device")

    server.pages["/x"] = Page(BODY)
    with pytest.raises(FippError, match=r"cannot write .*the disk is full; make room"):
        fetch(f"{server.url}/x", target, progress=full)
    assert "x.bin" not in names(target.parent)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="may write everywhere")
def test_a_folder_that_may_not_be_written_is_a_readable_error(server, target):
    server.pages["/x"] = Page(BODY)
    target.parent.chmod(0o500)
    try:
        with pytest.raises(FippError, match="cannot write"):
            fetch(f"{server.url}/x", target)
    finally:
        target.parent.chmod(0o700)


def test_a_missing_folder_is_a_readable_error(server, target):
    with pytest.raises(FippError, match="cannot write"):
        fetch(f"{server.url}/x", target / "y")


def test_an_interrupt_keeps_the_part_and_no_file(server, target):
    def interrupt(done, total):
        if done > 10_000:
            raise KeyboardInterrupt

    server.pages["/x"] = Page(BODY)
    with pytest.raises(KeyboardInterrupt):
        fetch(f"{server.url}/x", target, progress=interrupt)
    assert names(target.parent) == [".x.bin.part", ".x.bin.part.json"]
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == BODY and ranges(server)[-1] is not None


def test_downloads_of_the_same_file_at_once_transfer_it_once(server, target):
    server.pages["/x"] = Page(BODY, seconds_a_block=0.005)
    failures = []

    def work():
        try:
            fetch(f"{server.url}/x", target)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and target.read_bytes() == BODY
    assert len(server.asked) == 1 and names(target.parent) == ["x.bin"]


def test_who_waits_for_a_download_that_fails_goes_on_with_it(server, target):
    stop, waiting = threading.Event(), threading.Event()

    def interrupt(done, total):
        if done > 10_000:
            waiting.set()
            assert stop.wait(30)
            raise KeyboardInterrupt

    def first():
        with pytest.raises(KeyboardInterrupt):
            fetch(f"{server.url}/x", target, progress=interrupt)

    server.pages["/x"] = Page(BODY)
    threads = [threading.Thread(target=first), threading.Thread(target=fetch, args=(f"{server.url}/x", target))]
    threads[0].start()
    wait_until(waiting.is_set)
    threads[1].start()
    stop.set()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == BODY and ranges(server)[-1] is not None


def test_a_file_that_is_there_is_left_alone_unless_told_otherwise(server, target):
    target.write_bytes(b"old")
    server.pages["/x"] = Page(BODY)
    fetch(f"{server.url}/x", target)
    assert target.read_bytes() == b"old" and server.asked == [] and names(target.parent) == ["x.bin"]
    fetch(f"{server.url}/x", target, replace=True)
    assert target.read_bytes() == BODY


def test_a_symbolic_link_stays_one(server, target, tmp_path):
    server.pages["/x"] = Page(BODY)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    try:
        target.symlink_to(elsewhere / "y.bin")
    except OSError:
        pytest.skip("links may not be made here")
    fetch(f"{server.url}/x", target)
    assert target.is_symlink() and (elsewhere / "y.bin").read_bytes() == BODY


def test_a_name_that_nobody_knows_is_said_at_once(target, monkeypatch):
    def unknown(*arguments, **options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(FippError, match="name could not be looked up"):
        fetch("https://example.invalid/x", target)
    assert names(target.parent) == []
