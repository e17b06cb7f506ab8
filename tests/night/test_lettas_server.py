"""Plans on passages that Letta's own server wrote, from the night to the undo, with what the server sees before, between and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings.apart.process import NOT_INSTALLED, client, python_of, rows_of_all
from tests.bindings.clients import KEY, SAID, answer, texts
from tests.endpoints import Server
from tests.night.test_where_clients import TEA, applied, planned, starting

pytestmark = pytest.mark.skipif(not python_of("letta").exists(), reason=NOT_INSTALLED)

TABLES = ("archival_passages", "passage_tags", "archives", "archives_agents", "block", "agents", "messages")


def test_lettas_own_server_finds_what_should_be_there_before_between_and_after(store: Store, tmp_path: Path) -> None:
    """What is retired is in no search, listing or get, with its tags; what it inserts and deletes meanwhile works; a retired passage said
    again is there again; undo gives every row of every table back."""
    server = Server(answer)
    try:
        with client("letta", tmp_path, store.owner, f"{server.url}/v1") as call:
            call("insert", "anna", texts=texts(60, "Anna"))
            call("insert", "ben", texts=texts(60, "Ben")[len(SAID) :])
            found = call("list", "anna")
            listed = {id_: text for id_, text, _ in found}
            assert len(listed) == 60
            (archive,) = {of for _, _, of in found}
            assert starting([text for _, text, _ in call("search", "anna", query=TEA)]) == [TEA, f"{TEA}."]
            assert connect_store(store, "letta", grant=True).version == "letta 0.16"
            let_write(store, "letta", grant=True)
            (slug,) = [name for name in namespaces(store) if archive.removeprefix("archive-") in name]
            rows = rows_of_all(store, TABLES)
            plan = planned(store, slug)
            assert rows_of_all(store, TABLES) == rows
            result = applied(store, slug, plan)
            assert result.counts["applied"] == len(plan.items)
            now = {id_: text for id_, text, _ in call("list", "anna")}
            gone = listed.keys() - now.keys()
            assert len([id_ for id_ in gone if listed[id_].startswith(TEA)]) == 1, "one of the duplicate"
            assert [id_ for id_ in gone if KEY in listed[id_]], "and what holds a secret"
            assert len([id_ for id_ in gone if "staging database" in listed[id_]]) == 1
            assert len(starting([text for _, text, _ in call("search", "anna", query=TEA)])) == 1
            kept = next(id_ for id_, text in now.items() if text.startswith(TEA))
            assert call("get", "anna", id=kept).startswith(TEA)
            between = rows_of_all(store, TABLES)
            call("insert", "anna", texts=[TEA, "Anna keeps bees"])
            added = {text: id_ for id_, text, _ in call("list", "anna") if id_ not in now}
            assert added.keys() == {TEA, "Anna keeps bees"}
            call("delete", "anna", id=added["Anna keeps bees"])
            worked = rows_of_all(store, TABLES)
            undo_run(store, result.run_id)
            assert rows_of_all(store, TABLES) == rows - (between - worked) + (worked - between), (
                "every row as it was, but for the client's"
            )
            assert {id_: text for id_, text, _ in call("list", "anna")} == {**listed, added[TEA]: TEA}
            assert starting([text for _, text, _ in call("search", "anna", query=TEA)]) == [TEA, TEA, f"{TEA}."]
    finally:
        server.close()
