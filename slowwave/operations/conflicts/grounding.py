"""Grounding: memories that differ from the session or passage that they name as their source.

A memory is derived if it names passages, documents, a session or other memories, and is no turn of a conversation itself. It is compared
with the recorded source alone (``slowwave.text.agreement``): with the passages that it cites, and if it cites none with all passages of its
documents, of its session and of the memories that it names. The other passages of the same conversation can support it. If one of its
passages is retired or missing, nothing is compared. A person always decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import Guard
from slowwave.changes.rows import Loss, NewVersion, lose_conflict, new_versions, rows_by_id
from slowwave.operations.conflicts.decide import AUDIENCE, OPERATION
from slowwave.operations.operation import Inputs
from slowwave.plans.items import Decision, Item
from slowwave.plans.questions import SAID
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import KINDS, is_held_back, named_sources
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.agreement import LONGEST, Disagreement, MemorySource, SourcePassage, introductions
from slowwave.text.quotation import quote, quote_change
from slowwave.text.subjects import PROGRAMS
from slowwave.text.turns import ASSISTANT, USER, session_turns

_GENERATED: Final = ("summary", "topic", "claim")
"""Kinds that Slowwave writes, with checks of their own."""

_USERS: Final = ("user", "human")
_RESTS_ON: Final = ("state", "pinned", "session_id", "source_chunk_ids", "source_document_ids", *AUDIENCE)
_LONGEST_QUOTE: Final = 110  # signs of a sentence within a question
_LONGEST_TEXT: Final = 400


class _Link(NamedTuple):
    """The source of a memory: its documents and, if it cites passages, these."""

    documents: tuple[str, ...]
    cited: frozenset[str] | None


def unsupported_memories(snapshot: Snapshot) -> dict[str, Disagreement]:
    """Map each active memory that differs from its source to the difference, in id order.

    Needs the tables memories, memory_versions, chunks and documents. Cost: a pass over memories and chunks, and 50 µs for each sentence of
    a source of a derived memory. The last answer is kept as long as these tables exist.
    """
    given = [snapshot.table(name) for name in ("memories", "memory_versions", "chunks", "documents")]
    return snapshot.answers.find_once("unsupported memories", given, snapshot.taken_at, lambda: _find(snapshot))


def _find(snapshot: Snapshot) -> dict[str, Disagreement]:
    memories = active_memories(snapshot)
    short = pc.less_equal(pc.utf8_length(memories["text"]), 2 * LONGEST)
    derived = memories.filter(pc.and_(short, pc.invert(_is_in(memories["kind"], (*KINDS, *_GENERATED)))))
    if not len(derived):
        return {}
    all_ = snapshot.table("memories")
    spoken = _is_in(all_["kind"], KINDS)
    turns, notes = all_.filter(spoken), all_.filter(pc.invert(spoken))
    # a chunk of the external id of a memory is its own text, which an import stored; of a turn it is the turn
    chunks = snapshot.table("chunks")
    own = pc.replace_substring_regex(chunks["external_id"], "#[0-9]+$", "")
    chunks = chunks.append_column("own", own)
    of_notes = pc.is_in(own, value_set=pc.drop_null(notes["external_id"].combine_chunks()))
    passages = _passages(snapshot, chunks.filter(pc.invert(of_notes)), turns)
    if not passages:
        return {}
    links = _links(snapshot, derived, turns, passages, chunks.filter(of_notes)["id"])
    names = introductions([p for d in {d for link in links.values() for d in link.documents} for p in passages[d]])
    users = names if len(names) == 1 else ()
    sources: dict[tuple[str, ...], MemorySource] = {}
    found: dict[str, Disagreement] = {}
    texts = dict(zip(derived["id"].to_pylist(), derived["text"].to_pylist(), strict=True))
    for id_, link in sorted(links.items()):
        source = sources.get(link.documents)
        if source is None:
            source = MemorySource([p for document in link.documents for p in passages[document]], users)
            sources[link.documents] = source
        if (differs := source.differs(texts[id_], link.cited)) is not None:
            found[id_] = differs
    return found


def _is_in(column: pa.ChunkedArray, values: Sequence[str]) -> pa.ChunkedArray:
    return pc.is_in(column, value_set=pa.array(sorted(values), column.type))


def _passages(snapshot: Snapshot, chunks: pa.Table, turns: pa.Table) -> dict[str, tuple[SourcePassage, ...]]:
    """Map each document to its passages in order; it has none if it is retired, or if nothing replaced a passage that is retired."""
    spoken = turns.filter(pc.is_in(turns["external_id"], value_set=pc.drop_null(chunks["own"].combine_chunks())))
    said = {r["external_id"]: r for r in spoken.select(("external_id", "author", "valid_from")).to_pylist()}
    documents = snapshot.table("documents").select(("id", "valid_from", "invalidated_at"))
    live = {r["id"]: r["valid_from"] for r in documents.to_pylist() if r["invalidated_at"] is None}
    rows = chunks.select(("id", "document_id", "ordinal", "content", "speaker", "own", "invalidated_at"))
    by_document: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows.sort_by([("document_id", "ascending"), ("ordinal", "ascending"), ("id", "ascending")]).to_pylist():
        by_document[row["document_id"]].append(row)
    found: dict[str, tuple[SourcePassage, ...]] = {}
    for document, of in by_document.items():
        now = [r for r in of if r["invalidated_at"] is None]
        gone = {r["own"] for r in of} - {r["own"] for r in now}
        day = live.get(document)
        whole = document in live and not gone
        found[document] = tuple(p for r in now for p in _spoken(r, said.get(r["own"]), day)) if whole else ()
    return found


def _spoken(row: Mapping[str, Any], turn: Mapping[str, Any] | None, day: datetime | None) -> Sequence[SourcePassage]:
    """Return the parts of a passage by speaker; a turn is one, and a page of a session has one for each turn."""
    if turn is not None:
        author = str(row["speaker"] or turn["author"] or "")
        low = author.casefold()
        speaker = USER if low in _USERS else ASSISTANT if low in PROGRAMS else author
        at = turn["valid_from"] or day
        return (SourcePassage(row["id"], row["content"], speaker, at.date() if at else None),)
    parts = [] if row["speaker"] else session_turns(row["content"])
    if not any(part.speaker for part in parts):
        return (SourcePassage(row["id"], row["content"], row["speaker"] or "", day.date() if day else None),)
    return [SourcePassage(row["id"], p.text, p.speaker, at.date() if (at := p.at or day) else None) for p in parts]


def _links(
    snapshot: Snapshot,
    derived: pa.Table,
    turns: pa.Table,
    passages: Mapping[str, Sequence[SourcePassage]],
    own: pa.ChunkedArray,
) -> dict[str, _Link]:
    """Map each derived memory whose source is complete to that source; ``own`` are the chunks with the texts of notes themselves."""
    documents_of = {p.id: document for document, of in passages.items() for p in of}
    named = named_sources(derived, snapshot.table("memories"))
    wanted = pa.array(sorted({id_ for ids in named.values() for id_ in ids}), pa.string())
    memories = snapshot.table("memories")
    cited_by = {
        r["id"]: r["source_chunk_ids"] or ()
        for r in memories.filter(pc.is_in(memories["id"], value_set=wanted))
        .select(("id", "source_chunk_ids"))
        .to_pylist()
    }
    sessions: defaultdict[str, set[str]] = defaultdict(set)
    mine = turns.filter(
        pc.is_in(turns["session_id"], value_set=pc.drop_null(pc.unique(derived["session_id"].combine_chunks())))
    )
    for row in mine.select(("session_id", "source_document_ids")).to_pylist():
        sessions[row["session_id"]].update(row["source_document_ids"] or ())
    rows = derived.select(("id", "session_id", "source_chunk_ids", "source_document_ids")).to_pylist()
    asked = {c for r in rows for c in r["source_chunk_ids"] or ()} | {c for ids in cited_by.values() for c in ids}
    left_out = set(own.filter(pc.is_in(own, value_set=pa.array(sorted(asked), pa.string()))).to_pylist())
    links: dict[str, _Link] = {}
    for row in rows:
        cited = {*(row["source_chunk_ids"] or ()), *(c for id_ in named.get(row["id"], ()) for c in cited_by[id_])}
        cited -= left_out
        if cited:
            documents = {documents_of.get(c, "") for c in cited}
        else:
            documents = {d for d in row["source_document_ids"] or () if d in passages}
            documents |= sessions.get(row["session_id"], set())
        if documents and all(passages.get(d) for d in documents):
            links[row["id"]] = _Link(tuple(sorted(documents)), frozenset(cited) or None)
    return links


def ask_about_sources(inputs: Inputs, left_out: Collection[str]) -> list[Item]:
    """Return a question for each memory that differs from its source: it ends, or takes the date or number of its source.

    Pinned memories, those that screening holds back, and ``left_out`` are not asked about.
    """
    found = unsupported_memories(inputs.snapshot)
    live = active_memories(inputs.snapshot)
    mine = live.filter(pc.and_(pc.invert(live["pinned"]), _is_in(live["id"], sorted({*found} - {*left_out}))))
    texts = {
        row["id"]: str(row["text"])
        for row in mine.select(("id", "text", "attributes")).to_pylist()
        if not is_held_back(row["text"], row["attributes"])
    }
    ending = [id_ for id_ in texts if not found[id_].corrected]
    rewording = [id_ for id_ in texts if found[id_].corrected]
    versions = [NewVersion(id_, found[id_].corrected, OPERATION, rests_on=_RESTS_ON) for id_ in rewording]
    vectors = (
        np.asarray(inputs.embed([v.content for v in versions]), np.float32)
        if inputs.embed is not None and versions and inputs.snapshot.vectors["memory_vectors"].model
        else None
    )
    losses = [Loss("", (id_,), (*SAID["memories"], *_RESTS_ON)) for id_ in ending]
    mutations = [
        *lose_conflict(inputs.snapshot, "memories", losses),
        *new_versions(inputs.snapshot, versions, vectors),
    ]
    passages = rows_by_id(inputs.snapshot, "chunks", {found[id_].passage.id for id_ in texts}, ("invalidated_at",))
    items: list[Item] = []
    for id_, mutation in zip((*ending, *rewording), mutations, strict=True):
        one = found[id_]
        source = Guard.on("chunks", one.passage.id, passages[one.passage.id], ("invalidated_at",))
        items.append(
            Item(
                OPERATION,
                Decision.REVIEW,
                replace(mutation, guards=(*mutation.guards, source)),
                evidence=_evidence(one, texts[id_]),
                risk="high",
                sources=(one.passage.id,),
            )
        )
    return items


def _evidence(one: Disagreement, text: str) -> dict[str, object]:
    """Return the texts, the sentence of the source with its speaker and day, and how they differ."""
    who = _named(one.passage.speaker) if one.passage.speaker else "a passage"
    day = f" of {one.passage.day.isoformat()}" if one.passage.day else ""
    source, why = quote(one.sentence, _LONGEST_QUOTE), _difference(one)
    found: dict[str, object] = {
        "unsupported": why,
        "told_by": f"{who[0].upper()}{who[1:]}{day}: {source}",
        "reason": f"Its source is {who}{day}: “{source}” There {why}.",
    }
    if not one.corrected:
        return found | {"loser": quote(text, _LONGEST_TEXT)}
    before, after = quote_change(text, one.corrected, _LONGEST_TEXT)
    return found | {"before": before, "after": after}


def _difference(one: Disagreement) -> str:
    """Return the clause that states how the source differs."""
    claimed, stated = _named(one.claimed), _named(one.stated)
    match one.kind:
        case "date" | "number":
            return f"“{stated}” is stated, not “{claimed}”" if stated else f"no date “{claimed}” is stated"
        case "negation":
            return f"this is stated without “{claimed}”" if claimed else f"this is stated with “{stated}”"
        case "mood":
            return "it is only asked" if stated == "a question" else f"“{stated}” leaves it open"
        case "speaker":
            return (
                f"it is {stated}"
                if stated.startswith("a suggestion")
                else f"it is stated of {stated}, not of {claimed}"
            )


def _named(speaker: str) -> str:
    return f"the {speaker}" if speaker.split("'")[0] in (USER, ASSISTANT) else speaker
