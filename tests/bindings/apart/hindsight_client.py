"""Hindsight's own engine in a process of its own, by lines of JSON (``lines``).

Runs by the Python of its own environment (`make test-stores`), and imports nothing of this project. Arguments: the database's address, that
of a server that speaks OpenAI's protocol.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from lines import Call, answer_with

DATABASE, MODELS = sys.argv[1:]
for _name, _value in {
    "DATABASE_URL": DATABASE,
    "EMBEDDINGS_PROVIDER": "openai",
    "EMBEDDINGS_OPENAI_BASE_URL": MODELS,
    "EMBEDDINGS_OPENAI_API_KEY": "none",
    "EMBEDDINGS_OPENAI_MODEL": "words",
    "RERANKER_PROVIDER": "rrf",
    "LLM_PROVIDER": "openai",
    "LLM_BASE_URL": MODELS,
    "LLM_API_KEY": "none",
    "LLM_MODEL": "words",
    "SKIP_LLM_VERIFICATION": "true",
    "ENABLE_OBSERVATIONS": "false",
    "OTEL_TRACES_ENABLED": "false",
}.items():
    os.environ[f"HINDSIGHT_API_{_name}"] = _value
os.environ.update(NO_PROXY="*", OPENAI_API_KEY="none")


@asynccontextmanager
async def client_of() -> AsyncGenerator[Call]:
    """What is done by its calls."""
    from hindsight_api import MemoryEngine, RequestContext

    engine = MemoryEngine(db_url=DATABASE, skip_llm_verification=True)
    await engine.initialize()
    who = RequestContext(internal=True)

    async def call(do: str, bank: str, **given: str | list[str]) -> object:
        if do == "retain":
            contents = [{"content": f"@@{text}@@", "context": "chat"} for text in given["texts"]]
            await engine.retain_batch_async(bank_id=bank, contents=contents, request_context=who)
            return None
        if do == "recall":
            found = await engine.recall_async(
                bank_id=bank,
                query=given["query"],
                fact_type=["world", "experience"],
                request_context=who,
                max_tokens=400,
            )
            return [[str(one.id), one.text] for one in found.results]
        if do == "list":
            state = {"state": given["state"]} if "state" in given else {}
            found = await engine.list_memory_units(bank_id=bank, limit=500, request_context=who, **state)
            return [[str(one["id"]), one["text"], one.get("invalidation_reason")] for one in found["items"]]
        if do == "get":
            found = await engine.get_memory_unit(bank, given["id"], request_context=who)
            return found and found["text"]
        if do == "update":
            change = {name: value for name, value in given.items() if name != "id"}
            await engine.update_memory_unit(bank, given["id"], request_context=who, **change)
            return None
        if do == "delete":
            await engine.delete_memory_unit(given["id"], request_context=who)
            return None
        raise ValueError(do)

    yield call
    await engine.close()


answer_with(client_of)
