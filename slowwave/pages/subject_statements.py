"""What is said of each subject: the claims of a snapshot by the entity that they are about, ready to be told on a page.

Of an entity that was merged the claims are the survivor's. Left out is what recall does not find either: what was forgotten, retired,
archived, merged into another claim or quarantined. What a page may tell of it, and how, belongs to ``slowwave.pages.subject_page``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.conflicts.columns import Tally
from slowwave.conflicts.find import conflicts_of_memories
from slowwave.conflicts.verdicts import effective_verdicts
from slowwave.rows.memories import attributes, version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.screening import screen_all, unsafe

KINDS: Final = ("fact", "preference", "state", "decision", "note")

_HOPS: Final = 16  # merges of a subject that are followed
_COLUMNS: Final = (
    *("id", "attributes", "current_version_id", "valid_from", "valid_to", "recorded_at", "visibility", "sensitivity", "confidence"),
    *("session_id", "source_document_ids"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SubjectStatement:
    """A claim. ``since`` and ``until`` are when it was so, ``said_at`` when it was said; ``documents`` are those that it rests on, by their
    ids; ``against`` are claims of its subject that contradict it and stand as it does."""

    id: str
    kind: str
    text: str
    since: datetime
    until: datetime | None
    said_at: datetime
    confidence: float = 1.0
    visibility: str = "private"
    sensitivity: str = ""
    session_id: str = ""
    version_id: str = ""
    documents: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    def holds(self, at: datetime) -> bool:
        """Whether it has not ended."""
        return self.until is None or self.until > at


@dataclass(frozen=True, slots=True)
class SubjectStatements:
    """A subject with its claims, by when they began. ``ids`` are those of the entity and of what was merged into it; ``ref`` is its
    reference, where it was given one; ``unsafe`` are claims that screening keeps off every page."""

    id: str
    name: str
    entity_type: str
    ref: str
    ids: tuple[str, ...]
    aliases: tuple[str, ...]
    statements: tuple[SubjectStatement, ...]
    unsafe: tuple[str, ...] = ()


def subject_statements(snapshot: Snapshot, settings: Settings) -> list[SubjectStatements]:
    """The subjects about which something is said, by id. Needs the tables memories, memory_versions, memory_vectors, claim_events,
    entities, entity_aliases and conflicts. Cost: a pass over claims, and that of finding conflicts where nobody has found them yet.
    """
    claims = _claims(snapshot)
    if not len(claims):
        return []
    survivors, merged = _survivors(snapshot)
    rows, hidden = _statements(snapshot, claims)
    by_subject: defaultdict[str, list[SubjectStatement]] = defaultdict(list)
    unsafe_of: defaultdict[str, list[str]] = defaultdict(list)
    for about, statement in rows:
        if (subject := survivors.get(about)) is not None:
            if statement.id in hidden:
                unsafe_of[subject].append(statement.id)
            else:
                by_subject[subject].append(statement)
    against = _against(snapshot, settings, by_subject)
    wanted = {*by_subject, *unsafe_of}
    entities = _entities(snapshot, wanted)
    aliases = _aliases(snapshot, wanted)
    return [
        SubjectStatements(
            id_,
            str(row["name"]),
            str(row["entity_type"]),
            str(row["external_id"] or "") if row["source"] == "semantic" else "",
            (id_, *sorted(merged.get(id_, ()))),
            aliases.get(id_, ()),
            tuple(
                replace(s, against=tuple(sorted(against.get(s.id, ()))))
                for s in sorted(by_subject[id_], key=lambda s: (s.since, s.said_at, s.id))
            ),
            tuple(sorted(unsafe_of[id_])),
        )
        for id_, row in sorted(entities.items())
    ]


def _claims(snapshot: Snapshot) -> pa.Table:
    memories = snapshot.table("memories")
    standing = pc.and_(pc.equal(memories["kind"], "claim"), pc.equal(memories["state"], "active"))
    standing = pc.and_(standing, pc.is_null(memories["invalidated_at"]))
    return memories.filter(standing).select(_COLUMNS)


def _statements(snapshot: Snapshot, claims: pa.Table) -> tuple[list[tuple[str, SubjectStatement]], Collection[str]]:
    """(entity, claim) of each claim about one, and the ids of those that screening keeps off every page."""
    texts = version_texts(snapshot, claims["current_version_id"]).combine_chunks()
    found: list[tuple[str, SubjectStatement]] = []
    for row, text in zip(claims.to_pylist(), texts.to_pylist(), strict=True):
        more = attributes(row["attributes"])
        about, kind = str(more.get("entity_id") or ""), str(more.get("claim_kind") or "")
        if not about or not text.strip():
            continue
        found.append(
            (
                about,
                SubjectStatement(
                    row["id"],
                    kind if kind in KINDS else "fact",
                    text,
                    row["valid_from"] or row["recorded_at"],
                    row["valid_to"],
                    row["recorded_at"],
                    row["confidence"],
                    row["visibility"],
                    row["sensitivity"],
                    row["session_id"] or "",
                    row["current_version_id"],
                    tuple(row["source_document_ids"] or ()),
                ),
            )
        )
    ids = claims["id"].to_pylist()
    said = texts.to_pylist()
    return found, {ids[place] for place, _ in screen_all(texts) if unsafe(said[place])}


def _survivors(snapshot: Snapshot) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Entity → the live one that stands for it, itself where nothing absorbed it; and that one → what was merged into it."""
    entities = snapshot.table("entities").select(["id", "merged_into", "invalidated_at", "state"])
    live = set(snapshot.live("entities", ["id", "state"]).filter(pc.field("state") == "active")["id"].to_pylist())
    absorbed = entities.filter(pc.is_valid(entities["merged_into"]))
    into = dict(zip(absorbed["id"].to_pylist(), absorbed["merged_into"].to_pylist(), strict=True))
    found = {id_: id_ for id_ in live}
    merged: defaultdict[str, set[str]] = defaultdict(set)
    for id_ in into:
        end = id_
        for _ in range(_HOPS):
            if end not in into:
                break
            end = into[end]
        if end in live:
            found[id_] = end
            merged[end].add(id_)
    return found, merged


def _against(
    snapshot: Snapshot, settings: Settings, by_subject: Mapping[str, Sequence[SubjectStatement]]
) -> dict[str, set[str]]:
    """Claim → claims of its subject that contradict it, both standing now; not those of which a person said that both may stand.

    Of what a night calls doubtful that counts which states another object of one relation: by day, too, that is a contradiction.
    """
    subject_of = {s.id: subject for subject, said in by_subject.items() for s in said if s.holds(snapshot.taken_at)}
    verdicts = effective_verdicts(snapshot)
    found: defaultdict[str, set[str]] = defaultdict(set)
    kept: set[frozenset[str]] = set()
    pairs = _marked(snapshot)
    for conflict in conflicts_of_memories(snapshot, settings, Tally()):
        verdict = verdicts.get(conflict.seen)
        every = list(product((conflict.a, *conflict.also_a), (conflict.b, *conflict.also_b)))
        if verdict is not None and verdict.person and not verdict.winner_said:
            kept |= {frozenset(pair) for pair in every}
        elif not conflict.doubtful or conflict.evidence.get("rule") == "relation":
            pairs += every
    for a, b in pairs:
        if a in subject_of and subject_of[a] == subject_of.get(b) and frozenset((a, b)) not in kept:
            found[a].add(b)
            found[b].add(a)
    return found


def _marked(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Pairs of claims that were marked as they were said: one contradicts the other."""
    events = snapshot.table("claim_events").select(["claim_id", "event", "other_id"])
    events = events.filter(pc.equal(events["event"], "contradicted"))
    return list(zip(events["claim_id"].to_pylist(), events["other_id"].to_pylist(), strict=True))


def _entities(snapshot: Snapshot, wanted: Collection[str]) -> dict[str, dict[str, Any]]:
    table = snapshot.table("entities").select(["id", "name", "entity_type", "external_id", "source"])
    rows = table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(wanted), pa.string()))).to_pylist()
    return {row["id"]: row for row in rows}


def _aliases(snapshot: Snapshot, wanted: Collection[str]) -> dict[str, tuple[str, ...]]:
    table = snapshot.table("entity_aliases")
    rows = table.filter(pc.is_in(table["entity_id"], value_set=pa.array(sorted(wanted), pa.string())))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entity, alias in zip(rows["entity_id"].to_pylist(), rows["alias"].to_pylist(), strict=True):
        found[entity].add(alias)
    return {entity: tuple(sorted(names)) for entity, names in found.items()}
