"""Stores as their own clients fill them: Mem0 on pgvector, LangGraph's PostgresStore with LangMem's tool. And an embedder for both."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from slowwave.store.connect import Store
from tests.endpoints import Server

MODEL: Final = "words-64"
DIMENSIONS: Final = 64
KEY: Final = "sk-live-4f9aQ7rT2mZx8LpKc3VbN6wYdHsE1uJg0oRi5tAe"

SAID: Final = (
    "Anna prefers tea over coffee",
    "Anna prefers tea over coffee.",
    "The staging database runs on port 5433",
    "The staging database runs on port 5434",
    "Anna met Clara yesterday at the harbour office",
    f"The billing API key is {KEY}",
)
"""A duplicate, a contradiction, a relative date and a secret."""


def embedding(text: str) -> list[float]:
    """A unit vector of the words of a text: the same words, the same vector."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"[a-z0-9]+", text.lower()):
        digest = hashlib.sha256(word.encode()).digest()
        for place, sign in ((0, 8), (2, 9), (4, 10)):
            vector[int.from_bytes(digest[place : place + 2], "little") % DIMENSIONS] += 1 if digest[sign] & 1 else -1
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else [1.0, *vector[1:]]


def answer(body: dict[str, Any], _number: int) -> tuple[int, Any, dict[str, str]]:
    """Embeddings as OpenAI's protocol has them, and a chat that extracts nothing."""
    if "input" not in body:
        return (
            200,
            {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "{}"}}]},
            {},
        )
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors: list[Any] = [embedding(text) for text in texts]
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *v)).decode() for v in vectors]
    data = [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(vectors)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return (
        200,
        {"object": "list", "model": body["model"], "data": data, "usage": usage},
        {"content-type": "application/json"},
    )


@contextmanager
def embedder() -> Iterator[Server]:
    """The server of both clients."""
    server = Server(answer)
    try:
        yield server
    finally:
        server.close()


def texts(count: int, of: str) -> list[str]:
    """Notes that have nothing to do with each other, after those that have."""
    people, things = (
        ("Ben", "Dmitri", "Eve", "Farah", "Goran"),
        ("lighthouse", "depot", "bicycle", "atlas", "violin", "kiln", "orchard"),
    )
    verbs = (
        "repairs the",
        "sold the",
        "painted the",
        "measured the",
        "insured the",
        "sketched the",
        "inherited the",
        "lent out the",
    )
    plain = [
        f"{people[n % 5]} {verbs[n % 8]} {things[n % 7]} number {1000 + 37 * n} of {of}"
        for n in range(count - len(SAID))
    ]
    return [*SAID, *plain]


def mem0_client(store: Store, server: Server, folder: Path, collection: str = "memories") -> Any:
    """Mem0's own client on the store's database. It asks nobody but the local server, and tells nobody anything."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "mem0")
    from mem0 import Memory

    endpoint = {"model": MODEL, "openai_base_url": f"{server.url}/v1", "api_key": "none"}
    vectors = {
        "connection_string": store.owner,
        "collection_name": collection,
        "embedding_model_dims": DIMENSIONS,
        "hnsw": True,
        "user": "unused",
        "password": "unused",
    }
    return Memory.from_config(
        {
            "vector_store": {"provider": "pgvector", "config": vectors},
            "llm": {"provider": "openai", "config": endpoint},
            "embedder": {"provider": "openai", "config": {**endpoint, "embedding_dims": DIMENSIONS}},
            "history_db_path": str(folder / "history.db"),
        }
    )


def fill_mem0(client: Any, count: int = 60) -> None:
    """Two users, ``count`` memories each, of which Anna's hold what is wrong; and one that ended long ago."""
    for text in texts(count, "Anna"):
        client.add(text, user_id="anna", infer=False, metadata={"topic": "notes"})
    for text in texts(count, "Ben")[len(SAID) :]:
        client.add(text, user_id="ben_w", infer=False)
    client.add("The temporary code word is heron", user_id="anna", infer=False, expiration_date="2026-01-01")


@contextmanager
def langgraph_client(store: Store, *, indexed: bool = True) -> Iterator[Any]:
    """LangGraph's own store on the database, with an index of its texts or without one."""
    from langgraph.store.postgres import PostgresStore

    index: Any = {"dims": DIMENSIONS, "embed": lambda found: [embedding(text) for text in found], "fields": ["content"]}
    with PostgresStore.from_conn_string(
        store.owner, index=index if indexed else None, ttl={"default_ttl": 60 * 24 * 365, "refresh_on_read": True}
    ) as client:
        client.setup()
        yield client


def fill_langgraph(client: Any, count: int = 60) -> None:
    """Two prefixes: LangMem's tool writes what is wrong, the client the rest, some of it without a text."""
    from langmem import create_manage_memory_tool

    tool = create_manage_memory_tool(namespace=("memories", "{user}"), store=client)
    for text in SAID:
        tool.invoke({"content": text, "action": "create"}, config={"configurable": {"user": "anna"}})
    for n, text in enumerate(texts(count, "Anna")[len(SAID) :]):
        client.put(("memories", "anna"), f"note-{n}", {"content": text, "importance": n % 3})
    for n, text in enumerate(texts(count, "Ben")[len(SAID) :]):
        client.put(("memories", "Ben W"), f"note-{n}", {"content": text})
    client.put(("memories", "anna"), "profile", {"name": "Anna", "languages": ["de", "en"]})


def digest_of(store: Store, *tables: str) -> str:
    """One hash of every row of some tables."""
    with store.connect("owner") as connection:
        found = [
            connection.execute(
                sql.SQL("SELECT md5(string_agg(t::text, '|' ORDER BY t::text COLLATE \"C\")) FROM {} AS t").format(
                    sql.Identifier(table)
                )
            ).fetchone()
            for table in tables
        ]
    return json.dumps(found)


def run_as_owner(store: Store, *statements: str) -> None:
    with psycopg.connect(store.owner, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
