"""Memories of Mem0 on pgvector: add some as an agent does, then let Slowwave work on the collection in place.

Install `slowwave[stores]`, set SLOWWAVE_DATABASE_URL to a PostgreSQL database with pgvector whose owner you are, and OPENAI_API_KEY (with
OPENAI_BASE_URL, EMBEDDING_MODEL and EMBEDDING_DIMENSIONS for another server).
"""

import os
import subprocess

from mem0 import Memory

MODEL = os.environ.get("EMBEDDING_MODEL", "text-embedding-3-small")
DIMENSIONS = int(os.environ.get("EMBEDDING_DIMENSIONS", "1536"))


def slowwave(*arguments: str) -> None:
    """Run a command as you would in a shell, and print it first."""
    print("$ slowwave", *arguments, flush=True)
    subprocess.run(["slowwave", *arguments], check=True)


client = Memory.from_config(
    {
        "vector_store": {
            "provider": "pgvector",
            "config": {
                "connection_string": os.environ["SLOWWAVE_DATABASE_URL"],
                "collection_name": "memories",
                "embedding_model_dims": DIMENSIONS,
                "user": "unused",  # Mem0 requires both, and the address above has them
                "password": "unused",
            },
        },
        "embedder": {"provider": "openai", "config": {"model": MODEL, "embedding_dims": DIMENSIONS}},
    }
)
for text in (
    "Anna prefers tea over coffee",
    "Anna prefers tea over coffee.",
    "The staging database runs on port 5433",
    "The staging database runs on port 5434",
    "Anna met Clara yesterday at the harbour office",
):
    client.add(text, user_id="anna", infer=False)

slowwave("migrate")
slowwave("connect", "mem0", "--collection", "memories", "--grant")
slowwave("night", "mem0-anna")  # shows what it would propose: the collection is only read
