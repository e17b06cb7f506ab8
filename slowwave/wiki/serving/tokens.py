"""Tokens that give an agent access to a namespace, the type of a call, and the answer of a failed call."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, cast, get_args

from psycopg.rows import class_row
from pydantic import BaseModel, ValidationError

from slowwave.errors import Refused, plain_fault
from slowwave.search.recall_events import Answered
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.text.tokens import counted

# Tokens: they give an agent access to one namespace, with scopes, until an expiry time.
#
# A token is ``slw_`` + an id of 12 hexadecimal digits that finds the row + ``_`` + a secret of 64. Only the SHA-256 of the secret is
# stored: it is 256 random bits, which no one can guess however fast the hash is, so the slow hashes that passwords need would slow down
# every request and protect nothing. A secret is compared in constant time, even if no row has the id.

Scope = Literal["read", "write", "propose", "approve", "night"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
OPEN_SCOPES: Final = frozenset(SCOPES) - {"approve", "night"}
"""The scopes of callers that need no token: a program proposes, and a person decides, starts nights, or makes a token with that scope. The
database enforces the same (``memory.bearer_scopes``)."""

LONGEST: Final = timedelta(days=3660)

_FORM: Final = re.compile(r"slw_([0-9a-f]{12})_([0-9a-f]{64})")
_LIFETIME: Final = re.compile(r"(\d{1,5})([hd])")
_NOBODY: Final = bytes(32)

_FIND: Final = """
SELECT t.hash, n.slug, t.scopes FROM memory.tokens t JOIN memory.namespaces n ON n.id = t.namespace_id
 WHERE t.id = %s AND t.revoked_at IS NULL AND t.expires_at > now()"""

_VALID: Final = """
SELECT count(*) FROM memory.tokens t JOIN memory.namespaces n ON n.id = t.namespace_id
 WHERE t.revoked_at IS NULL AND t.expires_at > now() AND (%(only)s::text IS NULL OR n.slug = %(only)s)"""

_LIST: Final = """
SELECT t.id, n.slug AS namespace, t.name, t.scopes, t.recorded_at, t.expires_at, t.revoked_at,
       t.revoked_at IS NULL AND t.expires_at > now() AS valid
  FROM memory.tokens t JOIN memory.namespaces n ON n.id = t.namespace_id
 WHERE %(namespace)s::text IS NULL OR n.slug = %(namespace)s ORDER BY n.slug, t.recorded_at, t.id"""

_ADD: Final = """
INSERT INTO memory.tokens (id, namespace_id, name, hash, scopes, expires_at) VALUES (%s, %s, %s, %s, %s, now() + %s)"""

_CAPABLE: Final = {
    "night": "Agents may request nights (dream_now, scope night)",
    "write": "Agents may write memory (scope write)",
    "approve": "Agents may approve proposals and change canonical pages (scope approve)",
}
"""Scopes that `slowwave doctor` lists, with what each allows."""

_LISTED: Final = 5

_CAPABILITIES: Final = """
SELECT s.scope, count(*), (array_agg(n.slug || ' (token ' || t.id || CASE WHEN t.name = '' THEN '' ELSE ', ' || t.name END || ')'
    ORDER BY n.slug, t.recorded_at, t.id))[:%(most)s]
  FROM unnest(%(scopes)s::text[]) AS s (scope)
  JOIN memory.tokens t ON s.scope = ANY (t.scopes) AND t.revoked_at IS NULL AND t.expires_at > now()
  JOIN memory.namespaces n ON n.id = t.namespace_id GROUP BY s.scope"""

_NAMESPACES: Final = """
SELECT count(*), count(*) FILTER (WHERE closed), (array_agg(slug ORDER BY slug) FILTER (WHERE closed))[:%(most)s],
  EXISTS (SELECT 1 FROM memory.tokens)
FROM (SELECT n.slug, n.read_only OR EXISTS (SELECT 1 FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
  WHERE k.namespace_id = n.id AND NOT s.writing) AS closed FROM memory.namespaces n) every
"""
"""The namespaces, and those of them that no apply writes to: read-only ones, and those of stores that are connected to be read."""

_REVOKE: Final = "UPDATE memory.tokens SET revoked_at = coalesce(revoked_at, now()) WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request.

    It holds the namespace of all answers, the scopes, the id of the token, and the token (empty if no token is required). ``surface`` is
    the interface of this call, ``http`` or ``mcp``; it is empty before there is a call.
    """

    namespace: str
    scopes: frozenset[str]
    token_id: str = ""
    token: str = field(default="", repr=False)
    surface: str = ""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token in a list. Its secret is not stored, and its hash is not shown."""

    id: str
    namespace: str
    name: str
    scopes: list[str]
    recorded_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    valid: bool


def new_token(
    connection: Connection, namespace: str, scopes: Sequence[str], lifetime: timedelta, name: str = ""
) -> str:
    """Create a token and return it; it is shown only this once.

    Raises ``Refused`` for scopes or a lifetime that a token cannot have.
    """
    chosen = list(dict.fromkeys(scopes))
    if not chosen or not set(chosen) <= set(SCOPES):
        raise Refused(f"A token has scopes of {', '.join(SCOPES)}. No token was made.")
    if not timedelta() < lifetime <= LONGEST:
        raise Refused("A token expires within ten years. No token was made.")
    key, secret = secrets.token_hex(6), secrets.token_hex(32)
    connection.execute(_ADD, (key, namespace_id(connection, namespace), name[:200], _hash(secret), chosen, lifetime))
    return f"slw_{key}_{secret}"


def listed(connection: Connection, namespace: str | None = None) -> list[TokenRow]:
    """Return the tokens of a namespace, or of all, including those that are no longer valid."""
    with connection.cursor(row_factory=class_row(TokenRow)) as cursor:
        return cursor.execute(_LIST, {"namespace": namespace}).fetchall()


def revoke(connection: Connection, key: str) -> TokenRow:
    """Revoke a token now; a revoked token stays revoked. Raises ``Refused`` if no token has that id."""
    connection.execute(_REVOKE, (key,))
    for row in listed(connection):
        if row.id == key:
            return row
    raise Refused(f"There is no token {key[:20]!r}. `slowwave tokens list` lists those there are.")


def has_tokens(connection: Connection, namespace: str | None) -> bool:
    """Return whether there is a valid token, of ``namespace`` if it is given."""
    row = connection.execute(_VALID, {"only": namespace}).fetchone()
    return bool(row and row[0])


def caller_of(connection: Connection, token: str) -> Caller | None:
    """Return the caller that a token belongs to, or None if the token is unknown, wrong, expired or revoked.

    The caller does not learn which of these is the reason.
    """
    form = _FORM.fullmatch(token)
    if form is None:
        return None
    row = connection.execute(_FIND, (form[1],)).fetchone()
    kept, namespace, scopes = row or (_NOBODY, "", [])
    same = hmac.compare_digest(_hash(form[2]), bytes(cast("bytes", kept)))
    return Caller(str(namespace), frozenset(cast("list[str]", scopes)), form[1], token) if same and row else None


def local_caller(connection: Connection, namespace: str, token: str = "") -> Caller:
    """Return the caller for a local server of one namespace.

    The scopes are ``OPEN_SCOPES``, or those of ``token`` if it is given. Raises ``Refused`` if there is no such namespace, or if the
    token is not a valid token of it.
    """
    namespace_id(connection, namespace)
    if not token:
        return Caller(namespace, OPEN_SCOPES)
    found = caller_of(connection, token)
    if found is None or found.namespace != namespace:
        raise Refused(f"SLOWWAVE_TOKEN is no valid token of {namespace}. Nothing was served.")
    return found


def describe_capabilities(connection: Connection) -> list[str]:
    """Describe what agents may do beyond reading: a sentence for each scope, and one on namespaces that are read-only.

    A store without namespaces has none.
    """
    rows: Any = connection.execute(_CAPABILITIES, {"scopes": [*_CAPABLE], "most": _LISTED}).fetchall()
    held = {str(scope): _names(int(many), names) for scope, many, names in rows}
    row: Any = connection.execute(_NAMESPACES, {"most": _LISTED}).fetchone()
    every, read_only, names, guarded = row
    if not every:
        return []
    nobody = {scope: "programs of this machine, as there is no token" for scope in OPEN_SCOPES if not guarded}
    sentences = [f"{what}: {held.get(scope) or nobody.get(scope, 'no token')}." for scope, what in _CAPABLE.items()]
    closed = f"; read-only: {_names(read_only, names)}" if read_only else ""
    return [*sentences, f"{counted(every - read_only, 'namespace')} may be written to{closed}."]


def _names(many: int, names: Sequence[str]) -> str:
    """Format the first of ``many`` names."""
    return ", ".join(names) + (f" and {many - len(names):,} more" if many > len(names) else "")


def lifetime_of(text: str) -> timedelta:
    """Parse a lifetime such as ``90d`` or ``12h``. Raises ``Refused`` for anything else."""
    form = _LIFETIME.fullmatch(text.strip())
    if form is None:
        raise Refused(f"{text[:20]!r} is no lifetime. Write it as 90d or 12h.")
    return timedelta(**{"h": {"hours": int(form[1])}, "d": {"days": int(form[1])}}[form[2]])


def left(row: TokenRow) -> str:
    """Describe the validity of a token for a list: revoked, expired, or the number of days left."""
    if row.revoked_at is not None:
        return "revoked"
    days = -((datetime.now(UTC) - row.expires_at) // timedelta(days=1))
    return f"{days} days left" if row.valid else "expired"


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


# A call that an agent can make: its request and response, its scope, and its names.

Effect = Literal["none", "adds", "replaces"]
"""The greatest effect of a call on memory. ``none``: only the recall log is written. ``adds``: new rows are added. ``replaces``:
existing rows are changed, hidden from recall or deleted."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    - ``name`` is the end of its path, and with underscores the name of its tool; ``description`` is shown to agents.
    - ``answer`` is called with a connection of the server's login, the caller and a ``request``. It returns a ``response`` from the
      caller's namespace, with its recalls if there are any, and raises ``Refused`` with a message that may be shown.
    - ``text`` formats an answer for a model, if that is not the answer as JSON.
    - ``at`` is the field of the request that is part of the path, if there is one: at its end, or where ``route`` has it.
    - ``route`` is the path of a call whose path is not its name.
    - ``effect`` is the largest effect that any request can have.
    """

    name: str
    description: str
    request: type[BaseModel]
    response: type[BaseModel]
    scope: Scope
    answer: Callable[[Connection, Caller, Any], BaseModel | Answered[Any]]
    method: Literal["GET", "POST"] = "POST"
    text: Callable[[Any], str] | None = None
    at: str = ""
    route: str = ""
    effect: Effect = "none"

    @property
    def tool(self) -> str:
        """Return the name of the MCP tool."""
        return self.name.replace("-", "_")

    @property
    def path(self) -> str:
        """Return the HTTP path of the call."""
        if self.route:
            return self.route
        return f"/v1/{self.name}/{{{self.at}}}" if self.at else f"/v1/{self.name}"


# Failed calls: a status, a code and a sentence, in one shape for every call.
#
# ``{"error": {"code", "message", "type", "request_id"}}``; the message repeats nothing of the request.

CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "payload_too_large",
    422: "validation_error",
    429: "too_many_requests",
    500: "internal_error",
    503: "service_unavailable",
}
"""Code by status."""

_MOST_FAULTS: Final = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call.

    ``message`` is for the caller. ``retry_after`` is in seconds; it is set if a retry may succeed.
    """

    status: int
    message: str
    retry_after: int | None = None

    @property
    def code(self) -> str:
        """Return the error code of the status."""
        return CODES.get(self.status, "bad_request" if self.status < 500 else "internal_error")

    def body(self, request_id: str) -> dict[str, dict[str, str]]:
        """Return the JSON body of the error response."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"code": self.code, "message": self.message, "type": kind, "request_id": request_id}}


def invalid(problem: ValidationError) -> Failure:
    """Return the failure for a request that its model rejects, with places and reasons but no values."""
    faults = problem.errors(include_input=False, include_url=False, include_context=False)
    faults_text = [
        f"{'.'.join(map(str, fault['loc'])) or 'request'}: {plain_fault(fault['msg'])}"
        for fault in faults[:_MOST_FAULTS]
    ]
    return Failure(422, "; ".join(faults_text) + ".")
