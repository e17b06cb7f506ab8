"""Tokens: what lets an agent into one namespace, with scopes, until a day.

``slw_`` + an id of 12 hexadecimal digits that finds the row + ``_`` + a secret of 64. Of the secret only its SHA-256 is kept: it is 256
random bits, which nobody guesses however fast the hash is, so the slow hashes that passwords need would cost every request and protect
nothing. A secret is compared in constant time, also where no row has the id.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, cast, get_args

from psycopg.rows import class_row

from slowwave.errors import Refused
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id

Scope = Literal["read", "write", "propose", "approve"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
OPEN_SCOPES: Final = frozenset(SCOPES) - {"approve"}
"""What whoever needs no token may do: a program proposes, and a person decides, or makes a token that may. The database says the same
(``memory.bearer_scopes``)."""

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

_REVOKE: Final = "UPDATE memory.tokens SET revoked_at = coalesce(revoked_at, now()) WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the namespace that all answers come from, what it may do, the token's id and the token (empty where none is asked for).

    ``surface`` is by which way this call came in, ``http`` or ``mcp``; empty as long as nothing is asked.
    """

    namespace: str
    scopes: frozenset[str]
    token_id: str = ""
    token: str = field(default="", repr=False)
    surface: str = ""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as it is listed. Its secret is not kept, its hash not shown."""

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
    """Make a token and return it; this is the only time that anybody sees it. Raises ``Refused`` for what no token can have."""
    chosen = list(dict.fromkeys(scopes))
    if not chosen or not set(chosen) <= set(SCOPES):
        raise Refused(f"A token has scopes of {', '.join(SCOPES)}. No token was made.")
    if not timedelta() < lifetime <= LONGEST:
        raise Refused("A token expires within ten years. No token was made.")
    key, secret = secrets.token_hex(6), secrets.token_hex(32)
    connection.execute(_ADD, (key, namespace_id(connection, namespace), name[:200], _hash(secret), chosen, lifetime))
    return f"slw_{key}_{secret}"


def listed(connection: Connection, namespace: str | None = None) -> list[TokenRow]:
    """Tokens of a namespace, or of all, those that are over included."""
    with connection.cursor(row_factory=class_row(TokenRow)) as cursor:
        return cursor.execute(_LIST, {"namespace": namespace}).fetchall()


def revoke(connection: Connection, key: str) -> TokenRow:
    """End a token now; one that is revoked stays so. Raises ``Refused`` where none has that id."""
    connection.execute(_REVOKE, (key,))
    for row in listed(connection):
        if row.id == key:
            return row
    raise Refused(f"There is no token {key[:20]!r}. `slowwave tokens list` lists those there are.")


def has_tokens(connection: Connection, namespace: str | None) -> bool:
    """Whether there is a valid token, of a namespace if one is named."""
    row = connection.execute(_VALID, {"only": namespace}).fetchone()
    return bool(row and row[0])


def caller_of(connection: Connection, token: str) -> Caller | None:
    """Whose token it is; None for one that is unknown, wrong, expired or revoked. No caller is told which."""
    form = _FORM.fullmatch(token)
    if form is None:
        return None
    row = connection.execute(_FIND, (form[1],)).fetchone()
    kept, namespace, scopes = row or (_NOBODY, "", [])
    same = hmac.compare_digest(_hash(form[2]), bytes(cast("bytes", kept)))
    return Caller(str(namespace), frozenset(cast("list[str]", scopes)), form[1], token) if same and row else None


def local_caller(connection: Connection, namespace: str, token: str = "") -> Caller:
    """Whoever starts a server of his own for one namespace: ``OPEN_SCOPES``, or those of a token that he brings. Raises ``Refused``."""
    namespace_id(connection, namespace)
    if not token:
        return Caller(namespace, OPEN_SCOPES)
    found = caller_of(connection, token)
    if found is None or found.namespace != namespace:
        raise Refused(f"SLOWWAVE_TOKEN is no valid token of {namespace}. Nothing was served.")
    return found


def lifetime_of(text: str) -> timedelta:
    """``90d`` or ``12h`` as a time. Raises ``Refused`` for anything else."""
    form = _LIFETIME.fullmatch(text.strip())
    if form is None:
        raise Refused(f"{text[:20]!r} is no lifetime. Write it as 90d or 12h.")
    return timedelta(**{"h": {"hours": int(form[1])}, "d": {"days": int(form[1])}}[form[2]])


def left(row: TokenRow) -> str:
    """What a list says of a token's validity."""
    if row.revoked_at is not None:
        return "revoked"
    days = -((datetime.now(UTC) - row.expires_at) // timedelta(days=1))
    return f"{days} days left" if row.valid else "expired"


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
