"""Relationships, facts and past recalls of a demo agent."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from typing import Final

from slowwave.surfaces.demo.scribe import PlantedQuery, Row, Script
from slowwave.surfaces.demo.world import (
    Cast,
    CastEntity,
    MergeTrap,
    NegativeExample,
    PlantedContradiction,
    World,
    parts,
)

# Connections that a demo agent knows: relationships and facts, with injected shapes and contradictions.
#
# Injected shapes: duplicates that share neighbours, an edge between two duplicates of one entity (a merge makes it a self-loop), edges
# between duplicates of two entities (two merges share it), undeclared relationship types, entities without any edge.

RELATIONSHIPS: Final = 600
FACTS: Final = 90
"""Number of facts taken from edges; contradicting facts are added to these."""

SHARED_EDGES: Final = 8
COOCCURRENCE: Final = "ASSOCIATED_WITH"


@dataclass(frozen=True, slots=True)
class Spec:
    """A kind of edge that the world knows."""

    source: str
    relation: str
    target: str
    sentence: str


def _spec(line: str) -> Spec:
    head, sentence = parts(line)
    source, relation, target = head.split()
    return Spec(source, relation, target, sentence)


@dataclass(slots=True)
class Links:
    """Relationships and facts of a demo namespace, with their entries in the answer key."""

    relationships: list[Row] = field(default_factory=list)
    facts: list[Row] = field(default_factory=list)
    contradictions: list[PlantedContradiction] = field(default_factory=list)
    traps: list[MergeTrap] = field(default_factory=list)
    two_of_many: list[NegativeExample] = field(default_factory=list)


def make_links(world: World, cast: Cast, script: Script, rng: random.Random, now: datetime) -> Links:
    """Make edges and facts; the contradicting statements are written to a separate page in ``script``."""
    return _Weaver(world, cast, script, rng, now).weave()


class _Weaver:
    def __init__(self, world: World, cast: Cast, script: Script, rng: random.Random, now: datetime) -> None:
        self.world, self.cast, self.script, self.rng, self.now = world, cast, script, rng, now
        self.links = Links()
        self.specs = [_spec(line) for line in world.edges.specs]
        self.degree: Counter[str] = Counter()
        self.seen: set[tuple[str, str, str]] = set()
        self.families: dict[str, list[CastEntity]] = {}
        for figure in cast.figures:
            if not figure.apart:
                self.families.setdefault(figure.family, []).append(figure)

    def weave(self) -> Links:
        self._duplicates()
        self._drifted_types()
        self._edges_to_near_names()
        self._everyone()
        self._cooccurrences()
        while len(self.links.relationships) < RELATIONSHIPS:
            spec = self.rng.choice(self.specs)
            source = self._least(self.families[spec.source], set())
            self._edge(spec, source, self._least(self.families[spec.target], {source.group}))
        self._facts()
        self._contradicting_facts()
        return self.links

    def _edge(
        self, spec: Spec, source: CastEntity, target: CastEntity, chunk: str = "", weight: float = 1.0
    ) -> Row | None:
        """Add an edge unless it exists; its source is a chunk that names one end."""
        key = (source.id, target.id, spec.relation)
        if key in self.seen:
            return None
        self.seen.add(key)
        self.degree.update(key[:2])
        number = len(self.links.relationships)
        common = [c for c in source.chunks if c in target.chunks] or source.chunks
        chunk = chunk or self.rng.choice(common)
        when = self.now - timedelta(days=60) + timedelta(minutes=97 * number)
        row: Row = {
            "id": self.world.id("relationship", *key),
            "namespace_id": self.world.id(),
            "external_id": f"edge-{number:04}",
            "source_entity_id": source.id,
            "target_entity_id": target.id,
            "relationship_type": spec.relation,
            "description": spec.sentence.format(a=source.name, b=target.name),
            "source_chunk_ids": [chunk],
            "confidence": round(self.rng.uniform(0.6, 1.0), 2),
            "weight": weight,
            "valid_from": when,
            "recorded_at": when,
        }
        self.links.relationships.append(row)
        return row

    def _least(self, figures: list[CastEntity], without: set[str]) -> CastEntity:
        """Choose one of the three least connected figures outside the given groups."""
        free = [figure for figure in figures if figure.group not in without]
        free.sort(key=lambda figure: (self.degree[figure.id], figure.id))
        return self.rng.choice(free[:3])

    def _specs_of(self, family: str) -> list[Spec]:
        return [spec for spec in self.specs if family in (spec.source, spec.target)]

    def _join(self, spec: Spec, figure: CastEntity, other: CastEntity) -> Row | None:
        """Add an edge of the spec in the direction that its types require."""
        return self._edge(spec, figure, other) if spec.source == figure.family else self._edge(spec, other, figure)

    def _duplicates(self) -> None:
        groups = [self.cast.members(group) for group in self.cast.duplicates]
        for planted, members in zip(self.world.duplicates, groups, strict=True):
            family = members[0].family
            for spec in self.rng.sample(self._specs_of(family), 2):
                other = self._least(
                    self.families[spec.target if spec.source == family else spec.source], {members[0].group}
                )
                for member in members:
                    self._join(spec, member, other)
            if planted.loop:
                self._edge(
                    Spec(family, COOCCURRENCE, family, "{a} and {b} were named together."), members[0], members[1]
                )
        shared = 0
        for one, two in pairwise(groups):
            spec = next((s for s in self.specs if {s.source, s.target} == {one[0].family, two[0].family}), None)
            if spec is not None and shared < SHARED_EDGES:
                self._join(spec, one[1], two[1])
                shared += 1

    def _drifted_types(self) -> None:
        for number, drifted in enumerate(self.world.drift.relationship_types):
            spec = self.specs[number]
            for _ in range(3):
                source = self._least(self.families[spec.source], set())
                target = self._least(self.families[spec.target], {source.group})
                self._edge(Spec(spec.source, drifted, spec.target, spec.sentence), source, target)

    def _edges_to_near_names(self) -> None:
        """Add edges to two entities with similar names, of types that take many objects, so that both can be true."""
        for number, clash in enumerate(self.world.contradictions):
            if clash.table != "relationships":
                continue
            subject = self.cast.named(clash.subject)
            spec = next(
                s
                for s in self.specs
                if (s.source, s.relation, s.target) == (subject.family, clash.predicate, clash.type)
            )
            first, second = self.cast.rivals[number]
            rows = [row for row in (self._edge(spec, subject, first), self._edge(spec, subject, second)) if row]
            pair = (rows[0]["id"], rows[1]["id"])
            self.links.two_of_many.append(NegativeExample("contradictions", "two of many", "relationships", pair))
            self.links.traps.append(MergeTrap("contradiction", "relationships", pair))

    def _everyone(self) -> None:
        """Add edges until every figure that takes part has at least one typed edge."""
        for family, figures in self.families.items():
            for figure in figures:
                while not self.degree[figure.id]:
                    spec = self.rng.choice(self._specs_of(family))
                    others = self.families[spec.target if spec.source == family else spec.source]
                    self._join(spec, figure, self._least(others, {figure.group}))

    def _cooccurrences(self) -> None:
        """Associate the figures that are named in one turn, in id order, once."""
        for chunk, figures in self.script.named_together.items():
            for one, two in combinations(sorted(figures, key=lambda figure: figure.id), 2):
                spec = Spec(one.family, COOCCURRENCE, two.family, "{a} and {b} were named together.")
                self._edge(spec, one, two, chunk, round(self.rng.uniform(0.2, 0.6), 2))

    def _facts(self) -> None:
        names = {figure.id: figure.name for figure in self.cast.figures}
        typed = [row for row in self.links.relationships if row["relationship_type"] != COOCCURRENCE]
        for row in self.rng.sample(typed, FACTS):
            predicate = row["relationship_type"].lower().replace("_", " ")
            subject, value = names[row["source_entity_id"]], names[row["target_entity_id"]]
            self._fact(
                row["id"], subject, predicate, value, row["description"], row["source_chunk_ids"], row["recorded_at"]
            )

    def _fact(
        self, path: str, subject: str, predicate: str, value: str, text: str, chunks: list[str], when: datetime
    ) -> str:
        row: Row = {
            "id": self.world.id("fact", path),
            "namespace_id": self.world.id(),
            "external_id": f"fact-{len(self.links.facts):03}",
            "subject": subject,
            "predicate": predicate,
            "object": value,
            "fact_text": text,
            "confidence": round(self.rng.uniform(0.6, 1.0), 2),
            "source_chunk_ids": list(chunks),
            "valid_from": when,
            "recorded_at": when,
        }
        self.links.facts.append(row)
        return row["id"]

    def _contradicting_facts(self) -> None:
        """Add pairs of facts with one subject and predicate.

        The chunk of a fact is one that names its object, else one of any session.
        """
        sessions = [chunk for chunk, figures in self.script.named_together.items() if figures]
        for number, clash in enumerate(self.world.contradictions):
            if clash.table != "memory_facts":
                continue
            rivals = self.cast.rivals.get(number)
            values = (rivals[0].name, rivals[1].name) if rivals else (clash.objects[0], clash.objects[1])
            ids: list[str] = []
            for side, value in enumerate(values):
                chunk = rivals[side].chunks[0] if rivals else self.rng.choice(sessions)
                when = self.now - timedelta(days=45 - 10 * side, hours=number)
                text = f"{clash.subject} {clash.predicate} {value}."
                if value in ("always", "never"):
                    text = f"{clash.subject} {value} {clash.predicate}."
                ids.append(self._fact(f"{number}/{side}", clash.subject, clash.predicate, value, text, [chunk], when))
            pair = (ids[0], ids[1])
            self.links.contradictions.append(PlantedContradiction("memory_facts", pair, clash.subject, values))
            self.links.traps.append(MergeTrap("contradiction", "memory_facts", pair))


# Searches of a demo agent over sixty days: recall events, and the counters that they leave on memories.

WINDOW: Final = timedelta(days=60)

_PHRASINGS: Final = ("{}", "{}", "Remind me: {}")


def make_recalls(world: World, script: Script, rng: random.Random, now: datetime) -> list[Row]:
    """Make two or three recall events per question, ordered by time.

    Hits are ids of memories, chunks and entities, best first, with falling scores. Selected hits are those that the agent used: always
    the answer, at times its chunk and its subject. The answer's ``access_count`` and ``last_accessed_at`` are updated.
    """
    memories = {row["id"]: row for row in script.memories}
    elsewhere = [row["id"] for row in script.memories if row["kind"] == "episodic"]
    events: list[Row] = []
    for number, question in enumerate(script.questions):
        for repeat in range(rng.randint(2, 3)):
            earliest = max(question.asked_after, now - WINDOW)
            when = earliest + (now - earliest) * rng.uniform(0.02, 0.95)
            hits, selected = _answer(question, elsewhere, rng)
            scale = world.abstention.scale
            scores = sorted((round(scale * rng.uniform(0.31, 0.93), 4) for _ in hits), reverse=True)
            events.append(
                {
                    "id": world.id("recall", number, repeat),
                    "namespace_id": world.id(),
                    "external_id": f"recall-{number:03}-{repeat}",
                    "occurred_at": when,
                    "query": rng.choice(_PHRASINGS).format(question.text),
                    "hit_ids": hits,
                    "selected_ids": selected,
                    "scores": scores,
                }
            )
            answer = memories[question.memory]
            answer["access_count"] += 1
            answer["last_accessed_at"] = max(when, answer["last_accessed_at"] or when)
    return sorted(events, key=lambda event: (event["occurred_at"], event["id"]))


def _answer(question: PlantedQuery, elsewhere: list[str], rng: random.Random) -> tuple[list[str], list[str]]:
    """Return hits and selected hits. The answer comes first, or second in about a third of the cases."""
    about = [figure.id for figure in question.figures]
    hits = [question.memory, question.chunk, *about, *rng.sample(question.neighbours, min(2, len(question.neighbours)))]
    hits += [memory for memory in rng.sample(elsewhere, 3) if memory not in hits]
    selected = [question.memory]
    if rng.random() < 0.3:
        selected.append(question.chunk)
    if about and rng.random() < 0.2:
        selected.append(about[0])
    if rng.random() < 0.35:
        hits[0], hits[1] = hits[1], hits[0]
    return hits, selected
