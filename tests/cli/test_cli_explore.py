"""`fipp explore` serves its page until it is interrupted, and refuses mistakes before it reads vectors."""

import signal
import socket

import pytest

import fipp

httpx = pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")


def test_the_page_is_served_until_it_is_interrupted(aligned, start):
    saved = aligned.folder / "saved"
    saved.mkdir()
    arguments = aligned.model, aligned.source, aligned.target, "--test", aligned.test, "-o", saved, "--no-browser"
    with start("explore", *arguments, "--names", "English, French") as server:
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:") and "token" not in address
        status = httpx.get(address + "api/status").json()
        assert (status["source"]["name"], status["source"]["words"]) == ("English", 300)
        assert "fipp explore" in httpx.get(address).text
        assert httpx.get(address, headers={"host": "evil.example"}).status_code == 403
        assert httpx.post(address + "api/save").json() == {"saved": ["dictionary.tsv", "model.fipp"]}
        server.send_signal(signal.SIGINT)
        errors = server.communicate(timeout=60)[1]
    assert server.returncode == 130 and "Traceback" not in errors
    assert len(fipp.Lexicon.load(saved / "dictionary.tsv")) == 200


def test_other_machines_get_an_address_with_a_token(aligned, start):
    with start(
        "explore", aligned.model, aligned.source, aligned.target, "--second", aligned.model, "--host", "0.0.0.0",
        "--no-browser", "-q",
    ) as server:  # fmt: skip
        address, _, token = server.stdout.readline().strip().partition("?token=")
        assert len(token) >= 32
        own = address.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(own + "api/status").status_code == 403
        with httpx.Client(follow_redirects=True) as browser:
            assert "fipp explore" in browser.get(own, params={"token": token}).text
            assert len(browser.get(own + "api/status").json()["models"]) == 2
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    assert server.returncode == 143


def test_mistakes_are_one_line_and_exit_code_2(aligned, run):
    given = aligned.model, aligned.source, aligned.target, "--no-browser"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        mistakes = {
            "is not a folder": ["-o", aligned.folder / "gone"],
            "cannot listen on": ["--port", taken.getsockname()[1]],
            "there is no file": ["--test", aligned.folder / "gone.tsv"],
            "is not": ["--second", aligned.seed],
            "give two names": ["--names", "English"],
        }
        for reason, options in mistakes.items():
            result = run("explore", *given, *options)
            assert result.exit_code == 2 and reason in result.stderr, result.stderr
