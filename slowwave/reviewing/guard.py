"""What every request to the review page passes first, and the headers that every answer bears. Nothing behind it asks again.

The page signs plans, so a browser that is logged in is what an attacker would use: by another name of this machine (the names in
``Host``), by a form of another page (``Origin`` and a token), by a frame (none), or by a script in memory text (none but our own runs).
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from anyio import move_on_after
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slowwave.errors import Refused
from slowwave.reviewing.entrance import Entrance, Reviewer
from slowwave.reviewing.rendering import page
from slowwave.serving.gate import BODY_SECONDS

MOST_BYTES: Final = 262_144
"""Most bytes of a request's body: verdicts on a thousand items with notes are less."""

_LOG: Final = logging.getLogger(__name__)
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Nothing is told to other pages. Under "no-referrer" forms of our own would bear no Origin, by which they are known.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex",
}
_SESSION_PATH: Final = re.compile(r"(/s/[0-9a-f]{64})(/.*)?")
_LINKS: Final = re.compile(rb'\b(href|action|formaction)="/(?!/|static/)')
"""Matches ``href="/plans/1"``, and not ``href="/static/review.css"`` or a quoted ``href=&#34;/``, which is text of memory."""

_ELSEWHERE: Final = "This page answers under its own address alone."
_NO_LINK: Final = (
    "You are not known here. Open the link that `slowwave review` or `slowwave dev` printed; it works once. "
    "If it was used already, start the command again for another."
)
_NO_LOGIN: Final = "The proxy did not say who you are. Log in there, and open its address."
_FOREIGN: Final = "This form did not come from this page, so nothing was written. Load the page again and repeat it."


@dataclass(frozen=True, slots=True)
class Posted:
    """What a POST says: the fields of a form, or a JSON object."""

    form: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    body: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _No:
    status: int
    message: str


class RequestGuard:
    """ASGI middleware. Behind it, ``request.state`` has ``reviewer`` and ``said``; files under ``/static/`` are everybody's."""

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app, self._entrance = app, entrance
        self._hosts: Final = {urlsplit(origin).netloc: origin for origin in entrance.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False
        send = _below_session(scope, send)

        async def sent(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            answer = await self._let_in(scope, receive)
            await (answer or self._app)(scope, receive, sent)
        except ClientDisconnect:
            _LOG.debug("A client of the review page left before it was answered.")
        except Exception as problem:  # noqa: BLE001 - whatever it is, its message may hold memory text
            _LOG.error("A request of the review page failed: %s.", type(problem).__name__)
            if not begun:
                told = "That failed for a reason that nobody foresaw. `slowwave doctor` says whether the store is well."
                await _refusal(scope, _No(500, told))(scope, receive, sent)

    async def _let_in(self, scope: Scope, receive: Receive) -> Response | None:
        """The answer to a request that goes no further; None where it does, and its reviewer is in the scope."""
        headers, path, method = Headers(scope=scope), str(scope["path"]), str(scope["method"])
        named = headers.getlist("host")
        origin = self._hosts.get(named[0].lower()) if len(named) == 1 else None
        if origin is None:
            return _refusal(scope, _No(421, _ELSEWHERE))
        reading = method in ("GET", "HEAD")
        if reading and path.startswith("/static/"):
            return None
        if reading and path == "/enter" and self._entrance.proxy is None:
            return self._entered(scope)
        reviewer = self._reviewer(scope, headers)
        if isinstance(reviewer, _No):
            return _refusal(scope, reviewer)
        said = Posted()
        if not reading:
            found = await self._said(headers, receive, origin, reviewer)
            if isinstance(found, _No):
                return _refusal(scope, found)
            said = found
        scope["state"] = {**scope.get("state", {}), "reviewer": reviewer, "said": said}
        return None

    def _entered(self, scope: Scope) -> Response:
        """A session for the token of a link, and the way to a page without it. The browser goes there from a page of ours: after a
        redirect from elsewhere it would keep the cookie back.
        """
        token = QueryParams(cast("bytes", scope["query_string"])).get("token", "")
        session = self._entrance.enter(token)
        if session is None:
            return _refusal(scope, _No(401, _NO_LINK))
        answer = page("entered.html", {"address": self._entrance.address(session)})
        answer.headers["referrer-policy"] = "no-referrer"  # the token is in this page's address
        answer.set_cookie(
            self._entrance.cookie, session, httponly=True, samesite="strict", secure=self._entrance.secure, path="/"
        )
        return answer

    def _reviewer(self, scope: Scope, headers: Headers) -> Reviewer | _No:
        proxy = self._entrance.proxy
        if proxy is None:
            return self._by_session(scope, headers) or _No(401, _NO_LINK)
        client = scope.get("client")
        try:
            found = self._entrance.by_proxy(str(client[0]) if client else "", headers.getlist(proxy.user_header))
        except Refused as problem:
            return _No(403, str(problem))
        return found or _No(403, _NO_LOGIN)

    def _by_session(self, scope: Scope, headers: Headers) -> Reviewer | None:
        """Return who holds both secrets of a session, the cookie and the address, and take the address off the path."""
        session = cookie_parser(headers.get("cookie", "")).get(self._entrance.cookie, "")
        reviewer = self._entrance.by_session(session) if session else None
        below = _SESSION_PATH.fullmatch(str(scope["path"]))
        if reviewer is None or below is None or not secrets.compare_digest(below[1], self._entrance.address(session)):
            return None
        scope["path"] = below[2] or "/"
        scope["raw_path"] = scope["path"].encode()
        scope["state"] = {**scope.get("state", {}), "address": below[1]}
        return reviewer

    async def _said(self, headers: Headers, receive: Receive, origin: str, reviewer: Reviewer) -> Posted | _No:
        """What a request that writes says, if it came from a page of ours."""
        if headers.getlist("origin") != [origin]:
            return _No(403, _FOREIGN)
        raw: bytes | None = None
        with move_on_after(BODY_SECONDS) as limit:
            raw = await _body(receive)
        if limit.cancelled_caught:
            return _No(408, f"The form did not arrive within {BODY_SECONDS:g} seconds. Nothing was written.")
        if raw is None:
            return _No(413, f"A request has at most {MOST_BYTES:,} bytes. Nothing was written.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if kind == "application/json":
                body, form = json.loads(raw), {}
                token = headers.get("x-form-token", "")
            else:
                body, form = None, parse_qs(raw.decode(), keep_blank_values=True, max_num_fields=5_000)
                token = form.get("form_token", [""])[0]
        except (ValueError, RecursionError):
            return _No(400, "What was sent cannot be read. Nothing was written.")
        if not secrets.compare_digest(token.encode(), reviewer.form_token.encode()):
            return _No(403, _FOREIGN)
        if body is not None and not isinstance(body, dict):
            return _No(400, "What was sent is no JSON object. Nothing was written.")
        return Posted(form, cast("dict[str, Any] | None", body))


def _below_session(scope: Scope, send: Send) -> Send:
    """Pass an answer on with the links of its page, and its redirect, below the address of the session that asked."""
    held: list[Message] = []

    async def sent(message: Message) -> None:
        address = cast("str", scope.get("state", {}).get("address", ""))
        if not address:
            await send(message)
            return
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if (to := headers.get("location", "")).startswith("/"):
                headers["location"] = address + to
            if headers.get("content-type", "").startswith("text/html") and scope["method"] != "HEAD":
                held.append(message)
                return
        if held:  # pages are sent in one piece
            body = _LINKS.sub(rb'\1="' + address.encode() + b"/", cast("bytes", message.get("body", b"")))
            start = held.pop()
            MutableHeaders(scope=start)["content-length"] = str(len(body))
            await send(start)
            message = {**message, "body": body}
        await send(message)

    return sent


async def _body(receive: Receive) -> bytes | None:
    """A request's whole body; None where it is too much."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = cast("bytes", message.get("body", b""))
        size += len(part)
        if size > MOST_BYTES:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def _refusal(scope: Scope, no: _No) -> Response:
    """Why not: a sentence as JSON for the page's script, else a page."""
    if "application/json" in Headers(scope=scope).get("accept", ""):
        return Response(json.dumps({"message": no.message}), no.status, media_type="application/json")
    return page("refusal.html", {"message": no.message, "unknown": no.message == _NO_LINK}, no.status)
