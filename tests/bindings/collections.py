"""A collection of Mem0 with several users, filled by SQL as its client fills it, connected, and open for plans."""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Final

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings.clients import DIMENSIONS, embedding, texts

USERS: Final = ("anna", "ben_w", "Clara", "dmitri")
SINCE: Final = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)


def collection(store: Store, *, each: int = 12, writing: bool = True) -> list[str]:
    """``each`` memories of each user but the last, who has one without a vector; the names of their namespaces."""
    rows = [(user, text) for user in USERS[:-1] for text in texts(each, user)]
    with store.connect("owner") as connection:
        connection.execute(
            f"CREATE TABLE mem0 (id uuid PRIMARY KEY, vector vector({DIMENSIONS}), payload jsonb)".encode()
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO mem0 VALUES (%s, %s::vector, %s)",
                [
                    (str(uuid.uuid5(uuid.NAMESPACE_OID, str(n))), str(embedding(text)), payload(user, text, n))
                    for n, (user, text) in enumerate(rows)
                ],
            )
        connection.execute("INSERT INTO mem0 VALUES (gen_random_uuid(), NULL, %s)", (payload(USERS[-1], "Tea.", 0),))
    connect_store(store, "mem0", grant=True)
    if writing:
        assert let_write(store, "mem0", grant=True) == []
    return [n for n in namespaces(store) if n.startswith("mem0-")]


def payload(user: str, text: str, number: int) -> str:
    """What Mem0 keeps beside the vector."""
    at = (SINCE + timedelta(minutes=number)).isoformat()
    return json.dumps(
        {
            "data": text,
            "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
            "user_id": user,
            "created_at": at,
            "updated_at": at,
            "text_lemmatized": text,
        }
    )
