"""Faults planted last: a problem for every operation that the world itself does not bring, with traps beside each.

They stand on rows and pages of their own and draw from a source of chance of their own, so that what was there before stays as
it was. Only here are instants older than the world: rows that were retired long ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from slowwave.demo.cast import Cast, CastEntity
from slowwave.demo.ground import Ground
from slowwave.demo.key import DeadReference, MergeTrap, NegativeExample, PlantedContradiction, Rename
from slowwave.demo.links import COOCCURRENCE, Links
from slowwave.demo.scribe import Row, Script
from slowwave.demo.world import World, parts

_LONG_AGO: Final = (430, 455, 480)
"""Days since rows were retired that a purge must find; recorded a hundred days before."""


@dataclass(slots=True)
class Faults:
    """What the key says about them; the rows are added to those of the namespace, a few edges are taken out of them."""

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
    accidents: set[str] = field(default_factory=set)  # edges that were taken out


def plant_faults(
    world: World, cast: Cast, script: Script, links: Links, rows: Mapping[str, list[Row]], now: datetime
) -> Faults:
    """Add rows to ``rows`` and return what they are. Every row of a table gets the columns that some of them need."""
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
        """Plant everything; ``planted`` are the rows that contradict each other already."""
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
        """Edges that are stated twice, so that the relation is seen to take one object, and one that is stated in two ways."""
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
        """Every plain entity has one number: that is how the predicate is seen to take one object."""
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
        """Take out edges that contradict others by chance: two objects where there is one, or both of a pair that looks alike.

        Duplicates count as the one thing that they are, so that no merge brings a contradiction to light.
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
        """The world has them already; the settings say what to make of most."""
        expertise, mapped = self.world.expertise, self.world.operations.normalize_schema
        for table, column, mapping, declared in (
            ("entities", "entity_type", mapped.entity_types, expertise.entity_types),
            ("relationships", "relationship_type", mapped.relationship_types, expertise.relationship_types),
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
        """An entity whose new type has its name already, so that the rename must become a merge."""
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
        new = self.world.operations.normalize_schema.entity_types[wanted.type]
        self.faults.renames.append(Rename("entities", figure.id, wanted.type, new, twin.id))
