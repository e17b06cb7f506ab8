"""A namespace of people who are in it twice, with a sealed plan: merges that are decided, merges and archives that ask, and texts that
were written to deceive whoever reads them.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.rows import set_columns
from slowwave.plans.items import Item
from slowwave.plans.seal import Plan
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from tests.nights import write_a_plan
from tests.worlds import World, load_world

SLUG: Final = "harbor"
SCRIPT: Final = "<script>document.title='owned'</script>"
REORDERED: Final = "Mara \u202esreyer\u202c"
LONG: Final = "a very long note " * 62_500

_GIVEN: Final = ("Mara", "Noor", "Iris", "Tomas", "Zoë", "Anders", "Lucia", "Emeka", "Yuki", "Priya")
_FAMILY: Final = ("Reyes", "Haddad", "Lindqvist", "Okafor", "Tanaka", "Novak", "Silva", "Moreau")
_TOWNS: Final = ("Porto", "Bergen", "Gdansk", "Trieste")


def _id(namespace: str, name: str) -> str:
    return str(uuid.uuid5(uuid.UUID(namespace), name))


def plant(
    store: Store, *, asked: int = 12, decided: int = 6, archived: int = 3, hostile: bool = False, slug: str = SLUG
) -> Plan:
    """Write the namespace and its plan; of the items, ``asked + archived`` are questions."""
    namespace = str(uuid.uuid5(uuid.NAMESPACE_DNS, slug))
    base: dict[str, Any] = {"namespace_id": namespace}
    entities: list[dict[str, Any]] = []
    chunks: list[dict[str, Any]] = []
    document = {
        **base,
        "id": _id(namespace, "document"),
        "content": "Minutes of the harbour office.",
        "invalidated_at": None,
    }
    for n in range(asked + decided):
        given, family, town = _GIVEN[n % 10], _FAMILY[n // 10 % 8], _TOWNS[n % 4]
        names = (f"{given} {family} {n}", f"{family}, {given[0]}. {n}")
        if hostile and n < 2:
            names = (names[0], (SCRIPT, REORDERED)[n])
        for side, name in enumerate(names):
            entities.append(
                {
                    **base,
                    "id": _id(namespace, f"person {n} {side}"),
                    "external_id": f"{n}-{side}",
                    "entity_type": "person",
                    "name": name,
                    "description": LONG
                    if hostile and n == 2
                    else f"Works in the harbour office of {town}" + (" since 2019" * side),
                    "attributes": {
                        "email": f"{given.lower()}{n}@harbor.example",
                        "town": town if side else f"{town} (north)",
                    },
                    "source_chunk_ids": [_id(namespace, f"passage {n}")],
                    "invalidated_at": None,
                }
            )
        text = (
            f"The office met on Monday. {names[0]} signed for the crane, {names[1]} was thanked for it. Then all left."
        )
        chunks.append(
            {
                **base,
                "id": _id(namespace, f"passage {n}"),
                "document_id": document["id"],
                "content": text,
                "invalidated_at": None,
            }
        )
    memories = [
        {
            **base,
            "id": _id(namespace, f"memory {n}"),
            "kind": "episodic",
            "state": "active",
            "current_version_id": _id(namespace, f"text {n}"),
            "invalidated_at": None,
        }
        for n in range(archived)
    ]
    versions = [
        {
            **base,
            "id": _id(namespace, f"text {n}"),
            "memory_id": m["id"],
            "ordinal": 1,
            "content": f"The tide table of week {n} hangs by the door.",
        }
        for n, m in enumerate(memories)
    ]
    rows = {
        "documents": [document],
        "chunks": chunks,
        "entities": entities,
        "memories": memories,
        "memory_versions": versions,
    }
    world = World(slug, namespace, rows)
    load_world(store, world)
    snapshot = export_snapshot(store, slug)
    pairs = [Merge(_id(namespace, f"person {n} 0"), (_id(namespace, f"person {n} 1"),)) for n in range(asked + decided)]
    by_id = {e["id"]: e for e in entities}
    items: list[Item] = []
    for n, mutation in enumerate(merge_rows(snapshot, pairs)):
        assert mutation.keep
        names = [by_id[row.id]["name"] for row in (mutation.keep, *mutation.absorb)]
        p = round(0.35 + 0.6 * (n % asked) / asked, 3) if n < asked else 0.9991
        waterfall = [
            {"evidence": "prior", "weight": -4.2},
            {
                "evidence": "name",
                "weight": 2.9 + n % 3,
                "detail": "The family names are the same, one given name is an initial",
            },
            {
                "evidence": "email",
                "weight": 3.4,
                "detail": "The same e-mail address",
                "value": by_id[mutation.keep.id]["attributes"]["email"],
            },
            {"evidence": "town", "weight": -1.3, "detail": "The towns differ a little"},
        ]
        sources = (_id(namespace, f"passage {n}"),)
        evidence = {"names": names, "waterfall": waterfall}
        decision, risk = ("review", ("medium", "high")[n % 2]) if n < asked else ("merge", "low")
        items.append(Item("dedupe_entities", decision, mutation, evidence, risk=risk, sources=sources, probability=p))
    archives = (
        set_columns(snapshot, "set_state", "memories", {m["id"]: {"state": "archived"} for m in memories})
        if memories
        else []
    )
    items += [
        Item("archive_stale", "review", m, {"reason": "Nobody asked for it in a year."}, risk="low") for m in archives
    ]
    _, plan = write_a_plan(store, world, items=items)
    return plan
