"""Tokens: made once, kept as a hash, of one namespace, until they are over."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.wiki.serving.tokens import SCOPES, caller_of, left, lifetime_of, listed, local_caller, new_token, revoke
from tests.memories import ask, remember

DAY = timedelta(days=1)


def test_a_token_names_its_namespace_and_scopes_and_only_its_hash_is_kept(store: Store) -> None:
    """The row, the list and what they say of it hold no part of the secret."""
    remember(store, "acme")
    with store.connect("owner") as connection:
        token = new_token(connection, "acme", ["read", "read", "write"], DAY, "laptop")
        _, key, secret = token.split("_")
        with store.connect("server") as server:
            caller = caller_of(server, token)
        assert caller is not None
        assert (caller.namespace, caller.scopes, caller.token_id) == ("acme", {"read", "write"}, key)
        (row,) = listed(connection, "acme")
        assert (row.id, row.name, row.valid, secret in repr(row)) == (key, "laptop", True, False)
        assert listed(connection, "other") == []
    ((kept, whole),) = ask(store, "SELECT hash, t::text FROM memory.tokens t")
    assert kept == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(whole)


def test_a_token_that_is_wrong_expired_or_revoked_opens_nothing(store: Store) -> None:
    """One digit, an unknown id, a form that is none, a time that is over, an order to end it."""
    remember(store, "acme")
    with store.connect("owner") as connection:
        token = new_token(connection, "acme", ["read"], DAY)
        key = token.split("_")[1]
        for other in (
            *(f"{token[:-1]}{'0' if token[-1] != '0' else '1'}", token.replace(key, "0" * 12), token.upper()),
            *(f"{token} ", f"{token}0", "", "slw_", "é" * 81),
        ):
            assert caller_of(connection, other) is None
        connection.execute("UPDATE memory.tokens SET expires_at = now() - interval '1 second'")
        assert caller_of(connection, token) is None
        assert [left(row) for row in listed(connection)] == ["expired"]
        connection.execute("UPDATE memory.tokens SET expires_at = now() + interval '1 hour'")
        assert caller_of(connection, token) is not None
        first = revoke(connection, key).revoked_at
        assert caller_of(connection, token) is None
        assert revoke(connection, key).revoked_at == first
        with pytest.raises(Refused):
            revoke(connection, "000000000000")


@pytest.mark.parametrize("scopes", [[], ["admin"], ["read", "READ"]])
def test_a_token_has_scopes_that_there_are(store: Store, scopes: list[str]) -> None:
    """Nothing is made for others."""
    remember(store, "acme")
    with store.connect("owner") as connection:
        with pytest.raises(Refused):
            new_token(connection, "acme", scopes, DAY)
        assert listed(connection) == []


def test_a_token_ends_within_ten_years() -> None:
    """Days and hours; nothing else is a lifetime."""
    assert (lifetime_of("90d"), lifetime_of(" 12h ")) == (90 * DAY, timedelta(hours=12))
    for text in ("90", "d", "-1d", "1y", "never", "999999d"):
        with pytest.raises(Refused):
            lifetime_of(text)


@pytest.mark.parametrize("days", [0, 99_999])
def test_an_endless_or_dead_token_is_not_made(store: Store, days: int) -> None:
    """From now to ten years."""
    remember(store, "acme")
    with store.connect("owner") as connection, pytest.raises(Refused):
        new_token(connection, "acme", ["read"], days * DAY)


def test_local_caller_may_neither_approve_nor_request_nights_without_a_token(store: Store) -> None:
    """One of another namespace, or that is over, opens nothing; no repr shows it."""
    remember(store, "acme")
    remember(store, "rival")
    with store.connect("owner") as connection:
        token = new_token(connection, "acme", ["read"], DAY)
        assert local_caller(connection, "acme").scopes == set(SCOPES) - {"approve", "night"}
        found = local_caller(connection, "acme", token)
        assert (found.scopes, found.token, token in repr(found)) == ({"read"}, token, False)
        for namespace, brought in (("rival", token), ("acme", token[:-1]), ("nowhere", "")):
            with pytest.raises(Refused):
                local_caller(connection, namespace, brought)
