"""Hindsight's own engine in a process of its own: a JSON line for each call, and one for its answer.

Runs by the Python of its own environment (`make test-stores`), and imports nothing of this project. Arguments: the database's address, that
of a server that speaks OpenAI's protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

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


async def main() -> None:
    """Answer calls until there is none; whatever libraries print goes to the errors, so that answers stay lines of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
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

    print(json.dumps({"found": "ready"}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = {"found": await call(**json.loads(line))}
        except Exception as problem:  # noqa: BLE001 - the test says what it means
            answer = {"problem": f"{type(problem).__name__}: {problem}"[:2000]}
        print(json.dumps(answer), file=answers, flush=True)
    await engine.close()


asyncio.run(main())
