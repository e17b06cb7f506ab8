"""Plans on a store that khora's own client filled, from the night to the undo, with what the client sees before, between and after."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings.apart.process import NOT_INSTALLED, client, python_of, rows_of_all
from tests.bindings.clients import DIMENSIONS, SAID, answer, texts
from tests.endpoints import Server
from tests.night.test_where_clients import TEA, applied, planned

pytestmark = pytest.mark.skipif(not python_of("khora").exists(), reason=NOT_INSTALLED)

TABLES = ("chronicle_events", "memory_facts", "chunks", "documents", "entities", "relationships", "memory_namespaces")
WIDTH = 1536


def models(body: dict[str, Any], number: int) -> tuple[int, Any, dict[str, str]]:
    """Embeddings of words, filled up with zeros; of a chat, its text as an event or a fact, or the names in its sections."""
    if "messages" not in body:
        status, found, headers = answer({**body, "encoding_format": "float"}, number)
        for one in found["data"]:
            one["embedding"] += [0.0] * (WIDTH - DIMENSIONS)
        return status, found, headers
    asked, text = (str(message["content"]) for message in (body["messages"][0], body["messages"][-1]))
    subject, verb, *rest = text.split(maxsplit=2)
    told: object = {
        "sections": [{"entities": [], "relationships": [], "events": []} for _ in re.findall("SECTION", text)]
    }
    if "event extractor" in asked:
        found = {"subject": subject, "verb": verb, "object": " ".join(rest)[:40].rstrip("."), "confidence": 1.0}
        told = [{**found, "referenced_date": None, "relative_offset": "", "source_text": text}]
    elif "fact extractor" in asked:
        found = {"subject": subject, "predicate": verb, "object": " ".join(rest), "confidence": 1.0}
        told = [{**found, "fact_text": text}]
    message = {"role": "assistant", "content": json.dumps(told)}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    chat = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
    return 200, {**chat, "usage": usage}, {"content-type": "application/json"}


def test_khoras_own_client_goes_on_before_between_and_after(store: Store, tmp_path: Path) -> None:
    """Events that are retired stay in their table, as khora leaves them; it remembers and recalls meanwhile; undo gives every row of every
    table back but for what the client wrote."""
    server = Server(models)
    try:
        with client("khora", tmp_path, store.owner, f"{server.url}/v1") as call:
            anna = call("remember", "anna", texts=texts(60, "Anna"))
            call("remember", "ben", texts=texts(60, "Ben")[len(SAID) :])
            assert TEA in call("recall", "anna", query=TEA)
            found = connect_store(store, "khora", parameters={"read_only": ""}, grant=True)
            assert found.version.startswith("khora")
            assert found.rows is not None
            assert found.rows.rows >= 114
            let_write(store, "khora", grant=True)
            (slug,) = [name for name in namespaces(store) if anna in name]
            rows = rows_of_all(store, TABLES)
            plan = planned(store, slug)
            assert rows_of_all(store, TABLES) == rows
            result = applied(store, slug, plan)
            assert result.counts["applied"] == len(plan.items)
            between = rows_of_all(store, TABLES)
            assert {table for table, _ in rows - between} <= {"chronicle_events", "memory_facts"}
            assert (rows - between).total() == (between - rows).total() > 0
            with store.connect("owner") as connection:
                standing = connection.execute(
                    "SELECT source_text FROM public.chronicle_events WHERE invalidated_at IS NULL AND namespace_id = %s",
                    (anna,),
                ).fetchall()
            assert len([text for (text,) in standing if text.startswith(TEA)]) == 1
            assert TEA in call("recall", "anna", query=TEA), "chunks are khora's own, and stay"
            call("remember", "ben", texts=["Ben keeps bees"])
            assert "Ben keeps bees" in call("recall", "ben", query="bees")
            worked = rows_of_all(store, TABLES)
            undo_run(store, result.run_id)
            assert rows_of_all(store, TABLES) == rows - (between - worked) + (worked - between), (
                "every row as it was, but for the client's"
            )
    finally:
        server.close()
