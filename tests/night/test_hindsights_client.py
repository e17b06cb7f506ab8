"""Plans on a store that Hindsight's own engine filled, from the night to the undo, with what the engine sees before, between and after."""

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
from tests.bindings.apart.process import NOT_INSTALLED, client, python_of, rows_of_all
from tests.bindings.clients import KEY, SAID, answer, texts
from tests.endpoints import Server
from tests.night.test_where_clients import TEA, applied, planned, starting

pytestmark = pytest.mark.skipif(not python_of("hindsight").exists(), reason=NOT_INSTALLED)

TABLES = (
    "memory_units",
    "invalidated_memory_units",
    "entities",
    "unit_entities",
    "memory_links",
    "documents",
    "chunks",
    "entity_cooccurrences",
)


def models(body: dict[str, Any], number: int) -> tuple[int, Any, dict[str, str]]:
    """Embeddings of words; of a chat, each text between marks as a fact."""
    if "messages" not in body:
        return answer(body, number)
    said = re.findall("@@(.*?)@@", json.dumps(body["messages"], ensure_ascii=False))
    facts = [
        {
            **{"what": text, "when": "N/A", "where": "N/A", "who": "N/A", "why": "N/A"},
            **{"fact_kind": "conversation", "fact_type": "world", "causal_relations": []},
            "entities": [{"text": name} for name in re.findall(r"\b[A-Z][a-z]+\b", text)[:2]],
        }
        for text in dict.fromkeys(said)
    ]
    message = {"role": "assistant", "content": json.dumps({"facts": facts})}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    told = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
    return 200, {**told, "usage": usage}, {"content-type": "application/json"}


def test_hindsights_own_engine_finds_what_should_be_there_before_between_and_after(
    store: Store, tmp_path: Path
) -> None:
    """What is retired is in its own archive, and in no search; what it retains, edits, invalidates and takes back meanwhile works; a
    retired fact said again is added again; undo gives every row of every table back."""
    server = Server(models)
    try:
        with client("hindsight", tmp_path, store.owner, f"{server.url}/v1") as call:
            for bank, all_texts in (("anna", texts(60, "Anna")), ("ben", texts(60, "Ben")[len(SAID) :])):
                for at in range(0, len(all_texts), 10):
                    call("namespace", "retain", bank, texts=all_texts[at : at + 10])
            listed = {id_: text for id_, text, _ in call("list", "anna")}
            assert len(listed) == 60
            assert starting([text for _, text in call("recall", "anna", query=TEA)]) == [TEA, f"{TEA}."]
            found = connect_store(store, "hindsight", grant=True)
            assert found.version.startswith("hindsight")
            let_write(store, "hindsight", grant=True)
            rows = rows_of_all(store, TABLES)
            plan = planned(store, "hindsight-anna")
            assert rows_of_all(store, TABLES) == rows
            result = applied(store, "hindsight-anna", plan)
            assert result.counts["applied"] == len(plan.items)
            now = {id_: text for id_, text, _ in call("list", "anna")}
            gone = listed.keys() - now.keys()
            assert len([listed[id_] for id_ in gone if listed[id_].startswith(TEA)]) == 1, "one of the duplicate"
            assert [listed[id_] for id_ in gone if KEY in listed[id_]], "and what holds a secret"
            assert len([listed[id_] for id_ in gone if "staging database" in listed[id_]]) == 1
            archived = {id_: why for id_, _, why in call("list", "anna", state="invalidated")}
            assert archived == dict.fromkeys(gone, "retired by a plan of slowwave")
            assert len(starting([text for _, text in call("recall", "anna", query=TEA)])) == 1
            assert not {id_ for id_, _ in call("recall", "anna", query=f"billing key {KEY}")} & gone
            kept = next(id_ for id_, text in now.items() if text.startswith(TEA))
            assert call("get", "anna", id=kept).startswith(TEA)
            between = rows_of_all(store, TABLES)
            call("namespace", "retain", "anna", texts=[TEA])
            (again,) = {id_ for id_, text, _ in call("list", "anna") if text == TEA} - {kept}
            call("namespace", "retain", "ben", texts=["Ben keeps bees"])
            (bees,) = [id_ for id_, text, _ in call("list", "ben") if "bees" in text]
            call("update", "ben", id=bees, text="Ben keeps two hives of bees")
            assert call("get", "ben", id=bees) == "Ben keeps two hives of bees"
            call("update", "ben", id=bees, state="invalidated", reason="by the client")
            assert bees not in {id_ for id_, _, _ in call("list", "ben")}
            call("update", "ben", id=bees, state="valid")
            call("delete", "ben", id=bees)
            assert bees not in {id_ for id_, _, _ in call("list", "ben")}
            worked = rows_of_all(store, TABLES)
            undo_run(store, result.run_id)
            assert rows_of_all(store, TABLES) == rows - (between - worked) + (worked - between), (
                "every row as it was, but for the client's"
            )
            assert {id_: text for id_, text, _ in call("list", "anna")} == {**listed, again: TEA}
            assert starting([text for _, text in call("recall", "anna", query=TEA)]) == [TEA, TEA, f"{TEA}."]
    finally:
        server.close()
