"""What the review page refuses before anything else looks at a request: each claim of its security, by the attack."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from slowwave.surfaces.review_page.guard import MOST_BYTES, Entrance, RequestGuard, entrance_of
from tests.surfaces.review_page.conftest import Browser

ORIGIN = "http://127.0.0.1:4600"

HTML = {"content-type": "application/x-www-form-urlencoded"}


def app(entrance: Entrance) -> Starlette:
    """An app that says who asks and what they say; one route fails with memory text in its message."""

    async def echo(request: Request) -> JSONResponse:
        posted = request.state.posted
        return JSONResponse({"name": request.state.reviewer.name, "form": posted.form, "body": posted.body})

    async def fails(_: Request) -> JSONResponse:
        raise ValueError("Mara's salary is 90,000")

    return Starlette(
        routes=[Route("/", echo, methods=["GET", "POST", "PUT", "DELETE"]), Route("/fails", fails)],
        middleware=[Middleware(RequestGuard, entrance)],
    )


@pytest.fixture
def entrance() -> Entrance:
    return entrance_of("127.0.0.1", 4600, reviewer="mara")


@pytest.fixture
def client(entrance: Entrance) -> Browser:
    """A browser that opened the link."""
    made = Browser(app(entrance), base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)
    assert made.get(entrance.link()).status_code == 200
    return made


def token_of(entrance: Entrance, client: TestClient) -> str:
    reviewer = entrance.by_session(client.cookies[entrance.cookie])
    assert reviewer
    return reviewer.form_token


def test_without_the_link_nothing_is_shown(entrance: Entrance) -> None:
    """No cookie, a made-up one, a made-up token."""
    with Browser(app(entrance), base_url=ORIGIN) as stranger:
        assert stranger.get("/").status_code == 401
        assert stranger.get("/enter?token=guess").status_code == 401
        assert stranger.get("/", headers={"cookie": f"{entrance.cookie}=guess"}).status_code == 401
        assert stranger.post("/", json={}, headers={"origin": ORIGIN}).status_code == 401


def test_the_link_works_once_and_its_token_does_not_stay_in_the_address(entrance: Entrance) -> None:
    """Whoever finds the link in a history or a log finds it used."""
    link = entrance.link()
    with Browser(app(entrance), base_url=ORIGIN, follow_redirects=False) as first:
        entered = first.get(link)
        cookie = entered.headers["set-cookie"].lower()
        assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
        assert entered.headers["referrer-policy"] == "no-referrer"
        assert f'content="0; url={first.address}/"' in entered.text
        assert link.partition("token=")[2] not in entered.text
        assert first.get("/").json()["name"] == "mara"
        again = first.get(link)
        assert again.status_code == 401, "the cookie alone opens nothing"
        assert "/static/session.js" in again.text, "the same browser knows the address, and its script goes there"
        assert first.address not in again.text
    with Browser(app(entrance), base_url=ORIGIN, follow_redirects=False) as second:
        assert second.get(link).status_code == 401
        assert second.get("/").status_code == 401


def test_a_program_at_another_port_that_receives_the_cookie_reads_and_approves_nothing(entrance: Entrance) -> None:
    """T15: browsers send a host's cookies to all of its ports. The program asks by itself, with any header that it likes."""
    received: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        """The program at another port."""

        def do_GET(self) -> None:
            """Keep what the browser sends."""
            received.append(str(self.headers["cookie"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as other, Browser(app(entrance), base_url=ORIGIN) as browser:
        assert browser.get(entrance.link()).status_code == 200
        thread = threading.Thread(target=other.handle_request)
        thread.start()
        with httpx.Client(
            cookies=dict(browser.cookies)
        ) as visiting:  # like a browser's, a jar that does not look at ports
            visiting.get(f"http://127.0.0.1:{other.server_port}/")
        thread.join()
        reviewer = entrance.by_session(browser.cookies[entrance.cookie])
        assert reviewer
        assert entrance.cookie in received[0]
        headers = {
            "cookie": received[0],
            "origin": ORIGIN,
            "x-form-token": reviewer.form_token,
            "referer": f"{ORIGIN}/",
        }
        with TestClient(app(entrance), base_url=ORIGIN, follow_redirects=False) as thief:
            for path in ("/", "/fails", "/enter?token=used", f"/s/{'0' * 64}/", f"/s/{reviewer.form_token}/"):
                read = thief.get(path, headers=headers)
                assert read.status_code == 401
                assert browser.address not in read.text + str(read.headers)
                assert thief.post(path, json={"approve": "all"}, headers=headers).status_code == 401
            assert thief.get(f"{browser.address}/").status_code == 401, "nor does the address without the cookie"
        assert browser.get("/").json()["name"] == "mara"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:4600", "127.0.0.1:4601", "127.0.0.1", "", "mara@127.0.0.1:4600"]
)
def test_another_name_of_this_machine_is_refused(client: TestClient, host: str) -> None:
    """DNS rebinding: a page of an attacker whose name resolves to 127.0.0.1, with the cookie."""
    for path in ("/", "/static/review.css", "/enter?token=x"):
        assert client.get(path, headers={"host": host}).status_code == 421


def test_this_machine_s_own_names_are_taken(client: TestClient) -> None:
    """Whichever one a person types."""
    for host in ("127.0.0.1:4600", "localhost:4600", "LOCALHOST:4600", "[::1]:4600"):
        assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "http://127.0.0.1:3000", "https://127.0.0.1:4600", "http://localhost:4600"],
)
def test_a_form_of_another_page_writes_nothing(entrance: Entrance, client: TestClient, origin: str | None) -> None:
    """Another site, another port of this machine, a frame without an origin: with the cookie, and even with the token."""
    token = token_of(entrance, client)
    headers = {} if origin is None else {"origin": origin}
    assert client.post("/", data={"form_token": token}, headers=headers).status_code == 403
    assert client.post("/", json={}, headers={**headers, "x-form-token": token}).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_write_needs_the_token_of_its_session(entrance: Entrance, client: TestClient, method: str) -> None:
    """None, a wrong one and another session's are refused."""
    other = entrance.by_session(entrance.enter(entrance.link().partition("token=")[2]) or "")
    assert other
    here = {"origin": ORIGIN}
    for wrong in ("", "0" * 64, other.form_token, "ä"):
        assert client.request(method, "/", data={"form_token": wrong}, headers=here).status_code == 403
        assert client.request(method, "/", json={}, headers={**here, "x-form-token": wrong.encode()}).status_code == 403
    token = token_of(entrance, client)
    as_form = client.request(method, "/", data={"form_token": token, "item": ["a", "b"]}, headers=here)
    assert as_form.json()["form"]["item"] == ["a", "b"]
    as_json = client.request(method, "/", json={"drafts": []}, headers={**here, "x-form-token": token})
    assert as_json.json()["body"] == {"drafts": []}
    in_the_address = client.request(method, f"/?form_token={token}", headers={**here, **HTML})
    assert in_the_address.status_code == 403


def test_what_cannot_be_read_or_is_too_much_is_refused(entrance: Entrance, client: TestClient) -> None:
    """Before anything is made of it."""
    here = {"origin": ORIGIN, "x-form-token": token_of(entrance, client)}
    json = {**here, "content-type": "application/json", "accept": "application/json"}
    for raw in (b"{", b"\xff", b"[" * 100_000, b"[]", b"1"):
        answer = client.post("/", content=raw, headers=json)
        assert (answer.status_code, set(answer.json())) == (400, {"message"})
    assert client.post("/", content=b"\xff=1", headers={**here, **HTML}).status_code == 400
    assert client.post("/", content=b"&".join([b"a=1"] * 6_000), headers={**here, **HTML}).status_code == 400
    assert client.post("/", content=b"[" + b" " * MOST_BYTES + b"]", headers=json).status_code == 413


def test_every_answer_forbids_frames_foreign_scripts_and_caches(client: TestClient) -> None:
    """Also a refusal, and a failure."""
    for path, host, status in (
        ("/", "localhost:4600", 200),
        ("/", "evil.example", 421),
        ("/fails", "localhost:4600", 500),
    ):
        answer = client.get(path, headers={"host": host})
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert answer.status_code == status
        assert policy["default-src"] == "'none'"
        assert {policy[name] for name in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert "unsafe" not in str(policy)
        wanted = {"x-frame-options": "DENY", "x-content-type-options": "nosniff", "cache-control": "no-store"}
        assert {name: answer.headers[name] for name in wanted} == wanted
        assert answer.headers["referrer-policy"] == "same-origin"


def test_a_failure_tells_no_memory_text(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    """Neither to the browser nor to the log."""
    answer = client.get("/fails")
    assert answer.status_code == 500
    assert "salary" not in answer.text + caplog.text
    assert "ValueError" in caplog.text


def proxied(address: str, **more: Any) -> TestClient:
    entrance = entrance_of(
        "0.0.0.0",  # noqa: S104
        4600,
        reviewer="",
        user_header="X-User",
        proxies=["10.0.0.5"],
        origin="https://review.example.com",
    )
    return TestClient(app(entrance), base_url="https://review.example.com", client=(address, 5000), **more)


def test_behind_a_proxy_the_login_signs_and_nobody_else_can_say_who_it_is() -> None:
    """The header is believed from the proxy's address alone; there is no link, and no cookie opens anything."""
    assert proxied("10.0.0.5").get("/", headers={"x-user": "noor"}).json()["name"] == "noor"
    for address, headers in (
        ("10.0.0.6", {"x-user": "noor"}),
        ("10.0.0.5", {}),
        ("10.0.0.6", {"x-user": "noor", "x-forwarded-for": "10.0.0.5", "forwarded": "for=10.0.0.5"}),
        ("10.0.0.5", {"x-user": "policy"}),
        ("10.0.0.5", {"x-user": "<b>"}),
    ):
        assert proxied(address).get("/", headers=headers).status_code == 403
    twice = proxied("10.0.0.5").get("/", headers=[("x-user", "noor"), ("x-user", "mara")])  # pyright: ignore[reportArgumentType]
    assert twice.status_code == 403
    assert proxied("10.0.0.5").get("/enter?token=x", headers={}).status_code == 403
    assert proxied("10.0.0.5").get("/", headers={"x-user": "noor", "host": "10.0.0.9:4600"}).status_code == 421
    written = proxied("10.0.0.5").post("/", json={}, headers={"x-user": "noor", "origin": "https://review.example.com"})
    assert written.status_code == 403, "a form needs its token here as well"
