"""A collection of Mem0 as its client leaves it, of as many users and memories as asked for: copied in, as the client takes an hour.

What users said is that of ``benchmarks.calendars``: facts, told again, changed and contradicted, amid talk that says nothing; a few
memories of each user are written twice, and some hold a key or a date that hangs on the day. The structure is that which Mem0 2.2 makes.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import numpy as np
from psycopg import sql

from benchmarks.calendars import conversations
from benchmarks.vocabulary import Dice
from slowwave.models.embedder import Embedder
from slowwave.store.logins import Connection

TALKERS: Final = 25
"""Conversations that users are drawn from. Whom a user speaks of has a surname that no other user knows; the vector is that of the text
without it, as embedding all of them would take longer than all that is measured."""

_BEGIN: Final = (
    "Ba",
    "Co",
    "Da",
    "Fe",
    "Gu",
    "Ha",
    "Ju",
    "Ko",
    "La",
    "Mo",
    "Na",
    "Pi",
    "Ro",
    "Si",
    "Ta",
    "Ve",
    "Wi",
    "Zo",
)
_END: Final = (
    "berg",
    "dani",
    "feld",
    "hart",
    "kova",
    "lund",
    "mann",
    "nes",
    "roux",
    "sen",
    "son",
    "stad",
    "ton",
    "vik",
    "wood",
    "zzi",
)

_KEY: Final = "The key of the tide gauge is sk-live-{:032x}, do not lose it."
_TABLE: Final = "CREATE TABLE {} (id uuid PRIMARY KEY, vector vector({}), payload jsonb)"
_INDEX: Final = "CREATE INDEX {} ON {} USING hnsw (vector vector_cosine_ops)"
_WORDS: Final = "CREATE INDEX {} ON {} USING gin (to_tsvector('simple', payload ->> 'text_lemmatized'))"


def collection(
    connection: Connection, name: str, users: int, each: int, end: datetime, embedder: Embedder, *, hnsw: bool
) -> int:
    """Make and fill a table with ``each`` memories of ``users`` users; returns how many rows it has."""
    table = sql.Identifier(name)
    connection.execute(sql.SQL(_TABLE).format(table, sql.Literal(embedder.dimensions)))
    rows = list(_rows(users, each, end))
    texts = list(dict.fromkeys(plain for _, _, plain, _ in rows))
    found = dict(zip(texts, _written(embedder.embed(texts)), strict=True))
    with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} (id, vector, payload) FROM STDIN").format(table)) as copy,
    ):
        for number, (user, text, plain, at) in enumerate(rows):
            id_ = uuid.uuid5(uuid.NAMESPACE_OID, f"{name}/{number}")
            copy.write_row((str(id_), found[plain], _payload(user, text, at)))
    if hnsw:
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute(sql.SQL(_INDEX).format(sql.Identifier(f"{name}_hnsw"), table))
    connection.execute(sql.SQL(_WORDS).format(sql.Identifier(f"{name}_words"), table))
    connection.execute(sql.SQL("ANALYZE {}").format(table))
    return len(rows)


def _rows(users: int, each: int, end: datetime) -> Iterator[tuple[str, str, str, datetime]]:
    """(user, text, the text before surnames, when), each user's in the order of time."""
    talks = [([t for t in c.turns if t.role == "user"], c.others) for c in conversations(min(users, TALKERS), end)]
    for number in range(users):
        user, dice = f"user-{number:04}", Dice("collection", number)
        turns, others = talks[number % len(talks)]
        surname = _BEGIN[number % 18] + _END[number // 18 % 16] + _END[number // 288 % 16]
        name = re.compile(rf"\b({'|'.join(others)})\b")
        chosen = sorted(dice.sample(range(len(turns)), min(len(turns), each - each // 20)))
        said = [(turns[n].text, turns[n].at) for n in chosen]
        said += [(text, end) for text, _ in dice.sample(said, each - len(said) - 1)]
        key = _KEY.format(dice.between(1, 1 << 120))
        yield from ((user, name.sub(rf"\1 {surname}", text), text, at) for text, at in said)
        yield user, key, _KEY, end


def _payload(user: str, text: str, at: datetime) -> str:
    return json.dumps(
        {
            "data": text,
            "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
            "user_id": user,
            "created_at": at.isoformat(),
            "updated_at": at.isoformat(),
            "text_lemmatized": text,
        }
    )


def _written(vectors: np.ndarray) -> list[str]:
    """Vectors as pgvector reads them."""
    return ["[" + ",".join(f"{x:.6g}" for x in vector) + "]" for vector in vectors.tolist()]
