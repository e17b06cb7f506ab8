"""A generator of a demo namespace as rows of the store, with its answer key and injected faults for every operation."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from slowwave.surfaces.demo.links import COOCCURRENCE, Links, make_links, make_recalls
from slowwave.surfaces.demo.scribe import Row, Script, write_script
from slowwave.surfaces.demo.world import (
    AnswerKey,
    Cast,
    CastEntity,
    DeadReference,
    MergeTrap,
    NegativeExample,
    PlantedContradiction,
    Rename,
    SchemaDrift,
    World,
    make_cast,
    parts,
    read_world,
)

# The base for injected faults: separate rows and pages in a demo namespace, and a separate random number generator.

_TOGETHER: Final = "{a} and {b} were named together."


class Ground:
    """A demo namespace to which rows are added, with instants before ``now``."""

    def __init__(self, world: World, cast: Cast, script: Script, rows: Mapping[str, list[Row]], now: datetime) -> None:
        self.world, self.cast, self.script, self.rows, self.now = world, cast, script, rows, now
        self.rng = random.Random(f"{world.slug} faults")  # noqa: S311 - a demo must be the same every time
        self.sentences = {
            (relation, source, target): sentence
            for head, sentence in map(parts, world.edges.specs)
            for source, relation, target in [head.split()]
        }
        self.page = self._document("logbook", "Logbook", 79)

    def _ago(self, days: float) -> datetime:
        return self.now - timedelta(days=days)

    def _document(self, name: str, title: str, days: float) -> Row:
        row = self.script.documents[0] | {
            "id": self.world.id("document", name),
            "external_id": name,
            "source": "notes",
            "title": title,
            "content": "",
            "valid_from": self._ago(days),
            "recorded_at": self._ago(days),
            "invalidated_at": None,
        }
        self.rows["documents"].append(row)
        return row

    def _chunk(self, text: str, days: float) -> str:
        """Add a live chunk with this text to the page of this module, and return its id."""
        ordinal = sum(row["document_id"] == self.page["id"] for row in self.rows["chunks"])
        row: Row = {
            "id": self.world.id("chunk", self.page["external_id"], ordinal),
            "namespace_id": self.world.id(),
            "external_id": f"{self.page['external_id']}/{ordinal}",
            "document_id": self.page["id"],
            "ordinal": ordinal,
            "content": " ".join(text.split()),
            "recorded_at": self._ago(days),
            "invalidated_at": None,
        }
        self.rows["chunks"].append(row)
        return row["id"]

    def _edge(
        self,
        path: tuple[object, ...],
        source: CastEntity,
        relation: str,
        target: CastEntity,
        text: str,
        *,
        days: float,
        retired: float | None = None,
        sources: list[str] | None = None,
        **more: object,
    ) -> Row:
        """Add an edge; if ``sources`` are not given, a new chunk of the page states it."""
        row: Row = {
            "id": self.world.id("planted edge", *path),
            "namespace_id": self.world.id(),
            "external_id": f"edge-{len(self.rows['relationships']):04}",
            "source_entity_id": source.id,
            "target_entity_id": target.id,
            "relationship_type": relation,
            "description": text,
            "properties": {},
            "confidence": round(self.rng.uniform(0.6, 1.0), 2),
            "weight": 1.0,
            "valid_from": self._ago(days),
            "recorded_at": self._ago(days),
            "invalidated_at": None if retired is None else self._ago(retired),
            "source_chunk_ids": [self._chunk(text, days)] if sources is None else sources,
            **more,
        }
        self.rows["relationships"].append(row)
        return row

    def _fact(self, path: tuple[object, ...], line: str, *, days: float, retired: float | None = None) -> str:
        subject, predicate, value = line.split(" | ")
        text = f"{subject} {predicate} {value.rstrip('.!')}."
        row: Row = {
            "id": self.world.id("planted fact", *path),
            "namespace_id": self.world.id(),
            "external_id": f"fact-{len(self.rows['memory_facts']):03}",
            "subject": subject,
            "predicate": predicate,
            "object": value,
            "fact_text": text,
            "confidence": round(self.rng.uniform(0.6, 1.0), 2),
            "source_chunk_ids": [self._chunk(text, days)],
            "is_active": retired is None,
            "valid_from": self._ago(days),
            "recorded_at": self._ago(days),
            "invalidated_at": None if retired is None else self._ago(retired),
        }
        self.rows["memory_facts"].append(row)
        return row["id"]

    def _event(self, path: tuple[object, ...], line: str, *, days: float) -> str:
        """Add a memory of the kind ``event``, with its chunk and its version."""
        subject, text = parts(line)
        when = self._ago(days)
        row: Row = {
            **self.script.memories[0],
            "id": self.world.id("planted event", *path),
            "external_id": f"event-{sum(row['kind'] == 'event' for row in self.rows['memories']):02}",
            "kind": "event",
            "ring": "short",
            "subject": subject,
            "author": self.world.agent,
            "source": "notes",
            "session_id": None,
            "importance": 0.5,
            "confidence": round(self.rng.uniform(0.7, 1.0), 2),
            "access_count": 0,
            "last_accessed_at": None,
            "pinned": False,
            "tags": ["logbook"],
            "source_document_ids": [self.page["id"]],
            "source_chunk_ids": [self._chunk(text, days)],
            "current_version_id": self.world.id("planted event version", *path),
            "valid_from": when,
            "recorded_at": when,
        }
        version: Row = {
            "id": row["current_version_id"],
            "namespace_id": self.world.id(),
            "memory_id": row["id"],
            "ordinal": 1,
            "content": text,
            "reason": "written",
            "recorded_at": when,
        }
        self.rows["memories"].append(row)
        self.rows["memory_versions"].append(version)
        return row["id"]

    def _sentence(self, source: CastEntity, relation: str, target: CastEntity) -> str:
        sentence = self.sentences.get((relation, source.family, target.family), _TOGETHER)
        return sentence.format(a=source.name, b=target.name)


# Faults injected last: a problem for every operation that the world itself does not contain, each with traps.
#
# They are on separate rows and pages and use a separate random number generator, so that the existing rows do not change. Only these rows
# have instants older than the world: rows that were retired long ago.

_LONG_AGO: Final = (430, 455, 480)
"""Age in days of the retirement of rows that a purge must find; the rows were recorded a hundred days earlier."""


@dataclass(slots=True)
class Faults:
    """The answer key's entries for the injected faults.

    The rows of the faults are added to those of the namespace, and a few edges are removed from them.
    """

    contradictions: list[PlantedContradiction] = field(default_factory=list)
    merge_traps: list[MergeTrap] = field(default_factory=list)
    dead: list[DeadReference] = field(default_factory=list)
    duplicate_facts: list[tuple[str, ...]] = field(default_factory=list)
    superseded: list[tuple[str, str]] = field(default_factory=list)
    weak_edges: list[str] = field(default_factory=list)
    renames: list[Rename] = field(default_factory=list)
    duplicate_events: list[tuple[str, ...]] = field(default_factory=list)
    expired: list[tuple[str, str]] = field(default_factory=list)
    retired: list[tuple[str, str]] = field(default_factory=list)
    traps: list[NegativeExample] = field(default_factory=list)
    accidents: set[str] = field(default_factory=set)  # removed edges


def plant_faults(
    world: World, cast: Cast, script: Script, links: Links, rows: Mapping[str, list[Row]], now: datetime
) -> Faults:
    """Add the faulty rows to ``rows`` and return their entries in the answer key.

    Every row of a table gets the columns that some of its rows need.
    """
    for row in rows["relationships"]:
        row |= {"properties": {}, "invalidated_at": None}
    for row in rows["memory_facts"]:
        row |= {"is_active": True, "invalidated_at": None}
    planter = _Planter(world, cast, script, rows, now)
    planter.plant({row for item in (*links.contradictions, *links.two_of_many) for row in item.ids})
    return planter.faults


class _Planter(Ground):
    def __init__(self, world: World, cast: Cast, script: Script, rows: Mapping[str, list[Row]], now: datetime) -> None:
        super().__init__(world, cast, script, rows, now)
        self.faults = Faults()

    def plant(self, planted: set[str]) -> None:
        """Inject everything; ``planted`` are the rows that already contradict each other."""
        self._single_relation()
        self._clashes()
        self._inventory()
        self._statements()
        self._occurrences()
        self._weak_edges()
        self._retired()
        self._renamed_twin()
        self._without_accidents(planted)
        self._drifted_rows()

    def _contradict(self, table: str, pair: tuple[str, str], subject: str, values: tuple[str, str], kind: str) -> None:
        self.faults.contradictions.append(PlantedContradiction(table, pair, subject, values, kind))
        self.faults.merge_traps.append(MergeTrap("contradiction", table, pair))

    def _single_relation(self) -> None:
        """Add edges that are stated twice, which shows that the relation takes one object, and one that is stated in two ways."""
        single = self.world.single

        def join(line: str, *path: object, days: float) -> tuple[Row, CastEntity, CastEntity]:
            source, target = map(self.cast.named, parts(line))
            text = single.sentence.format(a=source.name, b=target.name)
            return self._edge(("single", *path), source, single.relation, target, text, days=days), source, target

        for number, line in enumerate(single.stated_twice):
            for turn, days in enumerate((66, 31)):
                join(line, number, turn, days=days)
        (one, subject, first), (two, _, second) = (
            join(line, "clash", side, days=33 - side) for side, line in enumerate(single.clash)
        )
        values = (first.name, second.name)
        self._contradict("relationships", (one["id"], two["id"]), subject.name, values, "other object")

    def _clashes(self) -> None:
        for number, clash in enumerate(self.world.clashes):
            left, relation, right = parts(clash.edge)
            ends = [self.cast.named(left), self.cast.named(right)]
            ids: list[str] = []
            for side, text in enumerate(clash.says):
                source, target = ends[::-1] if side and clash.kind in ("reversed", "symmetric") else ends
                row = self._edge(
                    ("clash", number, side),
                    source,
                    relation,
                    target,
                    text,
                    days=44 - 2 * number - side,
                    properties=dict(clash.properties[side]),
                )
                ids.append(row["id"])
            pair = (ids[0], ids[1])
            if clash.trap:
                self.faults.traps.append(NegativeExample("contradictions", clash.kind, "relationships", pair))
            else:
                self._contradict("relationships", pair, left, clash.says, clash.kind)

    def _inventory(self) -> None:
        """Add one number for every plain entity, which shows that the predicate takes one object."""
        inventory = self.world.inventory
        changed = {parts(old)[0] for old, _ in self.world.statements.superseded}
        names = [parts(line)[0] for lines in self.world.plain.values() for line in lines]
        for number, name in enumerate(names):
            if name not in changed:
                line = f"{name} | {inventory.predicate} | {inventory.prefix}-{2000 + 37 * number}"
                self._fact(("inventory", number), line, days=60 - number / 4)

    def _statements(self) -> None:
        found, statements = self.faults, self.world.statements
        for number, lines in enumerate(statements.duplicates):
            ids = [self._fact(("duplicate", number, n), line, days=41 - 9 * n - number) for n, line in enumerate(lines)]
            found.duplicate_facts.append(tuple(ids))
        for section, pairs in (("duplicate facts", statements.apart), ("superseded facts", statements.compatible)):
            for number, (one, two) in enumerate(pairs):
                pair = (
                    self._fact((section, number, 0), one, days=52 - number),
                    self._fact((section, number, 1), two, days=17 - number),
                )
                found.traps.append(
                    NegativeExample(
                        section, "apart" if section == "duplicate facts" else "compatible", "memory_facts", pair
                    )
                )
                found.traps.append(NegativeExample("contradictions", "compatible", "memory_facts", pair))
        for number, (old, new) in enumerate(statements.superseded):
            pair = (
                self._fact(("superseded", number, 0), old, days=74 - number),
                self._fact(("superseded", number, 1), new, days=9 - number),
            )
            found.superseded.append(pair)

    def _occurrences(self) -> None:
        found, occurrences = self.faults, self.world.occurrences
        for number, lines in enumerate(occurrences.duplicates):
            ids = [
                self._event(("duplicate", number, n), line, days=28 - 5 * number - 2 * n)
                for n, line in enumerate(lines)
            ]
            found.duplicate_events.append(tuple(ids))
        for number, line in enumerate(occurrences.monthly):
            pair = tuple(self._event(("monthly", number, n), line, days=61 - 30 * n) for n in range(2))
            found.traps.append(NegativeExample("duplicate events", "a month apart", "memories", pair))
        for number, lines in enumerate(occurrences.differing):
            pair = tuple(self._event(("differing", number, n), line, days=15 - n) for n, line in enumerate(lines))
            found.traps.append(NegativeExample("duplicate events", "another number", "memories", pair))
            found.merge_traps.append(MergeTrap("number", "memories", (pair[0], pair[1])))

    def _weak_edges(self) -> None:
        weak = self.world.weak

        def associate(section: str, number: int, line: str, *, confidence: float, dead: bool) -> Row:
            left, *relation, right = parts(line)
            source, target = self.cast.named(left), self.cast.named(right)
            kind = relation[0] if relation else COOCCURRENCE
            sources: list[str] | None = None
            if dead:
                absent = self.world.id("absent chunk", section, number)
                sources = [(absent, self.rng.choice(self.script.retracted))[number % 2]]
            elif section == "asserted":
                sources = []
            row = self._edge(
                ("weak", section, number),
                source,
                kind,
                target,
                self._sentence(source, kind, target),
                days=55 - number,
                confidence=confidence,
                weight=0.3,
                sources=sources,
            )
            if dead:
                dead_ids = tuple(row["source_chunk_ids"])
                self.faults.dead.append(DeadReference("relationships", row["id"], dead_ids))
            return row

        for number, line in enumerate(weak.unsupported):
            confidence = round(0.2 + 0.05 * number, 2)
            self.faults.weak_edges.append(associate("weak", number, line, confidence=confidence, dead=True)["id"])
        for section, lines, confidence, dead in (
            ("supported", weak.supported, 0.3, False),
            ("strong", weak.strong, 0.9, True),
            ("asserted", weak.asserted, 0.3, False),
            ("typed", weak.typed, 0.3, True),
        ):
            for number, line in enumerate(lines):
                row = associate(section, number, line, confidence=confidence, dead=dead)
                self.faults.traps.append(NegativeExample("weak edges", section, "relationships", (row["id"],)))

    def _retired(self) -> None:
        retired, found = self.world.retired, self.faults

        def fact(section: str, number: int, line: str, gone: float | None, known: float) -> str:
            return self._fact((section, number), line, days=known, retired=gone)

        def edge(section: str, number: int, line: str, gone: float) -> str:
            left, relation, right = parts(line)
            source, target = self.cast.named(left), self.cast.named(right)
            text = self._sentence(source, relation, target)
            return self._edge(
                (section, number), source, relation, target, text, days=gone + 100 if gone > 80 else 70, retired=gone
            )["id"]

        for number, line in enumerate(retired.facts):
            gone = _LONG_AGO[number % 3]
            row = fact("expired", number, line, gone, gone + 100)
            found.expired.append(("memory_facts", row))
            found.retired.append(("memory_facts", row))
        for number, line in enumerate(retired.edges):
            row = edge("expired", number, line, _LONG_AGO[number % 3])
            found.expired.append(("relationships", row))
            found.retired.append(("relationships", row))
        for number, line in enumerate(retired.fresh_facts):
            row = fact("fresh", number, line, 30, 70)
            found.traps.append(NegativeExample("expired rows", "retired lately", "memory_facts", (row,)))
            found.retired.append(("memory_facts", row))
        for number, line in enumerate(retired.fresh_edges):
            row = edge("fresh", number, line, 30)
            found.traps.append(NegativeExample("expired rows", "retired lately", "relationships", (row,)))
            found.retired.append(("relationships", row))
        for number, line in enumerate(retired.lasting):
            row = fact("lasting", number, line, None, 530)
            found.traps.append(NegativeExample("expired rows", "old but valid", "memory_facts", (row,)))

    def _without_accidents(self, planted: set[str]) -> None:
        """Remove edges that contradict others by chance.

        They lead to a second object of a relation that takes one, or to an object that looks like another one of the same subject.

        Duplicates count as one entity, so that a merge does not create a contradiction.
        """
        groups = {figure.id: figure.group for figure in self.cast.figures}
        single = {self.world.single.relation, *self.world.single.also}
        kept = planted.union(*(item.ids for item in (*self.faults.contradictions, *self.faults.traps)))
        objects: dict[tuple[str, str], set[str]] = {}
        gone: set[str] = set()

        def thing(row: str) -> str:
            group = groups.get(row, row)
            return group if group.startswith("duplicate/") else row

        for row in sorted(self.rows["relationships"], key=lambda row: row["id"] not in kept):
            relation, target = row["relationship_type"], row["target_entity_id"]
            known = objects.setdefault((thing(row["source_entity_id"]), relation), set())
            others = {other for other in known if thing(other) != thing(target)}
            rivals = {other for other in others if groups.get(other) == groups.get(target, "")}
            if row["id"] not in kept and (rivals or (others and relation in single)):
                gone.add(row["id"])
            else:
                known.add(target)
        self.rows["relationships"][:] = [row for row in self.rows["relationships"] if row["id"] not in gone]
        self.faults.accidents |= gone

    def _drifted_rows(self) -> None:
        """Record the renames that the settings imply, and as traps the rows of undeclared types without a mapping."""
        expertise, mapped = self.world.expertise, self.world.operations["normalize_schema"]
        for table, column, mapping, declared in (
            ("entities", "entity_type", mapped["entity_types"], expertise.entity_types),
            ("relationships", "relationship_type", mapped["relationship_types"], expertise.relationship_types),
        ):
            known = {rename.row_id for rename in self.faults.renames}
            for row in self.rows[table]:
                kind = row[column]
                if row["id"] in known:
                    continue
                if kind in mapping:
                    self.faults.renames.append(Rename(table, row["id"], kind, mapping[kind]))
                elif kind not in declared:
                    self.faults.traps.append(NegativeExample("drifted types", "no mapping", table, (row["id"],)))

    def _renamed_twin(self) -> None:
        """Add an entity whose new type already has an entity of that name, so that the rename must become a merge."""
        wanted = self.world.renamed
        twin = self.cast.named(wanted.name)
        figure = CastEntity(
            self.world.id("entity", "renamed"), wanted.type, twin.family, wanted.name, wanted.description, twin.group
        )
        chunk = self._chunk(wanted.text, 24)
        self.rows["entities"].append(
            self.rows["entities"][0]
            | {
                "id": figure.id,
                "external_id": f"entity-{len(self.rows['entities']):03}",
                "entity_type": wanted.type,
                "name": wanted.name,
                "description": wanted.description,
                "attributes": {},
                "source_document_ids": [self.page["id"]],
                "source_chunk_ids": [chunk],
                "mention_count": 1,
                "pinned": False,
                "valid_from": self._ago(24),
                "recorded_at": self._ago(24),
            }
        )
        relation, name = parts(wanted.edge)
        target = self.cast.named(name)
        self._edge(("renamed",), figure, relation, target, self._sentence(figure, relation, target), days=23)
        new = self.world.operations["normalize_schema"]["entity_types"][wanted.type]
        self.faults.renames.append(Rename("entities", figure.id, wanted.type, new, twin.id))


# A whole demo namespace as rows of the store (``slowwave.store.tables``), with its answer key.
#
# Ids do not depend on the time, instants do. ``slowwave.surfaces.demo.load`` writes the rows into a store.

DEAD_SHARE: Final = 0.1
"""Share of the rows of each table that get dead references."""

PINNED_ENTITIES: Final = 4

COMMUNITIES: Final = 2
"""Minimum number of communities of five or more members in the edges of a namespace."""


@dataclass(frozen=True, slots=True)
class DemoNamespace:
    """One generated namespace: rows by table name, parents before children, and its answer key."""

    slug: str
    settings: Mapping[str, Any]
    rows: Mapping[str, list[Row]]
    key: AnswerKey


def generate(namespace: str, now: datetime) -> DemoNamespace:
    """Generate the demo namespace with this slug as of ``now`` (timezone-aware). Equal arguments give equal results.

    Instants lie in the 80 days before ``now``, except those of rows that were retired long ago. Raises ``Refused`` for a slug that is not
    in ``NAMESPACES``.
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
        "operations": world.operations,
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
