"""Only the explorer's own page and those who have the token are answered."""

import pytest
from explored import ADDRESS, new_session, serving
from starlette.testclient import TestClient

from fipp.explore import make_app

TOKEN = "secret-token"


@pytest.fixture(scope="module")
def own():
    with serving(new_session()) as client:
        yield client


@pytest.fixture(scope="module")
def with_token():
    with TestClient(
        make_app(new_session(), host="0.0.0.0", token=TOKEN), base_url="http://10.1.2.3:8000", follow_redirects=False
    ) as client:
        yield client


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_this_machine_is_answered(own, host):
    assert own.get("/api/status", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1"]
)
def test_names_that_lead_here_by_rebinding_are_refused(own, host):
    answer = own.get("/api/status", headers={"host": host})
    assert answer.status_code == 403 and "error" in answer.json()


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:8000", "null"])
def test_pages_of_other_origins_can_neither_read_nor_change_anything(own, origin):
    for method, path in (("POST", "/api/undo"), ("GET", "/api/status"), ("DELETE", "/api/refit")):
        answer = own.request(method, path, headers={"origin": origin})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


def test_requests_that_a_browser_says_come_from_another_site_are_refused(own):
    assert own.get("/api/status", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert own.get("/api/status", headers={"sec-fetch-site": "same-origin", "origin": ADDRESS}).status_code == 200


def test_a_form_of_another_page_changes_nothing(own):
    answer = own.post("/api/edit", data={"action": "wrong"})
    assert answer.status_code == 415


def test_every_answer_has_a_strict_policy(own):
    for path in ("/", "/app.js", "/style.css", "/api/status", "/nothing"):
        headers = own.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_other_machines_need_the_token(with_token):
    for path in ("/", "/api/status", "/app.js", "/?token=wrong", "/?token=", "/api/status?token=" + TOKEN):
        answer = with_token.get(path)
        assert answer.status_code == 403 and TOKEN not in answer.text
    for header in ("Bearer wrong", "Basic " + TOKEN, "Bearer", "Bearer ñ"):
        assert with_token.get("/api/status", headers={"authorization": header.encode("utf-8")}).status_code == 403
    assert with_token.get("/api/status", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_first_page_turns_the_token_into_a_cookie_that_scripts_cannot_read(with_token):
    answer = with_token.get("/", params={"token": TOKEN})
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert with_token.get("/api/status").status_code == 200  # the client sends the cookie
    with_token.cookies.clear()
    assert with_token.get("/api/status").status_code == 403


def test_a_name_that_leads_here_by_rebinding_is_refused_even_with_the_token(with_token):
    headers = {"host": "evil.example", "authorization": f"Bearer {TOKEN}"}
    assert with_token.get("/api/status", headers=headers).status_code == 403
