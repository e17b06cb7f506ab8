"""Subjects of a snapshot: the entity that a name means, as ``remember`` finds it by day, without a connection.

By reference, then by name, then by alias, then by a page about it, then by the names that begin alike; of several none is chosen. What was
merged into an entity stands for it. Which names a text has belongs to ``named_things``. Cost: a pass over entities and aliases, made when
the first name is asked for: a night without sessions and pages asks for none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow.compute as pc

from slowwave.claims.subject_ref import Family, SubjectRef, family_of, slug_of
from slowwave.claims.subjects import Subject, name_key, near_names
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.tokens import normalise_name

_BEGINNING: Final = 3  # letters that names have to begin with to be compared
_NEAR: Final = 50
_PAGE_TYPES: Final = ("person", "project", "concept", "decision")


class Meant(NamedTuple):
    """Who or what a name means: one subject, or several that it may mean; neither where nobody knows it."""

    subject: Subject | None = None
    candidates: tuple[Subject, ...] = ()
    title: str = ""
    """What a page calls a subject that is no entity yet."""


@dataclass(slots=True)
class KnownSubjects:
    """The live entities of a snapshot by reference, by name and by alias."""

    _unread: Snapshot | None = None
    _subjects: dict[str, Subject] = field(default_factory=dict)
    _refs: dict[str, str] = field(default_factory=dict)
    _names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _aliases: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _beginnings: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _pages: dict[str, set[tuple[str, Family]]] = field(default_factory=lambda: defaultdict(set))
    _called: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _asked: dict[tuple[str, str], Meant] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot) -> KnownSubjects:
        """Those of a snapshot, which is read when a name is asked for."""
        return cls(snapshot)

    def _read(self) -> None:
        """Read the snapshot, once."""
        snapshot, self._unread = self._unread, None
        if snapshot is None:
            return
        columns = ["id", "name", "entity_type", "source", "external_id", "merged_into", "state", "invalidated_at"]
        found: list[dict[str, Any]] = snapshot.table("entities").select(columns).to_pylist()
        rows: dict[str, dict[str, Any]] = {row["id"]: row for row in found}
        heads = {id_: _head(id_, rows) for id_ in rows}
        members: defaultdict[str, list[str]] = defaultdict(list)
        for id_, head in heads.items():
            members[head].append(id_)
        for id_, row in rows.items():
            live = row["invalidated_at"] is None and row["state"] == "active" and row["merged_into"] is None
            if not live:
                continue
            external = str(row["external_id"] or "") if row["source"] == "semantic" else ""
            ref = SubjectRef.read(external) or SubjectRef(family_of(row["entity_type"]), slug_of(row["name"]))
            self._subjects[id_] = Subject(id_, row["name"], ref, tuple(sorted({id_, *members[id_]})))
            if external:
                self._refs[external] = id_
        for id_, row in rows.items():
            self._call(heads[id_], row["name"], self._names)
        aliases = snapshot.table("entity_aliases")
        ids: list[str] = aliases["entity_id"].to_pylist()
        names: list[str] = aliases["alias"].to_pylist()
        for id_, alias in zip(ids, names, strict=True):
            self._call(heads.get(id_, id_), alias, self._aliases)
        self._read_pages(snapshot)

    def _read_pages(self, snapshot: Snapshot) -> None:
        """Note the titles and aliases of pages about a person, a project, a concept or a decision."""
        pages = snapshot.live("documents", ("path", "title", "metadata", "plane"))
        for row in pages.filter(pc.equal(pages["plane"], "durable")).to_pylist():
            fields = json.loads(row["metadata"] or "{}")
            gone = "quarantined" in fields or "forgotten" in fields or fields.get("status") in ("superseded", "retired")
            if gone or fields.get("type") not in _PAGE_TYPES or not row["title"]:
                continue
            aliases = fields.get("aliases")
            for name in (row["title"], *(aliases if isinstance(aliases, list) else ())):
                if key := name_key(str(name)):
                    self._pages[key].add((str(row["title"]), family_of(fields["type"])))

    def meant(self, said: str, family: Family | None = None) -> Meant:
        """Whom or what a name means, among the subjects of a family where one is named."""
        self._read()
        key = (said, family or "")
        if key not in self._asked:
            self._asked[key] = self._meant(said.strip(), family)
        return self._asked[key]

    def names_of(self, subject: Subject) -> frozenset[str]:
        """All names of a subject, folded."""
        self._read()
        return frozenset(self._called.get(subject.id, ()))

    def _meant(self, said: str, family: Family | None) -> Meant:
        ref = SubjectRef.read(said)
        if ref is not None and str(ref) in self._refs:
            return Meant(self._subjects[self._refs[str(ref)]])
        wanted = family if ref is None else ref.family
        key = name_key(ref.slug.replace("-", " ") if ref is not None else said)
        for known in (self._names, self._aliases):
            found = self._of_family(known.get(key, ()), wanted)
            if len(found) == 1:
                return Meant(found[0])
            if found:
                return Meant(candidates=tuple(found))
        pages = [page for page in self._pages.get(key, ()) if wanted in (None, page[1])]
        if len(pages) == 1:
            title, own = pages[0]
            called = self._of_family(self._names.get(name_key(title), ()), own)
            return Meant(called[0]) if len(called) == 1 else Meant(title=title)
        near, _ = near_names(said, self._of_family(self._begin_alike(said), wanted)[:_NEAR])
        if len(near) == 1 and near[0][1] != "low":
            return Meant(near[0][0])
        return Meant(candidates=tuple(subject for subject, _ in near))

    def _begin_alike(self, said: str) -> set[str]:
        from slowwave.matching.nicknames import FORMAL

        first, *_ = name_key(said).split(" ")
        starts = {first, *FORMAL.get(first, ())}
        return set().union(*(self._beginnings.get(s[:_BEGINNING], set()) for s in starts if len(s) >= _BEGINNING))

    def _of_family(self, ids: Iterable[str], family: Family | None) -> list[Subject]:
        found = (self._subjects[id_] for id_ in sorted(ids) if id_ in self._subjects)
        return [subject for subject in found if family is None or subject.family == family]

    def _call(self, id_: str, name: str, names: dict[str, set[str]]) -> None:
        if id_ not in self._subjects or not (key := name_key(name)):
            return
        names[key].add(id_)
        self._beginnings[key[:_BEGINNING]].add(id_)
        self._called[id_].add(normalise_name(name))


def _head(id_: str, rows: dict[str, dict[str, Any]]) -> str:
    """What an entity was merged into at last."""
    seen: set[str] = set()
    while id_ not in seen and (into := rows.get(id_, {}).get("merged_into")):
        seen.add(id_)
        id_ = into
    return id_
