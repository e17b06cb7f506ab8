"""One path of a server that speaks OpenAI's protocol: posting JSON with retries and deadlines, and what went wrong in words.

What is asked, and how an answer reads, belongs to the modules beside this one. Nothing here repeats the key or what was sent. The HTTP
client is loaded by the first endpoint: with its command line it takes as long as half a server, and most processes ask no model.
"""

from __future__ import annotations

import json
import os
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import httpx

Kind = Literal["timeout", "unreachable", "error status", "bad answer"]

_FIRST_PAUSE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a request: the ``content`` that came, and ``kind`` and ``problem`` when the last attempt failed.

    ``problem`` goes on a sentence that begins with the server. ``lost`` counts failed attempts that the server may have
    worked on all the same.
    """

    status: int = 0
    content: bytes = b""
    kind: Kind | None = None
    problem: str = ""
    lost: int = 0


class Endpoint:
    """``base_url`` + ``/v1/`` + ``path``; the base may end in ``/v1`` or not. Raises ``ValueError`` when it is no http(s) address.

    A request is tried ``attempts`` times in all when the answer is late, broken, 429 or 5xx, waiting as ``Retry-After`` says or up to
    0.5, 1, 2, … seconds, of which chance takes as much as half, so that clients that failed together do not come back together; never
    more than ``longest_pause`` seconds. A server that answered the last attempt with 429 is left alone for as long by the next request,
    too. ``timeout`` holds for a whole answer, ``most_bytes`` for its size. The key is read from ``key_variable`` whenever a client is made.
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        key_variable: str,
        timeout: float,
        attempts: int,
        longest_pause: float,
        most_bytes: int,
        pause: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        import httpx

        try:
            url = httpx.URL(base_url)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("not an http(s) address")
        self.shown = f"{url.scheme}://{url.netloc.decode()}"
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1/{path}"
        self._key_variable = key_variable
        self._timeout = timeout
        self._attempts = attempts
        self._longest_pause = longest_pause
        self._most_bytes = most_bytes
        self._pause = pause
        self._chance = chance
        self._rests_until = 0.0

    def client(self) -> httpx.Client:
        """A client with the key, to be closed by the caller; one serves many requests."""
        key = os.environ.get(self._key_variable, "").strip()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        import httpx

        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        return httpx.Client(timeout=self._timeout, headers=raw, verify=_certificates())

    def post(self, client: httpx.Client, body: Mapping[str, object]) -> Reply:
        """Send ``body`` as JSON; lone surrogates, which no server takes, are replaced. Raises nothing for the server's faults."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if (rest := self._rests_until - time.monotonic()) > 0:
            self._pause(rest)
        self._rests_until = 0.0
        lost, attempt = 0, 1
        while True:
            reply, wait = self._once(client, content)
            lost += reply.lost
            passing = reply.kind in ("timeout", "unreachable") or reply.status == 429 or reply.status >= 500
            if not passing:
                return replace(reply, lost=lost)
            own = _FIRST_PAUSE * 2 ** (attempt - 1) * (1 - self._chance() / 2)
            seconds = min(_seconds(wait, own), self._longest_pause)
            if attempt == self._attempts:
                if reply.status == 429:
                    self._rests_until = time.monotonic() + seconds
                return replace(reply, lost=lost)
            self._pause(seconds)
            attempt += 1

    def _once(self, client: httpx.Client, content: bytes) -> tuple[Reply, str]:
        """One attempt, and its ``Retry-After``."""
        import httpx

        until = time.monotonic() + self._timeout
        received = bytearray()
        late = f"did not answer within {self._timeout:g} s"
        try:
            with client.stream("POST", self._url, content=content) as answer:
                for part in answer.iter_bytes():
                    received += part
                    if time.monotonic() > until:
                        return Reply(kind="timeout", problem=late, lost=1), ""
                    if len(received) > self._most_bytes:
                        problem = f"gave an answer of more than {self._most_bytes:,} bytes"
                        return Reply(kind="bad answer", problem=problem, lost=1), ""
        except httpx.TimeoutException as error:
            return Reply(kind="timeout", problem=late, lost=int(not isinstance(error, httpx.ConnectTimeout))), ""
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            problem = f"could not be asked ({type(error).__name__})"
            return Reply(kind="unreachable", problem=problem, lost=int(not isinstance(error, httpx.ConnectError))), ""
        if answer.is_success:
            return Reply(answer.status_code, bytes(received)), ""
        problem = f"answered with status {answer.status_code}"
        reply = Reply(answer.status_code, bytes(received), "error status", problem, int(answer.status_code >= 500))
        return reply, answer.headers.get("retry-after", "")


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates that are trusted, read once a process: reading takes twenty times as long as a client."""
    import httpx

    return httpx.create_ssl_context()


def _seconds(retry_after: str, otherwise: float) -> float:
    """What ``Retry-After`` asks in seconds, be it a number or a date; nonsense and what is past count as absent."""
    try:
        asked = float(retry_after or "nan")
    except ValueError:
        try:
            asked = (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):  # a date without a zone is none, either
            return otherwise
    return asked if asked >= 0 else otherwise
