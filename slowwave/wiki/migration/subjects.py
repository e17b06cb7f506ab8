"""Subjects of a migration, merged over the folder and the namespace, and the precedence of their evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import pyarrow.compute as pc

from slowwave.matching.names import prepare
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.tokens import normalise_name
from slowwave.wiki.claims.request import Family, SubjectRef, family_of, slug_of
from slowwave.wiki.migration.pages import Atom, ClassifiedPage, NamedSubject

# Precedence of evidence: which of two contradicting pages is believed, by their folders (Dory 4.8). Pure.

_RANKS: Final = (
    frozenset(("decisions", "decision", "adr")),
    frozenset(("people", "projects", "concepts", "core", "person", "project", "concept")),
    frozenset(("weekly",)),
    frozenset(("daily", "digests", "journal")),
    frozenset(("sessions", "conversations")),
    frozenset(("imported",)),
    frozenset(("web", "research", "wiki", "references")),
)
OTHERWISE: Final = 5
"""The rank of a page outside of all ranked folders, equal to that of imported pages."""

_SOULS: Final = 1


def precedence(path: str) -> int:
    """Return the rank of a page by its path; 0 is the most trusted.

    The last folder of the path that has a rank decides.
    """
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if len(parts) == 1 and parts[0] in ("user.md", "soul.md", "identity.md"):
        return _SOULS
    for part in reversed(parts[:-1]):
        for rank, names in enumerate(_RANKS):
            if part in names:
                return rank
    return OTHERWISE


# Stage three: the subjects of the pages, merged over the whole folder and with the known entities of the namespace.
#
# Two candidates of a family are the same if they share a name, in any spelling, or a slug, or if an alias of one is a name or alias of
# exactly one other. A name that several known entities share decides nothing: the statements about it are set aside.


class Said(NamedTuple):
    """A statement and its page."""

    page: ClassifiedPage
    atom: Atom


@dataclass(frozen=True, slots=True)
class MigratedSubject:
    """A subject, its statements in the order of the pages, and its entity (empty if new) or possible entities."""

    ref: SubjectRef
    name: str
    aliases: tuple[str, ...]
    said: tuple[Said, ...]
    entity: str = ""
    may_be: tuple[str, ...] = ()


@dataclass(slots=True)
class MigratedSubjects:
    """The live entities of a namespace by reference, and by family and name or alias."""

    by_ref: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    by_name: dict[tuple[Family, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    by_alias: dict[tuple[Family, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot | None) -> MigratedSubjects:
        """Return the entities of a snapshot; empty without a snapshot."""
        known = cls()
        if snapshot is None:
            return known
        rows = snapshot.live(
            "entities",
            (
                "id",
                "name",
                "entity_type",
                "external_id",
                "source",
                "state",
                "merged_into",
                "invalidated_at",
                "valid_to",
            ),
        )
        rows = rows.filter(pc.and_(pc.equal(rows["state"], "active"), pc.is_null(rows["merged_into"])))
        families: dict[str, Family] = {}
        columns = ("id", "name", "entity_type", "external_id", "source")
        for id_, name, type_, external, source in zip(*(rows[c].to_pylist() for c in columns), strict=True):
            ref = SubjectRef.read(external or "") if source == "semantic" else None
            families[id_] = ref.family if ref else family_of(type_)
            known.by_ref[str(ref or SubjectRef(families[id_], slug_of(name)))].add(id_)
            known.by_name[families[id_], normalise_name(name)].add(id_)
        aliases = snapshot.table("entity_aliases")
        for id_, alias in zip(aliases["entity_id"].to_pylist(), aliases["alias"].to_pylist(), strict=True):
            if id_ in families:
                known.by_alias[families[id_], normalise_name(alias)].add(id_)
        return known

    def find(self, ref: SubjectRef, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of matching entities: by reference, else by name, else by alias."""
        keys: list[tuple[Family, str]] = [(ref.family, normalise_name(name)) for name in names]
        ways: tuple[set[str], ...] = (
            self.by_ref.get(str(ref), set()),
            {id_ for key in keys for id_ in self.by_name.get(key, ())},
            {id_ for key in keys for id_ in self.by_alias.get(key, ())},
        )
        return tuple(sorted(next((found for found in ways if found), set())))


def migrated_subjects(pages: Sequence[ClassifiedPage], known: MigratedSubjects) -> list[MigratedSubject]:
    """Return the subjects of all pages, by reference.

    The result does not depend on the order of the pages. Cost: linear, apart from sorting.
    """
    mentions = [
        (subject.about, page, subject.atoms)
        for page in sorted(pages, key=lambda page: (page.page.source, page.page.line))
        if page.resolution == "resolved"
        for subject in page.told
    ]
    groups: dict[int, list[int]] = defaultdict(list)
    for place, group in enumerate(_clusters([about for about, _, _ in mentions])):
        groups[group].append(place)
    found: list[MigratedSubject] = []
    for members in groups.values():
        ranked = sorted(
            members,
            key=lambda n: (precedence(mentions[n][1].page.source), "," in mentions[n][0].name, mentions[n][0].name, n),
        )
        first = mentions[ranked[0]][0]
        names = [name for n in ranked for name in (mentions[n][0].name, *mentions[n][0].aliases)]
        statements = tuple(Said(mentions[n][1], atom) for n in members for atom in mentions[n][2])
        ref = SubjectRef(first.family, first.slug)
        others = {
            normalise_name(name): name for name in reversed(names) if normalise_name(name) != normalise_name(first.name)
        }
        entities = known.find(ref, names)
        one = entities[0] if len(entities) == 1 else ""
        found.append(
            MigratedSubject(
                ref, first.name, tuple(sorted(others.values()))[:20], statements, one, () if one else entities
            )
        )
    return sorted(found, key=lambda subject: str(subject.ref))


def _clusters(candidates: Sequence[NamedSubject]) -> list[int]:
    """Return for each candidate the smallest index of the candidates that are the same subject."""
    parent = list(range(len(candidates)))

    def top(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    def join(places: Sequence[int]) -> None:
        for n in places[1:]:
            a, b = sorted((top(places[0]), top(n)))
            parent[b] = a

    for key in _keys(candidates).values():
        join(key)
    alias_of: dict[tuple[Family, str], set[int]] = defaultdict(set)
    named: dict[tuple[Family, str], set[int]] = defaultdict(set)
    for place, about in enumerate(candidates):
        named[about.family, normalise_name(about.name)].add(top(place))
        for alias in about.aliases if about.family != "core" else ():
            alias_of[about.family, normalise_name(alias)].add(top(place))
    for key in sorted(alias_of):
        groups = {top(n) for n in alias_of[key] | named.get(key, set())}
        if len(groups) == 2:  # a short name that several share refers to none of them for certain
            join(sorted(groups))
    return [top(n) for n in range(len(candidates))]


def _keys(candidates: Sequence[NamedSubject]) -> Mapping[tuple[object, ...], list[int]]:
    """Return the indexes of candidates that share a slug or a spelling of a name."""
    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    names = prepare([about.name for about in candidates]) if candidates else None
    for place, about in enumerate(candidates):
        found[about.family, "slug", about.slug].append(place)
        if names is not None and about.family != "core":
            for form in ("compact", "ordered"):
                code = int(getattr(names, form)[place])
                if code >= 0:
                    found[about.family, form, code].append(place)
    return found
