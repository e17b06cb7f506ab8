"""Access to the review page: admit reviewers by a link or a proxy, check each request, and set the headers of responses."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import logging
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from anyio import move_on_after
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slowwave.errors import Refused
from slowwave.plans.gate import POLICY, check_name
from slowwave.surfaces.review_page.desk import page
from slowwave.wiki.serving.answering import BODY_SECONDS, is_loopback

# Access to the review page, and the reviewer's name: by a link that works once, or by the login of a proxy.
#
# The link's token is exchanged for a session with two secrets: an id in a cookie, which no script can read, and the beginning of every
# address (``/s/…/``). Browsers send a host's cookies to all of its ports, so a program at another port of this machine receives the cookie.
# It never receives the address, and neither secret is enough without the other. If a proxy logs people in, the name is the one that the
# proxy sends; it is accepted only from the proxy's address. A name never comes from a form: the approver is always the logged-in reviewer.

HOURS: Final = 12
"""Duration of a session: a working day. After that a new link is needed."""

GRANT_SECONDS: Final = 600
"""Validity of a link that was made outside of the page's process."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy with a login: the addresses it comes from, the header in which it names who is logged in."""

    addresses: frozenset[str]
    user_header: str


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Person who sends a request: the name for approvals, and the token that this person's forms carry."""

    name: str
    form_token: str


@dataclass(slots=True)
class Entrance:
    """Access control of the review page, by links or by a proxy.

    ``origins`` are the addresses at which the page answers (scheme, host and port). ``reviewer`` is the name of the person who has the
    link; with a ``proxy`` there is no link. ``clock`` returns seconds, ``wall`` the seconds since 1970, which other processes use as
    well.
    """

    origins: tuple[str, ...]
    reviewer: str = ""
    proxy: Proxy | None = None
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _links: set[str] = field(default_factory=set[str], repr=False)
    _sessions: dict[str, float] = field(default_factory=dict[str, float], repr=False)
    _used: dict[str, float] = field(default_factory=dict[str, float], repr=False)

    @property
    def cookie(self) -> str:
        """Return the name of the cookie.

        It contains the port, because browsers send a host's cookies to all of its ports.
        """
        return f"slowwave_review_{urlsplit(self.origins[0]).port or 0}"

    @property
    def secure(self) -> bool:
        """Return whether the page is reached over TLS."""
        return self.origins[0].startswith("https:")

    def link(self) -> str:
        """Create an address that admits its holder once."""
        token = secrets.token_urlsafe(32)
        self._links.add(_hashed(token))
        return f"{self.origins[0]}/enter?token={token}"

    def key(self) -> str:
        """Return the key with which ``granted`` makes tokens that this entrance accepts."""
        return hmac.new(self._secret, b"links", hashlib.sha256).hexdigest()

    def enter(self, token: str) -> str | None:
        """Exchange the token of a link for a new session and return its id; None if the token is not valid now.

        A token is valid only once.
        """
        wanted = _hashed(token)
        if wanted in self._links:
            self._links.discard(wanted)
        elif not self._takes(token, wanted):
            return None
        session = secrets.token_urlsafe(32)
        self._sessions[_hashed(session)] = self.clock() + HOURS * 3600
        return session

    def address(self, session: str) -> str:
        """Return the path below which the pages of a session are; it cannot be computed from the cookie."""
        return f"/s/{self._form_token(f'address {_hashed(session)}')}"

    def by_session(self, session: str) -> Reviewer | None:
        """Return the reviewer of a session; None if there is no such session or it is over."""
        known = _hashed(session)
        end = self._sessions.get(known)
        if end is None or not self.reviewer:
            return None
        if end <= self.clock():
            del self._sessions[known]
            return None
        return Reviewer(self.reviewer, self._form_token(known))

    def by_proxy(self, address: str, named: Sequence[str]) -> Reviewer | None:
        """Return the reviewer who is logged in at the proxy, according to the values of the proxy's header.

        Return None if the request comes from another address or does not send exactly one name. Raises ``Refused`` for a name that may
        not approve.
        """
        if self.proxy is None or address not in self.proxy.addresses or len(named) != 1:
            return None
        check_reviewer(named[0])
        return Reviewer(named[0], self._form_token(f"login {named[0]}"))

    def _takes(self, token: str, hashed: str) -> bool:
        """Return whether a token was made with the key, has not expired and was not used before, and mark it as used."""
        now = self.wall()
        end, _, rest = token.partition(".")
        nonce, _, signed = rest.partition(".")
        if not (self.reviewer and end.isascii() and end.isdigit() and len(end) <= 12 and nonce and signed.isascii()):
            return False
        if not hmac.compare_digest(signed, _signed(self.key(), f"{end}.{nonce}")):
            return False
        if not now < int(end) <= now + GRANT_SECONDS or hashed in self._used:
            return False
        self._used = {used: until for used, until in self._used.items() if until > now} | {hashed: float(end)}
        return True

    def _form_token(self, of: str) -> str:
        return hmac.new(self._secret, of.encode(), hashlib.sha256).hexdigest()


def granted(key: str, now: float | None = None) -> str:
    """Create a token that admits its holder once, within ``GRANT_SECONDS``, at the entrance with this ``key``."""
    payload = f"{int(time.time() if now is None else now) + GRANT_SECONDS}.{secrets.token_hex(16)}"
    return f"{payload}.{_signed(key, payload)}"


def check_reviewer(name: str) -> None:
    """Refuse what is no name of an approver, and a policy's."""
    check_name(name)
    if name.lower() == POLICY:
        raise Refused("A policy approves by itself, and nobody signs in its name. Give your own with --by.")


def entrance_of(
    host: str, port: int, *, reviewer: str, user_header: str = "", proxies: Iterable[str] = (), origin: str = ""
) -> Entrance:
    """Build the entrance of a page that listens at ``host`` and ``port``.

    A loopback address gives links to ``reviewer``. So does an ``origin`` with a loopback address: the port of a container that is
    published on this machine only. Any other address needs a proxy with a login: its ``user_header``, the addresses that it connects
    from, and the ``origin`` (``https://review.example.com``) at which people see the page. Raises ``Refused`` if a name, an address or
    one of these is missing or invalid.
    """
    if origin and reviewer and not (user_header or proxies) and is_loopback(urlsplit(_origin(origin)).hostname or ""):
        check_reviewer(reviewer)
        return Entrance((_origin(origin),), reviewer)
    addresses = frozenset(_address(p) for p in proxies)
    if not (user_header or addresses or origin):
        if not is_loopback(host):
            raise Refused(
                f"{host} is no loopback address: whoever reaches it could sign. Put a proxy with a login before the page and name it with "
                "--user-header, --proxy and --origin, or leave --host out. Nothing was served."
            )
        check_reviewer(reviewer)
        return Entrance(_loopback_origins(host, port), reviewer)
    if not (user_header and addresses and origin):
        raise Refused(
            "Behind a proxy all three are needed: --user-header with the header that names who is logged in, --proxy with the address "
            "the proxy comes from, and --origin with the address in people's browsers. Nothing was served."
        )
    if reviewer:
        raise Refused("Behind a proxy the name comes from its login: leave --by out. Nothing was served.")
    return Entrance((_origin(origin),), proxy=Proxy(addresses, user_header.lower()))


def _loopback_origins(host: str, port: int) -> tuple[str, ...]:
    named = f"[{host}]" if ":" in host else host.lower()
    return tuple(dict.fromkeys(f"http://{name}:{port}" for name in (named, "127.0.0.1", "localhost", "[::1]")))


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address.strip())
        if not (parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/") and parts.port != 0):
            raise ValueError
        if {"@", "?", "#"} & set(address):
            raise ValueError
    except ValueError:
        raise Refused(
            f"--origin {address[:80]!r} is not an address like https://review.example.com. Nothing was served."
        ) from None
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _address(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address.strip()))
    except ValueError:
        raise Refused(f"--proxy {address[:80]!r} is not an IP address. Nothing was served.") from None


def _signed(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def _hashed(token: str) -> str:
    """Hash a token for storage and comparison, so that the time of a comparison reveals nothing about the token."""
    return hashlib.sha256(token.encode()).hexdigest()


# Checks that every request to the review page must pass, and the headers of every answer. The code behind them checks nothing again.
#
# The page approves plans, so an attacker would use a browser that is logged in: by another name of this machine (hence the names in
# ``Host``), by a form of another page (hence ``Origin`` and a token), by a frame (none is allowed), or by a script in memory text (only
# Slowwave's own scripts run).

MOST_BYTES: Final = 262_144
"""Maximum bytes of a request's body: verdicts on a thousand items with notes take less."""

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
    # Other sites get no referrer. "no-referrer" is not possible, because forms of this page would then have no Origin to identify them.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex",
}
_SESSION_PATH: Final = re.compile(r"(/s/[0-9a-f]{64})(/.*)?")
_LINKS: Final = re.compile(rb'\b(href|action|formaction)="/(?!/|static/)')
"""Matches ``href="/plans/1"``, but not ``href="/static/review.css"`` or an escaped ``href=&#34;/``, which is memory text."""

_ELSEWHERE: Final = "This page answers under its own address alone."
_NO_LINK: Final = (
    "You are not known here. Open the link that `slowwave review` or `slowwave dev` printed; it works once. "
    "If it was used already, start the command again for another."
)
_NO_LOGIN: Final = "The proxy did not say who you are. Log in there, and open its address."
_FOREIGN: Final = "This form did not come from this page, so nothing was written. Load the page again and repeat it."


@dataclass(frozen=True, slots=True)
class Posted:
    """Content of a POST request: the fields of a form, or a JSON object."""

    form: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    body: dict[str, Any] | None = None


def reviewer_of(request: Request) -> Reviewer:
    """Return who sent a request that the guard admitted."""
    return request.state.reviewer


def posted_by(request: Request) -> Posted:
    """Return the content of a POST request that the guard admitted."""
    return request.state.posted


def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form, each with its first value."""
    return {name: values[0] for name, values in posted_by(request).form.items()}


@dataclass(frozen=True, slots=True)
class _No:
    status: int
    message: str


class RequestGuard:
    """ASGI middleware that checks each request.

    Requests that it admits have ``reviewer`` and ``posted`` in ``request.state``. Files under ``/static/`` are served to everyone.
    """

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app, self._entrance = app, entrance
        self._hosts: Final = {urlsplit(origin).netloc: origin for origin in entrance.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with the reason for its refusal."""
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
                sentence = (
                    "That failed for a reason that nobody foresaw. `slowwave doctor` says whether the store is well."
                )
                await _refusal(scope, _No(500, sentence))(scope, receive, sent)

    async def _let_in(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the response to a request that is not admitted; None if it is admitted, with its reviewer in the scope."""
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
        posted = Posted()
        if not reading:
            found = await self._said(headers, receive, origin, reviewer)
            if isinstance(found, _No):
                return _refusal(scope, found)
            posted = found
        scope["state"] = {**scope.get("state", {}), "reviewer": reviewer, "posted": posted}
        return None

    def _entered(self, scope: Scope) -> Response:
        """Start a session for the token of a link, and answer with a page that goes to an address without the token.

        The browser goes there from a page of this server, because it would withhold the cookie after a redirect from another site.
        """
        token = QueryParams(cast("bytes", scope["query_string"])).get("token", "")
        session = self._entrance.enter(token)
        if session is None:
            return _refusal(scope, _No(401, _NO_LINK))
        answer = page("entered.html", {"address": self._entrance.address(session)})
        answer.headers["referrer-policy"] = "no-referrer"  # the address of this page contains the token
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
        """Parse the content of a request that writes, or return a refusal if it does not come from a page of this server."""
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
    """Put the links of a page, and its redirect, below the address of the session that asked."""
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
    """Read the whole body of a request; return None if it exceeds ``MOST_BYTES``."""
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
    """Answer with the reason for a refusal, as JSON for the page's script, otherwise as a page."""
    if "application/json" in Headers(scope=scope).get("accept", ""):
        return Response(json.dumps({"message": no.message}), no.status, media_type="application/json")
    return page("refusal.html", {"message": no.message, "unknown": no.message == _NO_LINK}, no.status)


# Review pages that run on this machine. Each writes a note file, from which its account makes another link that works once.
#
# The note contains the key with which the page verifies such a link, so only the account that serves the page can read it. That account
# could start its own page under any name, so the note grants it nothing more. A page behind a proxy has no links and writes no note.

_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class RunningPage:
    """Page that answers at ``origin`` and admits ``reviewer``; ``key`` authenticates links to it."""

    origin: str
    reviewer: str
    key: str = field(repr=False)

    @property
    def port(self) -> int:
        """Return the port that the page listens on."""
        return urlsplit(self.origin).port or 0

    def link(self) -> str:
        """Create an address that admits its holder once, within ``GRANT_SECONDS``."""
        return f"{self.origin}/enter?token={granted(self.key)}"


@contextmanager
def noted(home: Path, entrance: Entrance) -> Generator[None]:
    """Record the page of an entrance in ``home`` until the context ends; do nothing if a proxy admits reviewers."""
    if not entrance.reviewer:
        yield
        return
    page = RunningPage(entrance.origins[0], entrance.reviewer, entrance.key())
    home.mkdir(parents=True, exist_ok=True)
    note = _note(home, page.port)
    note.unlink(missing_ok=True)  # left by a page that was killed; its file mode would remain
    with os.fdopen(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(page), file)
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def running_page(home: Path, port: int | None = None) -> RunningPage:
    """Find the page that is recorded in ``home`` and answers, at ``port`` if one is given.

    Raises ``Refused`` if there is no such page or more than one.
    """
    notes = [_note(home, port)] if port else sorted(home.glob(_note(home, "*").name))
    found = [page for page in map(_read, notes) if page and _answers(page)]
    if len(found) == 1:
        return found[0]
    if found:
        ports = ", ".join(f"{page.port} ({page.reviewer})" for page in found)
        raise Refused(f"Several review pages run here, at the ports {ports}. Name one with --port. No link was made.")
    of = f" at port {port}" if port else ""
    raise Refused(
        f"No review page of this account runs{of} under {home}. Start one with `slowwave review --by NAME`, which prints its link, or set "
        "SLOWWAVE_HOME to the folder of the one that runs. No link was made."
    )


def _note(home: Path, port: int | str) -> Path:
    return home / f"review-{port}.json"


def _read(note: Path) -> RunningPage | None:
    try:
        record = json.loads(note.read_text())
        return RunningPage(str(record["origin"]), str(record["reviewer"]), str(record["key"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _answers(page: RunningPage) -> bool:
    """Return whether the page still accepts connections; a process that was killed leaves its note."""
    try:
        socket.create_connection((urlsplit(page.origin).hostname or "", page.port), timeout=_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True
