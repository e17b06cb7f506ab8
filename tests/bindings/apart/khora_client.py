"""khora's own client in a process of its own, by lines of JSON (``lines``).

Runs by the Python of its own environment (`make test-stores`; khora needs Python 3.13), and imports nothing of this project. Arguments:
the database's address, that of a server that speaks OpenAI's protocol. tiktoken downloads its tables, so characters stand for tokens.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

from lines import Call, answer_with

DATABASE, MODELS = sys.argv[1:]
os.environ.update(
    KHORA_DATABASE_URL=DATABASE,
    OPENAI_API_KEY="none",
    OPENAI_API_BASE=MODELS,
    OPENAI_BASE_URL=MODELS,
    NO_PROXY="*",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    HOME=str(Path.cwd()),
)


def stand_in_for_tiktoken() -> None:
    """One token a character."""
    import tiktoken

    def encode(text: str, **_: object) -> list[int]:
        return [ord(c) for c in text]

    def decode(tokens: list[int], **_: object) -> str:
        return "".join(map(chr, tokens))

    def encode_batch(texts: list[str], **_: object) -> list[list[int]]:
        return [encode(text) for text in texts]

    whole = {"encode": encode, "encode_ordinary": encode, "decode": decode, "encode_batch": encode_batch}
    encoding = SimpleNamespace(name="characters", n_vocab=1114112, max_token_value=1114111, **whole)
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_, **__: encoding


@asynccontextmanager
async def client_of() -> AsyncGenerator[Call]:
    """What is done by its calls."""
    stand_in_for_tiktoken()
    from khora import Khora

    client = Khora(DATABASE, embedding_model="text-embedding-3-small", run_migrations=True, engine="chronicle")
    await client.connect()
    spaces = {}

    async def call(do: str, bank: str, **given: str | list[str]) -> object:
        if bank not in spaces:
            spaces[bank] = await client.create_namespace()
        space = getattr(spaces[bank], "namespace_id", None) or spaces[bank].id
        if do == "remember":
            for text in given["texts"]:
                await client.remember(
                    text, namespace=space, title=text[:40], entity_types=["PERSON"], relationship_types=["KNOWS"]
                )
            return str(spaces[bank].id)
        if do == "recall":
            found = await client.recall(given["query"], namespace=space, limit=10)
            return [chunk.content for chunk in found.chunks]
        raise ValueError(do)

    yield call
    await client.disconnect()


answer_with(client_of)
