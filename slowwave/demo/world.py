"""The hand-written material of a demo namespace, read from ``material/*.toml`` and checked.

What is made of it belongs to the other modules of this package; no text of a world is written in Python.
"""

from __future__ import annotations

import tomllib
import uuid
from functools import cache
from importlib import resources
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from slowwave.config.operations import Operations
from slowwave.config.settings import Expertise
from slowwave.errors import Refused

_FILES: Final = {"demo-harbor": "harbor.toml", "demo-maple": "maple.toml", "demo-lattice": "lattice.toml"}
NAMESPACES: Final[tuple[str, ...]] = tuple(_FILES)
"""Slugs of the demo namespaces."""

_DEMO: Final = uuid.UUID("6f1d5f0e-7a0c-5d8a-9b1e-2c6f00d3a001")


class _Material(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Duplicates(_Material):
    """One thing under several names. ``attributes`` are shared; ``loop`` joins two of the rows by an edge; ``dead`` gives one a
    dead reference."""

    kind: str
    type: str
    rows: tuple[str, ...]
    attributes: dict[str, str] = {}
    loop: bool = False
    dead: bool = False


class Trap(_Material):
    """Two things that look like one. ``attributes`` has one mapping a row, and they disagree."""

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
    """Types in use that nobody declared; an entity is written ``TYPE as drifted | name | description``."""

    entities: tuple[str, ...]
    relationship_types: tuple[str, ...]


class Orphans(_Material):
    """Entities at the rim: ``TYPE | name | description | text…``; the last part of ``recalled`` is a question."""

    found: tuple[str, ...]
    recalled: tuple[str, ...]
    mentioned: tuple[str, ...]
    rim: tuple[str, ...]


class EdgeSpecs(_Material):
    """``TYPE RELATION TYPE | sentence`` with {a} and {b}."""

    specs: tuple[str, ...]


class Scene(_Material):
    """A conversation: ``speaker: text`` turns, and ``turn: question`` for what is recalled from it."""

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
    """What the audit of thresholds must say; recorded scores are multiplied by ``scale``."""

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
    """A predicate that every plain entity has once, with a number of its own."""

    predicate: str
    prefix: str


class Single(_Material):
    """A relation that takes one object: ``told_twice`` in the same way by most, and in two ways by ``clash``; ``name | name``.
    ``also`` are relations of the world of which the same is true."""

    relation: str
    also: tuple[str, ...] = ()
    sentence: str
    stated_twice: tuple[str, ...]
    clash: tuple[str, str]


class Clash(_Material):
    """Two edges, ``name | RELATION | name``, that say what they say; of the kinds ``reversed`` and ``symmetric`` the second runs the
    other way. They contradict each other unless they are a ``trap``."""

    kind: str
    edge: str
    says: tuple[str, str]
    properties: tuple[dict[str, str], dict[str, str]] = ({}, {})
    trap: bool = False


class Statements(_Material):
    """Facts, ``subject | predicate | object``: stated in several spellings, stated of ``apart`` things, the older and the newer one of
    what changed, and two that are ``compatible``."""

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
    """Associations, ``name | name``, of low confidence that nothing supports; and those that are supported, strong, asserted by hand
    or, ``name | RELATION | name``, of a type that is never pruned."""

    unsupported: tuple[str, ...]
    supported: tuple[str, ...]
    strong: tuple[str, ...]
    asserted: tuple[str, ...]
    typed: tuple[str, ...]


class Retired(_Material):
    """Facts and edges retired long ago, retired lately (``fresh``), and facts as old that still stand."""

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
    operations: Operations
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
        """The same 36-character id for the same path within this world, whatever the time."""
        return str(uuid.uuid5(_DEMO, "/".join(map(str, (self.slug, *path)))))


@cache
def read_world(slug: str) -> World:
    """The material of one of ``NAMESPACES``. Raises ``Refused`` for another name."""
    if slug not in _FILES:
        raise Refused(
            f"There is no demo namespace {slug!r}, so nothing was generated. Choose one of {', '.join(NAMESPACES)}."
        )
    text = resources.files("slowwave.demo").joinpath("material", _FILES[slug]).read_text("utf-8")
    return World.model_validate(tomllib.loads(text))


def parts(line: str) -> list[str]:
    """The fields of a ``a | b | c`` line."""
    return [part.strip() for part in line.split(" | ")]
