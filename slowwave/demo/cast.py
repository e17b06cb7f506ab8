"""The cast of a demo world: its entities, with the duplicates, traps, orphans and drifted types planted among them.

Which texts mention them and which edges join them is decided elsewhere and noted on each ``CastEntity``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowwave.demo.key import DuplicateGroup, MergeTrap
from slowwave.demo.world import World, parts


@dataclass(slots=True, eq=False)
class CastEntity:
    """An entity in the making. ``family`` is the slot that it fills in texts, ``group`` what it must not meet itself in."""

    id: str
    type: str
    family: str
    name: str
    description: str
    group: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False  # named only in texts of its own, never joined to others by a typed edge
    texts: tuple[str, ...] = ()  # texts about it alone
    chunks: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)

    def mention(self, chunk: str, document: str) -> None:
        """Note that a chunk names it."""
        if chunk not in self.chunks:
            self.chunks.append(chunk)
        if document not in self.documents:
            self.documents.append(document)


@dataclass(frozen=True, slots=True)
class Cast:
    """All figures, shuffled, and what the key says about them."""

    figures: tuple[CastEntity, ...]
    duplicates: tuple[DuplicateGroup, ...]
    traps: tuple[MergeTrap, ...]
    orphans: tuple[CastEntity, ...]
    recalled: tuple[CastEntity, ...]
    mentioned: tuple[CastEntity, ...]
    rim: tuple[CastEntity, ...]
    rivals: Mapping[int, tuple[CastEntity, CastEntity]]  # contradiction number → the two entities it is about

    def named(self, name: str) -> CastEntity:
        """The first figure of that name; the material is wrong when there is none."""
        return next(figure for figure in self.figures if figure.name == name)

    def members(self, group: DuplicateGroup) -> list[CastEntity]:
        """The figures of a duplicate group, in its order."""
        by_id = {figure.id: figure for figure in self.figures}
        return [by_id[row] for row in group.ids]


def make_cast(world: World, rng: random.Random) -> Cast:
    """Every entity of the world."""
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
