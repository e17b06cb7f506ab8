"""Who may come to the review page, and under which name: by a link that works once, or by the login of a proxy.

The link's token is exchanged for a session with two secrets: an id in a cookie, which no script can read, and the beginning of every
address (``/s/…/``). Browsers send a host's cookies to all of its ports, so a program at another port of this machine receives the cookie.
It never receives the address, and neither of the two opens anything without the other. Where a proxy has a login, the name is the one
that it sends, believed from its own address alone. A name never comes from a form: what is signed is signed by who came in.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from slowwave.errors import Refused
from slowwave.plans.gate import POLICY, check_name
from slowwave.serving.gate import is_loopback

HOURS: Final = 12
"""How long a session lasts: a working day, then another link."""

GRANT_SECONDS: Final = 600
"""How long a link that was made outside of the page's process lets in."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy with a login: the addresses it comes from, the header in which it names who is logged in."""

    addresses: frozenset[str]
    user_header: str


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who asks: the name that signs, and the token that forms of theirs carry."""

    name: str
    form_token: str


@dataclass(slots=True)
class Entrance:
    """``origins`` are the addresses under which the page answers (scheme, host and port), ``reviewer`` the name of whoever has the link;
    with a ``proxy`` there is no link. ``clock`` counts seconds, ``wall`` those since 1970, which other processes count as well.
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
        """The cookie's name. It has the port in it: browsers send a host's cookies to all of its ports."""
        return f"slowwave_review_{urlsplit(self.origins[0]).port or 0}"

    @property
    def secure(self) -> bool:
        """Whether the page is reached over TLS."""
        return self.origins[0].startswith("https:")

    def link(self) -> str:
        """A new address that lets its holder in, once."""
        token = secrets.token_urlsafe(32)
        self._links.add(_hashed(token))
        return f"{self.origins[0]}/enter?token={token}"

    def key(self) -> str:
        """What ``granted`` signs tokens with that this entrance takes."""
        return hmac.new(self._secret, b"links", hashlib.sha256).hexdigest()

    def enter(self, token: str) -> str | None:
        """The id of a new session for the token of a link, which opens nothing afterwards; None where it opens nothing now."""
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
        """Who holds a session; None where it is none, or over."""
        known = _hashed(session)
        end = self._sessions.get(known)
        if end is None or not self.reviewer:
            return None
        if end <= self.clock():
            del self._sessions[known]
            return None
        return Reviewer(self.reviewer, self._form_token(known))

    def by_proxy(self, address: str, named: Sequence[str]) -> Reviewer | None:
        """Who is logged in at the proxy, by the values of its header; None for another address, and where no one name is sent.

        Raises ``Refused`` for a name that may not sign.
        """
        if self.proxy is None or address not in self.proxy.addresses or len(named) != 1:
            return None
        check_reviewer(named[0])
        return Reviewer(named[0], self._form_token(f"login {named[0]}"))

    def _takes(self, token: str, hashed: str) -> bool:
        """Whether a token was granted with the key, in time, and not used before; it is from now on."""
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
    """A token that lets in once, for ``GRANT_SECONDS``, at the entrance whose ``key`` it is."""
    told = f"{int(time.time() if now is None else now) + GRANT_SECONDS}.{secrets.token_hex(16)}"
    return f"{told}.{_signed(key, told)}"


def check_reviewer(name: str) -> None:
    """Refuse what is no name of an approver, and a policy's."""
    check_name(name)
    if name.lower() == POLICY:
        raise Refused("A policy approves by itself, and nobody signs in its name. Give your own with --by.")


def entrance_of(
    host: str, port: int, *, reviewer: str, user_header: str = "", proxies: Iterable[str] = (), origin: str = ""
) -> Entrance:
    """The entrance of a page that listens at ``host`` and ``port``.

    A loopback address gives links to ``reviewer``, and so does an ``origin`` with a loopback address: the port of a container that is
    published on this machine alone. Every other address needs a proxy with a login: its ``user_header``, the addresses it comes from, and
    the ``origin`` (``https://review.example.com``) under which people see the page. Raises ``Refused`` where a name, an address or one of
    these is missing or is none.
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


def _origin(told: str) -> str:
    try:
        parts = urlsplit(told.strip())
        if not (parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/") and parts.port != 0):
            raise ValueError
        if {"@", "?", "#"} & set(told):
            raise ValueError
    except ValueError:
        raise Refused(
            f"--origin {told[:80]!r} is no address like https://review.example.com. Nothing was served."
        ) from None
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _address(told: str) -> str:
    try:
        return str(ipaddress.ip_address(told.strip()))
    except ValueError:
        raise Refused(f"--proxy {told[:80]!r} is no IP address. Nothing was served.") from None


def _signed(key: str, told: str) -> str:
    return hmac.new(key.encode(), told.encode(), hashlib.sha256).hexdigest()


def _hashed(token: str) -> str:
    """What is compared and kept in a token's place: its time tells nothing of the token."""
    return hashlib.sha256(token.encode()).hexdigest()
