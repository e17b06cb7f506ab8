"""The hand-written material of a demo namespace, its cast, and the answer key of its injected problems."""

from __future__ import annotations

import random
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from slowwave.errors import Refused
from slowwave.store.settings import Expertise

# The hand-written material of a demo namespace, loaded from ``material/*.toml`` and validated.
#
# The other modules of this package use it; no text of a world is written in Python.

_FILES: Final = {"demo-harbor": "harbor.toml", "demo-maple": "maple.toml", "demo-lattice": "lattice.toml"}
NAMESPACES: Final[tuple[str, ...]] = tuple(_FILES)
"""Slugs of the demo namespaces."""

_DEMO: Final = uuid.UUID("6f1d5f0e-7a0c-5d8a-9b1e-2c6f00d3a001")


class _Material(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Duplicates(_Material):
    """Rows that describe one entity under several names.

    ``attributes`` are shared; ``loop`` joins two of the rows by an edge; ``dead`` gives one of the rows a dead reference.
    """

    kind: str
    type: str
    rows: tuple[str, ...]
    attributes: dict[str, str] = {}
    loop: bool = False
    dead: bool = False


class Trap(_Material):
    """Two entities that look like one. ``attributes`` has one mapping per row, and the mappings disagree."""

    kind: str
    type: str
    rows: tuple[str, str]
    attributes: tuple[dict[str, str], dict[str, str]]


class Contradiction(_Material):
    """Two statements that cannot both hold: two ``objects`` or two ``entities`` of one subject, or two whole ``texts``."""

    table: Literal["memory_facts", "relationships", "memories"]
    subject: str = ""
    predicate: str = ""
    objects: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    type: str = ""
    entities: tuple[str, ...] = ()
    attributes: tuple[dict[str, str], ...] = ()


class Drift(_Material):
    """Types in use that are not declared; an entity is written ``TYPE as drifted | name | description``."""

    entities: tuple[str, ...]
    relationship_types: tuple[str, ...]


class Orphans(_Material):
    """Weakly connected entities: ``TYPE | name | description | text…``; the last part of ``recalled`` is a question."""

    found: tuple[str, ...]
    recalled: tuple[str, ...]
    mentioned: tuple[str, ...]
    rim: tuple[str, ...]


class EdgeSpecs(_Material):
    """Edge templates: ``TYPE RELATION TYPE | sentence`` with {a} and {b}."""

    specs: tuple[str, ...]


class Scene(_Material):
    """A conversation: ``speaker: text`` turns, and ``turn: question`` for questions that a turn answers."""

    title: str
    turns: tuple[str, ...]
    asks: tuple[str, ...]


class Notes(_Material):
    """Statements outside conversations. ``relative`` alternates between the past and the future and holds {when}."""

    title: str
    lines: tuple[str, ...]
    pinned: tuple[str, ...]
    retracted: tuple[str, ...]
    relative: tuple[str, ...]


class Abstention(_Material):
    """The expected result of the threshold audit; recorded scores are multiplied by ``scale``."""

    expected: Literal["raise", "lower", "calibrated"]
    scale: float = 1.0


class Renamed(_Material):
    """An entity of an undeclared type that has the name of another one; ``edge`` is ``RELATION | name``."""

    type: str
    name: str
    description: str
    text: str
    edge: str


class Inventory(_Material):
    """A predicate that every plain entity has once, each with a different number."""

    predicate: str
    prefix: str


class Single(_Material):
    """A relation that takes one object.

    The edges (``name | name``) of ``stated_twice`` are stated in the same way twice. ``clash`` holds two edges that differ in the object.
    ``also`` are other relations of the world that take one object.
    """

    relation: str
    also: tuple[str, ...] = ()
    sentence: str
    stated_twice: tuple[str, ...]
    clash: tuple[str, str]


class Clash(_Material):
    """Two edges, ``name | RELATION | name``, with their texts in ``says``.

    For the kinds ``reversed`` and ``symmetric`` the second edge runs in the other direction. The two edges contradict each other unless
    they are a ``trap``.
    """

    kind: str
    edge: str
    says: tuple[str, str]
    properties: tuple[dict[str, str], dict[str, str]] = ({}, {})
    trap: bool = False


class Statements(_Material):
    """Facts, each as ``subject | predicate | object``.

    ``duplicates`` state one fact in several spellings. ``apart`` are two facts about different things. ``superseded`` are the older and
    the newer version of a fact that changed. ``compatible`` are two facts that can both hold.
    """

    duplicates: tuple[tuple[str, ...], ...]
    apart: tuple[tuple[str, str], ...]
    superseded: tuple[tuple[str, str], ...]
    compatible: tuple[tuple[str, str], ...]


class Occurrences(_Material):
    """Events, ``subject | text``: recorded several times, happening ``monthly``, and ``differing`` in a number."""

    duplicates: tuple[tuple[str, ...], ...]
    monthly: tuple[str, ...]
    differing: tuple[tuple[str, str], ...]


class Weak(_Material):
    """Associations, ``name | name``, that pruning should remove or keep.

    ``unsupported`` ones have a low confidence and no support. The others must stay: they are supported, strong, asserted by hand or, as
    ``name | RELATION | name``, of a type that is never pruned.
    """

    unsupported: tuple[str, ...]
    supported: tuple[str, ...]
    strong: tuple[str, ...]
    asserted: tuple[str, ...]
    typed: tuple[str, ...]


class Retired(_Material):
    """Facts and edges retired long ago, retired recently (``fresh``), and facts of the same age that still hold."""

    facts: tuple[str, ...]
    edges: tuple[str, ...]
    fresh_facts: tuple[str, ...]
    fresh_edges: tuple[str, ...]
    lasting: tuple[str, ...]


class World(_Material):
    """Everything written by hand about one namespace."""

    slug: str
    agent: str
    blast_radius_share: float
    expertise: Expertise
    plain: dict[str, tuple[str, ...]]
    drift: Drift
    aliases: dict[str, tuple[str, ...]]
    duplicates: tuple[Duplicates, ...]
    traps: tuple[Trap, ...]
    orphans: Orphans
    edges: EdgeSpecs
    words: dict[str, tuple[str, ...]]
    scenes: tuple[Scene, ...]
    notes: Notes
    contradictions: tuple[Contradiction, ...]
    operations: dict[str, dict[str, Any]]
    abstention: Abstention
    renamed: Renamed
    inventory: Inventory
    single: Single
    clashes: tuple[Clash, ...]
    statements: Statements
    occurrences: Occurrences
    weak: Weak
    retired: Retired

    def id(self, *path: object) -> str:
        """Return a 36-character id that is the same for the same path within this world at any time."""
        return str(uuid.uuid5(_DEMO, "/".join(map(str, (self.slug, *path)))))


@cache
def read_world(slug: str) -> World:
    """Load the material of one of ``NAMESPACES``. Raises ``Refused`` for another name."""
    if slug not in _FILES:
        raise Refused(
            f"There is no demo namespace {slug!r}, so nothing was generated. Choose one of {', '.join(NAMESPACES)}."
        )
    text = resources.files("slowwave.surfaces.demo").joinpath("material", _FILES[slug]).read_text("utf-8")
    return World.model_validate(tomllib.loads(text))


def parts(line: str) -> list[str]:
    """Split a ``a | b | c`` line into its fields."""
    return [part.strip() for part in line.split(" | ")]


# The answer key: the injected problems of a demo namespace. It is recorded at injection, never by detection.


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Entities that are one and the same. ``kind`` is the way in which their names differ."""

    kind: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergeTrap:
    """Two rows of ``table`` that look alike and must not be merged."""

    kind: str
    table: str
    ids: tuple[str, str]


@dataclass(frozen=True, slots=True)
class PlantedContradiction:
    """Two rows of ``table`` that cannot both be true, with the values in which they differ.

    ``kind`` is the kind of contradiction.
    """

    table: str
    ids: tuple[str, str]
    subject: str
    values: tuple[str, str]
    kind: str = "values"


@dataclass(frozen=True, slots=True)
class DeadReference:
    """A row whose ``source_chunk_ids`` name chunks that are absent or invalidated."""

    table: str
    row_id: str
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelativeDate:
    """A memory that contains ``phrase``; ``resolved`` is the ISO date that follows from its valid_from (in UTC)."""

    memory_id: str
    phrase: str
    resolved: str


@dataclass(frozen=True, slots=True)
class SchemaDrift:
    """Types in use but not declared (new) and declared but not in use (unused)."""

    new_entity_types: tuple[str, ...]
    unused_entity_types: tuple[str, ...]
    new_relationship_types: tuple[str, ...]
    unused_relationship_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NegativeExample:
    """Rows of ``table`` in which ``problem`` must not be detected: several rows together, or one row alone."""

    problem: str
    kind: str
    table: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rename:
    """A row of ``table`` whose type the namespace's settings map to another type.

    ``merges_into`` is the row that already has its name under that type.
    """

    table: str
    row_id: str
    old: str
    new: str
    merges_into: str = ""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """The injected problems of one namespace.

    - ``orphans`` must be reported, ``orphan_traps`` must not.
    - ``superseded`` are facts as (older, newer), ``expired`` are rows as (table, id), ``retired`` are all rows that are no longer
      live.
    - ``communities`` is the minimum number of communities, ``abstention`` the recommendation of the audit.
    - ``traps`` are the traps of the problems that have no dedicated field for them.
    """

    namespace: str
    duplicates: tuple[DuplicateGroup, ...]
    merge_traps: tuple[MergeTrap, ...]
    contradictions: tuple[PlantedContradiction, ...]
    dead_references: tuple[DeadReference, ...]
    orphans: tuple[str, ...]
    orphan_traps: tuple[str, ...]
    schema_drift: SchemaDrift
    relative_dates: tuple[RelativeDate, ...]
    duplicate_facts: tuple[tuple[str, ...], ...]
    superseded: tuple[tuple[str, str], ...]
    weak_edges: tuple[str, ...]
    renames: tuple[Rename, ...]
    duplicate_events: tuple[tuple[str, ...], ...]
    expired: tuple[tuple[str, str], ...]
    retired: tuple[tuple[str, str], ...]
    communities: int
    abstention: str
    traps: tuple[NegativeExample, ...]

    def traps_of(self, problem: str) -> tuple[NegativeExample, ...]:
        """Return the traps of a problem, in the order of injection."""
        return tuple(trap for trap in self.traps if trap.problem == problem)


# The cast of a demo world: its entities, with injected duplicates, traps, orphans and drifted types.
#
# Other modules decide which texts mention them and which edges join them, and record it on each ``CastEntity``.


@dataclass(slots=True, eq=False)
class CastEntity:
    """An entity of the demo.

    ``family`` is the slot that it fills in texts. Two figures of one ``group`` are not chosen for the same scene.
    """

    id: str
    type: str
    family: str
    name: str
    description: str
    group: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False  # named only in separate texts, never joined to others by a typed edge
    texts: tuple[str, ...] = ()  # texts about this entity alone
    chunks: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)

    def mention(self, chunk: str, document: str) -> None:
        """Record that a chunk names the entity."""
        if chunk not in self.chunks:
            self.chunks.append(chunk)
        if document not in self.documents:
            self.documents.append(document)


@dataclass(frozen=True, slots=True)
class Cast:
    """The figures of a world, shuffled, with their entries in the answer key."""

    figures: tuple[CastEntity, ...]
    duplicates: tuple[DuplicateGroup, ...]
    traps: tuple[MergeTrap, ...]
    orphans: tuple[CastEntity, ...]
    recalled: tuple[CastEntity, ...]
    mentioned: tuple[CastEntity, ...]
    rim: tuple[CastEntity, ...]
    rivals: Mapping[int, tuple[CastEntity, CastEntity]]  # contradiction number → the two entities it is about

    def named(self, name: str) -> CastEntity:
        """Return the first figure with this name. The material is wrong if there is none."""
        return next(figure for figure in self.figures if figure.name == name)

    def members(self, group: DuplicateGroup) -> list[CastEntity]:
        """Return the figures of a duplicate group, in the order of the group."""
        by_id = {figure.id: figure for figure in self.figures}
        return [by_id[row] for row in group.ids]


def make_cast(world: World, rng: random.Random) -> Cast:
    """Make every entity of the world."""
    figures: list[CastEntity] = []

    def add(
        section: str,
        number: object,
        family: str,
        line: str,
        *,
        drifted: str = "",
        group: str = "",
        attributes: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> CastEntity:
        name, description, *texts = parts(line)
        figure = CastEntity(
            id=world.id("entity", section, number),
            type=drifted or family,
            family=family,
            name=name,
            description=description,
            group=group or f"{section}/{number}",
            attributes=attributes or {},
            apart=apart,
            texts=tuple(texts),
        )
        figures.append(figure)
        return figure

    for family, lines in world.plain.items():
        for number, line in enumerate(lines):
            add("plain", f"{family}/{number}", family, line)
    for number, line in enumerate(world.drift.entities):
        types, rest = line.split(" | ", 1)
        family, drifted = types.split(" as ")
        add("drift", number, family, rest, drifted=drifted)

    duplicates: list[DuplicateGroup] = []
    for number, planted in enumerate(world.duplicates):
        ids = [
            add(
                "duplicate",
                f"{number}/{n}",
                planted.type,
                line,
                group=f"duplicate/{number}",
                attributes=planted.attributes,
            ).id
            for n, line in enumerate(planted.rows)
        ]
        duplicates.append(DuplicateGroup(planted.kind, tuple(ids)))

    def pair(
        section: str, number: int, family: str, lines: Sequence[str], attributes: Sequence[Mapping[str, str]]
    ) -> tuple[CastEntity, CastEntity]:
        first, second = (
            add(section, f"{number}/{n}", family, line, group=f"{section}/{number}", attributes=values)
            for n, (line, values) in enumerate(zip(lines, attributes, strict=True))
        )
        return first, second

    traps: list[MergeTrap] = []
    for number, trap in enumerate(world.traps):
        first, second = pair("trap", number, trap.type, trap.rows, trap.attributes)
        traps.append(MergeTrap(trap.kind, "entities", (first.id, second.id)))
    rivals: dict[int, tuple[CastEntity, CastEntity]] = {}
    for number, clash in enumerate(world.contradictions):
        if clash.entities:
            first, second = rivals[number] = pair("rival", number, clash.type, clash.entities, clash.attributes)
            traps.append(MergeTrap("contradiction", "entities", (first.id, second.id)))

    rims: dict[str, tuple[CastEntity, ...]] = {}
    for section in ("found", "recalled", "mentioned", "rim"):
        lines: tuple[str, ...] = getattr(world.orphans, section)
        made: list[CastEntity] = []
        for number, line in enumerate(lines):
            family, rest = line.split(" | ", 1)
            made.append(add(section, number, family, rest, apart=True))
        rims[section] = tuple(made)

    rng.shuffle(figures)
    return Cast(
        tuple(figures),
        tuple(duplicates),
        tuple(traps),
        rims["found"],
        rims["recalled"],
        rims["mentioned"],
        rims["rim"],
        rivals,
    )
