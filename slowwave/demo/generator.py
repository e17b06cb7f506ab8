"""A whole demo namespace as rows of the store, with its answer key.

Rows are those of ``slowwave.store.tables``; ids do not depend on the time, instants do. Writing them into a store belongs to
``slowwave.demo.load``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from slowwave.demo.cast import Cast, CastEntity, make_cast
from slowwave.demo.faults import Faults, plant_faults
from slowwave.demo.key import AnswerKey, DeadReference, SchemaDrift
from slowwave.demo.links import COOCCURRENCE, Links, make_links
from slowwave.demo.recalls import make_recalls
from slowwave.demo.scribe import Row, Script, write_script
from slowwave.demo.world import World, read_world

DEAD_SHARE: Final = 0.1
"""Share of rows that get dead references, per table."""

PINNED_ENTITIES: Final = 4

COMMUNITIES: Final = 2
"""Communities of five members and more that the edges of a namespace make, at least."""


@dataclass(frozen=True, slots=True)
class DemoNamespace:
    """One generated namespace: rows by table name, parents before children, and what was planted in them."""

    slug: str
    settings: Mapping[str, Any]
    rows: Mapping[str, list[Row]]
    key: AnswerKey


def generate(namespace: str, now: datetime) -> DemoNamespace:
    """The namespace of that slug as seen at ``now`` (aware). Equal arguments give equal results.

    Instants lie in the 80 days before ``now``, but for those of rows that were retired long ago. Raises ``Refused`` for a slug
    that is not in ``NAMESPACES``.
    """
    world = read_world(namespace)
    rng = random.Random(world.slug)  # noqa: S311 - a demo must be the same every time
    cast = make_cast(world, rng)
    script = write_script(world, cast, rng, now)
    links = make_links(world, cast, script, rng, now)
    recalls = make_recalls(world, script, rng, now)
    settings = {
        "expertise": world.expertise.model_dump(mode="json"),
        "blast_radius_share": world.blast_radius_share,
        "operations": world.operations.model_dump(mode="json", exclude_unset=True),
    }
    begun = now - timedelta(days=80)
    rows: dict[str, list[Row]] = {
        "namespaces": [
            {"id": world.id(), "slug": world.slug, "read_only": False, "settings": settings, "recorded_at": begun}
        ],
        "documents": script.documents,
        "chunks": script.chunks,
        "entities": [_entity(world, figure, number, begun) for number, figure in enumerate(cast.figures)],
        "entity_aliases": _aliases(world, cast, begun),
        "relationships": links.relationships,
        "memory_facts": links.facts,
        "memories": script.memories,
        "memory_versions": script.versions,
        "recall_events": recalls,
    }
    for entity in rng.sample([row for row in rows["entities"] if row["mention_count"] > 3], PINNED_ENTITIES):
        entity["pinned"] = True
    dead = _plant_dead_references(world, cast, script, links, rows, rng)
    faults = plant_faults(world, cast, script, links, rows, now)
    return DemoNamespace(world.slug, settings, rows, _key(world, cast, script, links, dead, faults))


def _entity(world: World, figure: CastEntity, number: int, begun: datetime) -> Row:
    when = begun + timedelta(minutes=11 * number)
    return {
        "id": figure.id,
        "namespace_id": world.id(),
        "external_id": f"entity-{number:03}",
        "source": "extraction",
        "entity_type": figure.type,
        "name": figure.name,
        "description": figure.description,
        "attributes": dict(figure.attributes),
        "source_document_ids": list(figure.documents),
        "source_chunk_ids": list(figure.chunks),
        "mention_count": len(figure.chunks),
        "confidence": 1.0,
        "pinned": False,
        "valid_from": when,
        "recorded_at": when,
    }


def _aliases(world: World, cast: Cast, when: datetime) -> list[Row]:
    return [
        {
            "id": world.id("alias", name, alias),
            "namespace_id": world.id(),
            "entity_id": cast.named(name).id,
            "alias": alias,
            "source": "conversation",
            "recorded_at": when + timedelta(days=2),
        }
        for name, aliases in world.aliases.items()
        for alias in aliases
    ]


def _plant_dead_references(
    world: World, cast: Cast, script: Script, links: Links, rows: Mapping[str, list[Row]], rng: random.Random
) -> list[DeadReference]:
    """Add references to chunks that never arrived or were retracted to a tenth of the rows of each table.

    A few facts and relationships lose all their live sources; an entity or a memory keeps its own. Rows that contradict each other
    keep theirs: they have one problem each.
    """
    spared = {row for item in (*links.contradictions, *links.two_of_many) for row in item.ids}
    wanted = {
        members[1].id
        for planted, members in zip(world.duplicates, map(cast.members, cast.duplicates), strict=True)
        if planted.dead
    }
    planted: list[DeadReference] = []
    for table in ("entities", "relationships", "memory_facts", "memories"):
        chosen = [row for row in rows[table] if row["id"] in wanted]
        rest = [row for row in rows[table] if row["id"] not in wanted]
        chosen += rng.sample(rest, round(DEAD_SHARE * len(rows[table])) - len(chosen))
        for number, row in enumerate(chosen):
            absent = world.id("absent chunk", table, number)
            dead = ([absent], [rng.choice(script.retracted)], [absent, rng.choice(script.retracted)])[number % 3]
            alone = table in ("relationships", "memory_facts") and number % 4 == 0
            at = rng.randint(0, len(row["source_chunk_ids"]))
            if row["id"] in spared:
                continue
            live = row["source_chunk_ids"]
            row["source_chunk_ids"] = dead if alone else [*live[:at], *dead, *live[at:]]
            planted.append(DeadReference(table, row["id"], tuple(dead)))
    return planted


def _key(
    world: World, cast: Cast, script: Script, links: Links, dead: list[DeadReference], faults: Faults
) -> AnswerKey:
    used = {spec.split()[1] for spec in world.edges.specs} | {COOCCURRENCE, world.single.relation}
    drift = SchemaDrift(
        new_entity_types=tuple(sorted({line.split(" | ")[0].split(" as ")[1] for line in world.drift.entities})),
        unused_entity_types=tuple(sorted(set(world.expertise.entity_types) - set(world.plain))),
        new_relationship_types=tuple(sorted(world.drift.relationship_types)),
        unused_relationship_types=tuple(sorted(set(world.expertise.relationship_types) - used)),
    )
    return AnswerKey(
        namespace=world.slug,
        duplicates=cast.duplicates,
        merge_traps=(*cast.traps, *links.traps, *script.traps, *faults.merge_traps),
        contradictions=(*links.contradictions, *script.contradictions, *faults.contradictions),
        dead_references=(*(row for row in dead if row.row_id not in faults.accidents), *faults.dead),
        orphans=tuple(figure.id for figure in cast.orphans),
        orphan_traps=tuple(figure.id for figure in (*cast.recalled, *cast.mentioned)),
        schema_drift=drift,
        relative_dates=tuple(script.relative_dates),
        duplicate_facts=tuple(faults.duplicate_facts),
        superseded=tuple(faults.superseded),
        weak_edges=tuple(faults.weak_edges),
        renames=tuple(faults.renames),
        duplicate_events=tuple(faults.duplicate_events),
        expired=tuple(faults.expired),
        retired=tuple(faults.retired),
        communities=COMMUNITIES,
        abstention=world.abstention.expected,
        traps=(*faults.traps, *links.two_of_many),
    )
