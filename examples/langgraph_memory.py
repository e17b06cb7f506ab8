"""Memories of a LangGraph agent in its PostgresStore: fill the store, then let Slowwave work on it in place.

Install `slowwave[stores]` and set SLOWWAVE_DATABASE_URL to a PostgreSQL database with pgvector whose owner you are.
"""

import hashlib
import os
import subprocess

from langgraph.store.postgres import PostgresStore

DIMENSIONS = 64


def embed(texts: list[str]) -> list[list[float]]:
    """Embed texts by their words; use your own embedding model instead."""
    found = [[0.01] * DIMENSIONS for _ in texts]
    for vector, text in zip(found, texts, strict=True):
        for word in text.lower().split():
            vector[int(hashlib.sha256(word.strip(".,").encode()).hexdigest(), 16) % DIMENSIONS] += 1.0
    return found


def slowwave(*arguments: str) -> None:
    """Run a command as you would in a shell, and print it first."""
    print("$ slowwave", *arguments, flush=True)
    subprocess.run(["slowwave", *arguments], check=True)


index = {"dims": DIMENSIONS, "embed": embed, "fields": ["content"]}
with PostgresStore.from_conn_string(os.environ["SLOWWAVE_DATABASE_URL"], index=index) as store:
    store.setup()
    for n, text in enumerate(
        (
            "Anna prefers tea over coffee",
            "Anna prefers tea over coffee.",
            "The staging database runs on port 5433",
            "The staging database runs on port 5434",
            "Anna met Clara yesterday at the harbour office",
        )
    ):
        store.put(("memories", "anna"), f"note-{n}", {"content": text})

slowwave("migrate")
slowwave("connect", "langgraph", "--text", "content", "--grant")
slowwave("night", "langgraph-memories.anna")  # shows what it would propose: the store is only read
