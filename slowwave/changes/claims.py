"""Mutations of claims: ``write_claims`` records claims about a subject, ``forget_rows`` removes rows from memory for good."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.cells import (
    CLAIMS,
    RELATIONSHIPS,
    Cell,
    Guard,
    Insert,
    Value,
    Write,
    canonical,
    canonical_json,
    defaults,
    encode,
    named_id,
)
from slowwave.changes.mutation import ERASURES, EVIDENCE, FORGOTTEN, RETIRED, Mutation, Row
from slowwave.changes.pages import PageCells, PageText, checked, page_cells
from slowwave.changes.rows import Fields, as_ids, rows_by_id, rows_where
from slowwave.errors import Refused
from slowwave.snapshots.snapshot import Snapshot

# ``write_claims``: new claims about one subject as one change: the subject if it is new, the claims with their events, the claims that they
# end or contradict, evidence for earlier claims, and the pages that contain them.
#
# A claim is a memory of the kind ``claim``, as ``memory.remember`` stores one at run time. A claim that it ends keeps its row and ends
# where the new one begins; a claim that it contradicts remains. ``slowwave.wiki.claims.planned_claims`` chooses the claims and their
# subjects.

REASON: Final = "claim"
"""The reason of the first version of a claim that a plan wrote."""

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STANDS: Final = ("invalidated_at", "kind", "state", "current_version_id", "attributes", "valid_from", "valid_to")
_SUBJECT: Final = (CLAIMS, "invalidated_at", "merged_into", "state")
_EVIDENCE: Final = ("invalidated_at",)
_WRITTEN: Final = ("source_document_ids", "source_chunk_ids")


@dataclass(frozen=True, slots=True)
class NewEntity:
    """A new subject: its reference (``project:rowan``), name, aliases, and the vector of its name."""

    ref: str
    name: str
    aliases: tuple[str, ...] = ()
    vector: NDArray[np.floating] | None = None


@dataclass(frozen=True, slots=True)
class NewClaim:
    """A statement about the subject and the time since when it holds (ISO 8601).

    Claims in ``closes`` end at ``since``, claims in ``contradicts`` stay. ``attributes`` are stored next to the claim's kind and subject.
    ``ended_by`` begins where this claim ends: the id of a claim, or the statement of another claim of the group. With ``supports`` this
    is no new claim but evidence for the claim of that id.
    """

    kind: str
    statement: str
    since: str
    until: str | None = None
    confidence: float = 1.0
    documents: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    supports: str = ""
    agent: str = ""
    session_id: str = ""
    reason: str = ""
    attributes: Mapping[str, object] = field(default_factory=dict)
    vector: NDArray[np.floating] | None = None
    ended_by: str = ""


@dataclass(frozen=True, slots=True)
class ClaimGroup:
    """The claims about one subject (the id of an entity, or a new entity), and the pages that belong to them."""

    subject: str | NewEntity
    claims: tuple[NewClaim, ...] = ()
    pages: tuple[PageText, ...] = ()


def subject_id(snapshot: Snapshot, ref: str) -> str:
    """Return the id of a new subject with the given reference."""
    return named_id(snapshot.namespace_id, "entities", "semantic", ref)


def write_claims(snapshot: Snapshot, groups: Sequence[ClaimGroup]) -> list[Mutation]:
    """Return one mutation per group, in the order of the groups.

    Raises ``Refused`` for a claim that ends, supports or contradicts a claim that is not live, or that ends one twice. Cost: a pass over
    entities, memories, documents, chunks and links.
    """
    cells = page_cells(snapshot, [page for group in groups for page in group.pages])
    subjects = {g.subject for g in groups if isinstance(g.subject, str)}
    new_claims = [c for g in groups for c in g.claims]
    named = {i for c in new_claims for i in (*c.closes, *c.contradicts, *((c.supports,) if c.supports else ()))}
    named |= {c.ended_by for c in new_claims if _ID.fullmatch(c.ended_by)}
    entities = rows_by_id(snapshot, "entities", subjects, ("name", "state", "invalidated_at", "merged_into"))
    standing = _live_claims(snapshot, {g.subject for g in groups if isinstance(g.subject, str) and _says_anew(g)})
    for subject, ids in standing.items():
        entities[subject][CLAIMS] = ids
    named_documents = {d for g in groups for c in g.claims for d in c.documents}
    rests = {str(row["id"]): row for row in rows_where(snapshot, "documents", "id", named_documents, _EVIDENCE)}
    claims = rows_by_id(snapshot, "memories", named, (*_STANDS, *_WRITTEN, "external_id"))
    taken = _references(snapshot, [g.subject.ref for g in groups if isinstance(g.subject, NewEntity)])
    mutations: list[Mutation] = []
    at = 0
    for group in groups:
        pages = cells[at : at + len(group.pages)]
        at += len(group.pages)
        mutations.append(_Group(snapshot, entities, claims, rests, taken).mutation(group, pages))
    return mutations


def _says_anew(group: ClaimGroup) -> bool:
    return any(not claim.supports for claim in group.claims)


def _live_claims(snapshot: Snapshot, subjects: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the live claims about each of the entities, sorted."""
    found: dict[str, list[str]] = {subject: [] for subject in subjects}
    if subjects:
        rows = snapshot.table("memories").select(["id", "kind", "state", "attributes", "invalidated_at"])
        rows = rows.filter(pc.and_(pc.equal(rows["kind"], "claim"), pc.equal(rows["state"], "active")))
        rows = rows.filter(pc.is_null(rows["invalidated_at"]))  # ended claims are part of the history
        for id_, attributes in zip(rows["id"].to_pylist(), rows["attributes"].to_pylist(), strict=True):
            about = json.loads(attributes or "{}").get("entity_id")
            if about in found:
                found[about].append(id_)
    return {subject: tuple(sorted(ids)) for subject, ids in found.items()}


def _references(snapshot: Snapshot, refs: Sequence[str]) -> frozenset[str]:
    """Return those of the references that a subject already has."""
    rows = snapshot.table("entities").select(["source", "external_id"])
    mine = pc.and_(
        pc.equal(rows["source"], "semantic"),
        pc.is_in(rows["external_id"], value_set=pa.array(sorted(refs), pa.string())),
    )
    return frozenset(rows.filter(mine)["external_id"].to_pylist())


@dataclass(slots=True)
class _Group:
    """The parts of one mutation, collected step by step."""

    snapshot: Snapshot
    entities: Mapping[str, Fields]
    claims: Mapping[str, Fields]
    rests: Mapping[str, Fields]
    taken: frozenset[str]
    writes: list[Write] = field(default_factory=list)
    guards: dict[Guard, None] = field(default_factory=dict)
    inserts: list[Insert] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    added: dict[str, list[NewClaim]] = field(default_factory=dict)
    made: list[tuple[NewClaim, int]] = field(default_factory=list)

    def mutation(self, group: ClaimGroup, pages: Sequence[PageCells]) -> Mutation:
        for page in pages:
            self.writes += page.writes
            self.guards |= dict.fromkeys(page.guards)
            made = {i.row for i in self.inserts if i.table == "corpora"}
            self.inserts += [i for i in page.inserts if i.table != "corpora" or i.row not in made]
        subject, name = self._subject(group.subject)
        for claim in group.claims:
            if claim.supports:
                self.added.setdefault(claim.supports, []).append(claim)
            else:
                self._claim(claim, subject, name)
        for claim, n in self.made:
            self._ended(claim, n)
        for id_, evidence in self.added.items():
            self._support(id_, evidence)
        about = sorted({*self.ended, *self.added, *(i for c in group.claims for i in c.contradicts)})
        rows = [Row(id_, _text(self.claims[id_]["external_id"])) for id_ in about]
        return checked(
            Mutation(
                "write_claims",
                "memories",
                tuple(self.writes),
                tuple(self.guards),
                tuple(self.inserts),
                tuple(rows),
            )
        )

    def _subject(self, subject: str | NewEntity) -> tuple[str, str]:
        """Return the id and the name of the subject; guard an existing one, insert a new one."""
        if isinstance(subject, str):
            seen = self.entities[subject]
            if seen["invalidated_at"] is not None or seen["state"] != "active" or seen["merged_into"] is not None:
                raise Refused(f"Entity {subject} is retired, or was merged: name the one that stands for it.")
            self.guards[Guard.on("entities", subject, seen, _SUBJECT if CLAIMS in seen else _SUBJECT[1:])] = None
            return subject, str(seen["name"])
        if subject.ref in self.taken:
            raise Refused(f"There is a subject {subject.ref} already. Name it by its id.")
        id_ = subject_id(self.snapshot, subject.ref)
        row = {"external_id": subject.ref, "source": "semantic", "entity_type": subject.ref.partition(":")[0]}
        values = {**defaults("entities"), **row, "name": subject.name, "mention_count": 1}
        self.inserts.append(Insert("entities", values, id_))
        for alias in dict.fromkeys(subject.aliases):
            self.inserts.append(Insert("entity_aliases", {"entity_id": id_, "alias": alias, "source": "semantic"}))
        if subject.vector is not None and (model := self.snapshot.vectors["entity_vectors"].model):
            vector = encode(np.asarray(subject.vector, np.float32))
            self.inserts.append(Insert("entity_vectors", {"vector": vector}, id_, model))
        return id_, subject.name

    def _claim(self, claim: NewClaim, subject: str, name: str) -> None:
        n = len(self.inserts)
        self.made.append((claim, n))

        self._rests_on(claim)
        attributes = {**claim.attributes, "claim_kind": claim.kind, "entity_id": subject}
        values: dict[str, Value] = {
            **defaults("memories", ("current_version_id",)),
            **{"kind": "claim", "subject": name, "author": claim.agent, "source": "semantic"},
            **{"session_id": claim.session_id or None, "confidence": claim.confidence},
            **{"attributes": canonical_json(attributes), "valid_from": claim.since, "valid_to": claim.until},
            **{"source_document_ids": claim.documents, "source_chunk_ids": claim.chunks},
        }
        version: dict[str, Value] = {"ordinal": 1, "content": claim.statement, "reason": REASON}
        self.inserts.append(Insert("memories", values, refs={"current_version_id": n + 1}))
        self.inserts.append(Insert("memory_versions", version, refs={"memory_id": n}))
        if claim.vector is not None and (model := self.snapshot.vectors["memory_vectors"].model):
            vector = encode(np.asarray(claim.vector, np.float32))
            self.inserts.append(Insert("memory_vectors", {"vector": vector}, key=model, refs={"id": n}))
        self._event(claim, "added", {"other_id": None}, {"claim_id": n})
        for id_ in claim.closes:
            self._end(id_, claim)
            self._event(claim, "replaced", {"claim_id": id_}, {"other_id": n})
        for id_ in claim.contradicts:
            self._stands(id_)
            self._event(claim, "contradicted", {"claim_id": id_}, {"other_id": n})
            self._event(claim, "contradicted", {"other_id": id_}, {"claim_id": n})

    def _ended(self, claim: NewClaim, n: int) -> None:
        """Add the event for a claim that has ended already, because another claim begins where it ends."""
        if not claim.ended_by:
            return
        if claim.ended_by in self.claims:
            self._stands(claim.ended_by, but="valid_to")
            self._event(claim, "replaced", {"other_id": claim.ended_by}, {"claim_id": n})
            return
        later = [k for c, k in self.made if c.statement == claim.ended_by and c.since == claim.until]
        if not later:
            raise Refused(f"A claim would end at {claim.until}, and what is to end it does not begin there.")
        self._event(claim, "replaced", {}, {"claim_id": n, "other_id": later[-1]})

    def _rests_on(self, claim: NewClaim) -> None:
        """Guard that the documents a claim is based on are still live, except pages that come with it."""
        for document in claim.documents:
            if seen := self.rests.get(document):
                self.guards[Guard.on("documents", document, seen, _EVIDENCE)] = None

    def _end(self, id_: str, claim: NewClaim) -> None:
        """End an existing claim where a new one begins."""
        seen = self.claims[id_]
        if id_ in self.ended:
            raise Refused(f"Claim {id_} would end twice in one plan item. Let one claim close it.")
        if str(seen["valid_from"] or "") > claim.since or (
            seen["valid_to"] is not None and str(seen["valid_to"]) <= claim.since
        ):
            raise Refused(f"Claim {id_} does not hold at {claim.since}, where it would end.")
        self.ended.add(id_)
        self._stands(id_, but="valid_to")
        self.writes.append(Write(Cell("memories", id_, "valid_to"), "set", seen["valid_to"], claim.since))

    def _support(self, id_: str, evidence: Sequence[NewClaim]) -> None:
        """Add evidence to an existing claim."""
        seen = self.claims[id_]
        if id_ in self.ended:
            raise Refused(f"Claim {id_} would end and be supported in one plan item. Do one of it.")
        self._stands(id_)
        for column, more in zip(
            _WRITTEN, ([i for c in evidence for i in c.documents], [i for c in evidence for i in c.chunks]), strict=True
        ):
            before = as_ids(seen[column])
            if new := [i for i in dict.fromkeys(more) if i not in before]:
                self.writes.append(Write(Cell("memories", id_, column), "set", seen[column], (*before, *new)))
        self.writes.append(Write(Cell("memories", id_, "reinforcement_count"), "add", None, len(evidence)))
        for claim in evidence:
            self._rests_on(claim)
            self._event(claim, "supported", {"claim_id": id_, "other_id": None}, {})

    def _stands(self, id_: str, but: str = "") -> None:
        """Guard that a claim is live and unchanged, except for the column ``but``.

        Raises ``Refused`` if the snapshot does not hold it as a live claim.
        """
        seen = self.claims[id_]
        if seen["kind"] != "claim" or seen["invalidated_at"] is not None or seen["state"] != "active":
            raise Refused(f"{id_} is no claim that stands.")
        self.guards[Guard.on("memories", id_, seen, [c for c in _STANDS if c != but])] = None

    def _event(self, claim: NewClaim, event: str, values: Mapping[str, Value], refs: Mapping[str, int]) -> None:
        fields: dict[str, Value] = {
            "event": event,
            "evidence_id": claim.documents[0] if claim.documents else None,
            "agent": claim.agent,
            "session_id": claim.session_id or None,
            "reason": claim.reason,
        }
        self.inserts.append(Insert("claim_events", {**fields, **values}, refs=refs))


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


# ``forget_rows``: remove a page, or claims about a subject, from memory and from all search results, and leave a page that states the
# reason.
#
# It is the planned form of ``memory.forget_page`` and ``memory.forget``. Nothing is deleted: a page is superseded and its former text
# becomes a version; claims and the evidence that only they use are retired. The database ensures that even a search as of an earlier day
# does not find their words: it checks for the mark of a page and the event of a claim when they are added and when an undo
# removes them.
#
# ``erase_rows`` is the exception: it deletes imported rows for good and cannot be undone. The item holds the ids of these rows and no text.

_CLAIM: Final = ("kind", "attributes", "current_version_id", "source_document_ids", "valid_from")
_CLAIM_ENDS: Final = ("valid_to", "invalidated_at", "invalidated_by", "external_id")
_PAGE: Final = ("corpus_id", "path", "plane", "version_of", "content_hash")
_PAGE_ENDS: Final = ("metadata", "invalidated_at", "invalidated_by")


@dataclass(frozen=True, slots=True)
class Forgetter:
    """The reason, agent and session of a request to forget; the event of each claim records them."""

    reason: str
    agent: str = ""
    session_id: str = ""


def forget_page(snapshot: Snapshot, page: PageText, tombstone: PageText) -> Mutation:
    """Build the mutation that forgets a page and puts a tombstone next to it; no search finds either.

    Raises as ``write_pages``. Cost: a pass over documents, chunks and links.
    """
    gone = replace(page, metadata={**page.metadata, FORGOTTEN: True}, passages=(), links=(), pointing=())
    cells = page_cells(snapshot, [gone, replace(tombstone, passages=(), links=())])
    inserts = dict.fromkeys((i.table, i.row) for c in cells for i in c.inserts if i.table == "corpora")
    rows = [i for c in cells for i in c.inserts if i.table != "corpora"]
    made = [next(i for c in cells for i in c.inserts if (i.table, i.row) == at) for at in inserts]
    return checked(
        Mutation(
            "forget_rows",
            "documents",
            tuple(w for c in cells for w in c.writes),
            tuple(dict.fromkeys(g for c in cells for g in c.guards)),
            (*made, *rows),
            tuple(r for c in cells for r in c.rows),
        )
    )


def forget_claims(
    snapshot: Snapshot, subjects: Collection[str], claims: Collection[str], tombstone: PageText, by: Forgetter
) -> Mutation:
    """Build the mutation that forgets claims of one subject, with the evidence that no other claim is based on.

    ``subjects`` are the ids of the subject's entities. ``tombstone`` is the page that records the removal. Raises ``Refused`` if a claim
    does not exist or was forgotten already. Cost: a pass over memories, documents, chunks and links.
    """
    seen = rows_by_id(snapshot, "memories", claims, (*_CLAIM, *_CLAIM_ENDS))
    (stone,) = page_cells(snapshot, [replace(tombstone, passages=(), links=())])
    writes, guards = [*stone.writes], [*stone.guards]
    for id_, entity in rows_by_id(snapshot, "entities", subjects, ("merged_into",)).items():
        guards.append(Guard.on("entities", id_, entity, ("merged_into",)))
    for id_ in sorted(seen):
        _forget_claim(snapshot, id_, seen[id_], writes, guards)
    _forget_evidence(snapshot, _evidence(snapshot, seen), writes, guards)
    noted: dict[str, Value] = {"event": RETIRED, "other_id": None, "evidence_id": stone.document}
    noted |= {"agent": by.agent, "session_id": by.session_id or None, "reason": by.reason}
    events = [Insert("claim_events", {**noted, "claim_id": id_}) for id_ in sorted(seen)]
    rows = tuple(Row(id_, _text(seen[id_]["external_id"])) for id_ in sorted(seen))
    return checked(
        Mutation(
            "forget_rows",
            "memories",
            tuple(writes),
            tuple(dict.fromkeys(guards)),
            (*stone.inserts, *events),
            rows,
        )
    )


def erase_rows(snapshot: Snapshot, rows: Mapping[str, Collection[str]], reason: str) -> Mutation:
    """Build the mutation that deletes rows for good; ``rows`` maps table → ids.

    Memories, entities and documents that the snapshot does not hold are left out. The item is stale if a memory has another version by
    then, an entity another relationship, or a page another text. Raises ``Refused`` if no row is left. Cost: a pass over each named table
    and over the relationships.
    """
    seen = {table: _held(snapshot, table, ids) for table, ids in rows.items()}
    guards = [
        Guard.on(table, id_, row, _ERASED[table])
        for table in sorted(_ERASED.keys() & seen.keys())
        for id_, row in seen[table].items()
        if table != "entities"
    ]
    incident: dict[str, set[str]] = {id_: set() for id_ in seen.get("entities", {})}
    for column in ("source_entity_id", "target_entity_id"):
        for edge in rows_where(snapshot, "relationships", column, incident, ()):
            incident[str(edge[column])].add(str(edge["id"]))
    for id_, row in seen.get("entities", {}).items():
        edges = {RELATIONSHIPS: tuple(sorted(incident[id_]))}
        guards.append(Guard.on("entities", id_, row | edges, (*_ERASED["entities"], RELATIONSHIPS)))
    named = [(table, id_) for table in sorted(seen) for id_ in sorted(seen[table])]
    if not named:
        raise Refused("Nothing that is stored matches. Nothing was planned.")
    inserts = [Insert(ERASURES, {"table_name": table, "row_id": id_, "reason": reason}) for table, id_ in named]
    external = {id_: _text(row.get("external_id")) for table in seen for id_, row in seen[table].items()}
    return checked(
        Mutation(
            *("forget_rows", ERASURES),
            guards=tuple(guards),
            inserts=tuple(inserts),
            rows=tuple(Row(id_, external[id_]) for _, id_ in named),
        )
    )


def _held(snapshot: Snapshot, table: str, ids: Collection[str]) -> dict[str, Fields]:
    """Return the rows of ``ids`` with the columns that their guards need; tables without guards are not looked up."""
    if table not in _ERASED:
        return {id_: {} for id_ in ids}
    return {str(row["id"]): row for row in rows_where(snapshot, table, "id", ids, _ERASED[table])}


_ERASED: Final[Mapping[str, tuple[str, ...]]] = {
    "memories": ("external_id", "current_version_id"),
    "entities": ("external_id", "merged_into"),
    "documents": ("external_id", "content_hash"),
}
"""Table → the columns that show, without text, that a row is as the plan saw it."""


def _forget_claim(snapshot: Snapshot, id_: str, seen: Fields, writes: list[Write], guards: list[Guard]) -> None:
    """Retire a claim and end it now, unless it has ended already; one that begins later ends where it begins."""
    if seen["invalidated_at"] is not None:
        raise Refused(f"Claim {id_} was forgotten, or retired, since. Propose it anew.")
    taken = str(canonical(snapshot.taken_at))
    since, until = seen["valid_from"], seen["valid_to"]
    guards.append(Guard.on("memories", id_, seen, _CLAIM))
    if until is None or str(until) > taken:
        cell = Cell("memories", id_, "valid_to")
        later = since is not None and str(since) > taken
        writes.append(Write(cell, "set", until, since) if later else Write(cell, "now", until))
    writes += _end("memories", id_, seen)


def _evidence(snapshot: Snapshot, claims: Mapping[str, Fields]) -> dict[str, Fields]:
    """Return the live evidence pages that only the given claims are based on."""
    roots = snapshot.table("corpora")
    corpora = set(roots["id"].filter(pc.equal(roots["root"], EVIDENCE)).to_pylist())
    wanted = {id_ for seen in claims.values() for id_ in as_ids(seen["source_document_ids"])}
    memories = snapshot.table("memories").select(["id", "kind", "invalidated_at", "source_document_ids"])
    others = pc.and_(pc.equal(memories["kind"], "claim"), pc.is_null(memories["invalidated_at"]))
    mine = pc.is_in(memories["id"], value_set=pa.array(sorted(claims), pa.string()))
    rest = memories.filter(pc.and_(others, pc.invert(mine)))["source_document_ids"].combine_chunks()
    wanted -= set(pc.unique(pc.list_flatten(rest)).to_pylist())
    rows = rows_where(snapshot, "documents", "id", wanted, (*_PAGE, *_PAGE_ENDS))
    return {str(r["id"]): r for r in rows if r["corpus_id"] in corpora and r["invalidated_at"] is None}


def _forget_evidence(snapshot: Snapshot, pages: Mapping[str, Fields], writes: list[Write], guards: list[Guard]) -> None:
    """Mark the pages as forgotten and retire them, with their passages and links."""
    for id_, seen in sorted(pages.items()):
        marked = canonical_json({**json.loads(str(seen["metadata"])), FORGOTTEN: True})
        guards.append(Guard.on("documents", id_, seen, _PAGE))
        writes.append(Write(Cell("documents", id_, "metadata"), "set", seen["metadata"], marked))
        writes += _end("documents", id_, seen)
    for table in ("chunks", "links"):
        for row in rows_where(snapshot, table, "document_id", pages.keys(), ("invalidated_at", "invalidated_by")):
            if row["invalidated_at"] is None:
                guards.append(Guard.on(table, str(row["id"]), row, ("document_id",)))
                writes += _end(table, str(row["id"]), row)


def _end(table: str, row: str, seen: Fields) -> Sequence[Write]:
    return (
        Write(Cell(table, row, "invalidated_at"), "now", seen["invalidated_at"]),
        Write(Cell(table, row, "invalidated_by"), "item", seen["invalidated_by"]),
    )
