"""Line 14: ``slowwave namespace as-of`` knew memories only.

A night merged two entities, replaced a fact and retired a weak relationship. Asked what recall could have found the day before, ``as-of``
answered with memories alone: whom the agent knew, how they were related and what held of them was not there, although the journal holds
every cell that the night changed.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from typing import Any

from slowwave.changes.apply import apply_items
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.rows import Supersession, invalidate_rows, supersede_facts
from slowwave.changes.undo import undo_entries
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from tests.memories import MODEL, ago, ask, remember
from tests.snapshots import uid
from tests.store.test_as_of import clock
from tests.surfaces.cli.conftest import Run

SLUG = "then"


def world(store: Store) -> tuple[str, datetime]:
    """Mara under two names, her tool and her city; an instant after all was recorded."""
    namespace = remember(
        store,
        SLUG,
        entities=[
            {"id": "mara", "name": "Mara Reyes", "entity_type": "person", "mention_count": 9},
            {"id": "reyes", "name": "M. Reyes", "entity_type": "person", "mention_count": 1},
            {"id": "crane", "name": "Harbor crane", "entity_type": "tool", "mention_count": 5},
            {"id": "gone", "name": "Old crane", "entity_type": "tool", "valid_to": ago(30)},
        ],
        relationships=[
            {"id": f"r {a} {b}", "source_entity_id": a, "target_entity_id": b, "relationship_type": "USES"}
            for a, b in (("reyes", "crane"), ("mara", "crane"), ("crane", "mara"), ("mara", "gone"))
        ],
        memory_facts=[
            {"id": "oslo", "subject": "Mara", "predicate": "lives in", "object": "Oslo", "valid_from": ago(90)},
            {
                "id": "rotterdam",
                "subject": "Mara",
                "predicate": "lives in",
                "object": "Rotterdam",
                "valid_from": ago(9),
            },
        ],
    )
    for table in ("entities", "relationships", "memory_facts"):
        ask(store, f"UPDATE memory.{table} SET recorded_at = now() - interval '10 days'")
    return namespace, clock(store)


def night(store: Store, namespace: str) -> str:
    """The merge, the supersession and the retirement; returns the run."""
    snapshot = export_snapshot(store, SLUG, model=MODEL)
    mutations = [
        *merge_rows(snapshot, [Merge(uid("mara"), (uid("reyes"),))]),
        *supersede_facts(snapshot, [Supersession(uid("oslo"), uid("rotterdam"))]),
        invalidate_rows(snapshot, "relationships", {uid("r crane mara"): None}),
    ]
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        assert apply_items(connection, namespace, run, [Item("test", "change", m) for m in mutations]) == {}
    return run


def test_what_was_known_of_people_and_things_is_known_again(store: Store, run: Run) -> None:
    """Before the night, after it and after its undo: entities with their aliases, relationships between names, facts."""
    namespace, then = world(store)
    applied = night(store, namespace)
    now = clock(store)
    aliases = json.loads(run("namespace", "as-of", SLUG, now.isoformat(), "--json", "--text", "m. reyes")[1])[
        "entities"
    ]
    assert [(e["name"], e["aliases"]) for e in aliases] == [("Mara Reyes", ["M. Reyes"])]
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), applied)
    later = clock(store)

    def told(at: datetime, *options: str) -> dict[str, Any]:
        code, out, err = run("namespace", "as-of", SLUG, at.isoformat(), "--json", *options)
        assert code == 0, err
        found = json.loads(out)
        return {
            "entities": {e["name"] for e in found["entities"]},
            "edges": {(r["source"], r["relationship_type"], r["target"]) for r in found["relationships"]},
            "facts": {f["object"] for f in found["facts"]},
        }

    before = {
        "entities": {"Mara Reyes", "M. Reyes", "Harbor crane"},
        "edges": {
            ("M. Reyes", "USES", "Harbor crane"),
            ("Mara Reyes", "USES", "Harbor crane"),
            ("Harbor crane", "USES", "Mara Reyes"),
        },
        "facts": {"Oslo", "Rotterdam"},
    }
    assert told(then) == before
    assert told(now) == {
        "entities": {"Mara Reyes", "Harbor crane"},
        "edges": {("Mara Reyes", "USES", "Harbor crane")},  # the absorbed row's edge is folded into it
        "facts": {"Rotterdam"},
    }
    assert told(later) == before
    assert told(then - timedelta(days=20)) == {"entities": set(), "edges": set(), "facts": set()}
    assert told(then, "--text", "OSLO") == {"entities": set(), "edges": set(), "facts": {"Oslo"}}
    code, shown, _ = run("namespace", "as-of", SLUG, then.isoformat())
    assert (code, "Harbor crane" in shown, "Oslo" in shown) == (0, True, True)
