"""Queries of the recall probe and their targets: past recalls, and sentences of raw episodes where none can be replayed."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.mutations.forget_limits import FORGOTTEN, RETIRED
from slowwave.mutations.mutation import MADE_FROM
from slowwave.mutations.new_version import REDACTION
from slowwave.probes.merges import chain
from slowwave.rows.asked import FIRST
from slowwave.rows.memories import active_memories
from slowwave.rows.small_talk import small_talk
from slowwave.search.rows import SEARCHED, searched_table
from slowwave.snapshots.snapshot import Snapshot

Source = Literal["recall_events", "episodes", "none"]

Evident = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[Sequence[str]]]
"""Queries with their first hits → those of the hits that are evidence: what is merely the best of an off-topic query is no answer."""

EPISODES: Final = 100
"""Questions that are drawn from raw episodes where no recall event can be replayed."""

_QUESTION_WORDS: Final = 32
_MANY: Final = 6
"""Texts that may have the sentence that is asked for: a few tellings of a thing, each beside its passage."""

_CITING: Final = ("id", "source_chunk_ids")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|[\n。！？]+")


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to be found: the ids that stand for it before and after the plan; none after it when it is lost."""

    before: frozenset[str]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class ProbeQuery:
    """A query and what it should find; at least one target."""

    query: str
    targets: tuple[Target, ...]


def longest_sentence(text: str) -> str:
    """The sentence that says most, by length (the first of equals), 32 words of it at most."""
    return " ".join(max(_SENTENCE_END.split(text), key=len).split()[:_QUESTION_WORDS])


def questions_of(
    before: Snapshot,
    names: TargetResolver,
    tables: Sequence[str],
    limit: int,
    successors: Mapping[str, str] | None = None,
    evident: Evident | None = None,
) -> tuple[Source, list[ProbeQuery]]:
    """Past recalls where any can be replayed, else sentences of raw episodes.

    ``evident`` selects the hits that answer, of recalls where the agent selected none; without it all do.

    ``successors``: memory that ends → the one that says so, whose words are asked for in its place where a question is drawn.
    """
    if events := _event_questions(before, names, tables, limit, evident):
        return "recall_events", events
    return "episodes", _episode_questions(before, names, tables, successors or {})


def _event_questions(
    before: Snapshot, names: TargetResolver, tables: Sequence[str], limit: int, evident: Evident | None
) -> list[ProbeQuery]:
    """The newest ``limit`` recall events whose query and targets still mean something in ``before``, newest first."""
    events = before.table("recall_events").sort_by([("occurred_at", "descending"), ("id", "ascending")])
    questions: list[ProbeQuery] = []
    wanted = ("query", "selected_ids", "hit_ids")
    for start in range(0, len(events), limit):
        recalls = [event for event in _rows(events.slice(start, limit), wanted) if event["query"].strip()]
        unselected = [(r["query"], tuple((r["hit_ids"] or ())[:FIRST])) for r in recalls if not r["selected_ids"]]
        hits = iter(evident(unselected) if evident else [ids for _, ids in unselected])
        for recall in recalls:
            targets = names.targets(recall["selected_ids"] or next(hits), tables)
            if targets:
                questions.append(ProbeQuery(recall["query"], targets))
            if len(questions) == limit:
                return questions
    return questions


def _episode_questions(
    before: Snapshot, names: TargetResolver, tables: Sequence[str], successors: Mapping[str, str]
) -> list[ProbeQuery]:
    """The longest sentences of at most 100 raw episodes, spread evenly over the ids of live episodic memories and chunks; what a plan wrote
    is no episode: nobody said it. What is said over and over ("You're welcome.") asks for nothing.

    "Lorenzo lives in Split" asks for nothing that holds once "Lorenzo moved to Utrecht" has ended it: the successor's own sentence does.
    """
    memories = searched_table(before, "memories", ("id", "kind", "current_version_id"))
    memories = memories.filter(pc.equal(memories["kind"], "episodic"))
    versions = before.table("memory_versions")
    current = pc.index_in(memories["current_version_id"], value_set=versions["id"].combine_chunks())
    parts = {"memories": (memories["id"], versions["content"].take(current))}
    if "chunks" in tables:
        chunks = searched_table(before, "chunks", ("id", "content", "document_id"))
        made = pa.array(sorted(_carrying(before.table("documents"), MADE_FROM)), pa.string())
        chunks = chunks.filter(pc.invert(pc.is_in(chunks["document_id"], value_set=made)))
        parts["chunks"] = (chunks["id"], chunks["content"])
    raw = pa.table(
        {
            name: pa.chunked_array([c for part in parts.values() for c in part[n].chunks], pa.string())
            for n, name in enumerate(("id", "text"))
        }
    )
    raw = raw.filter(pc.match_substring_regex(raw["text"], r"[\pL\pN]"))
    order = pc.sort_indices(raw["id"])
    drawn = np.unique(np.linspace(0, len(raw) - 1, min(EPISODES, len(raw)), dtype=np.int64))
    rows = raw.take(order.take(pa.array(drawn, pa.int64()))).to_pylist()
    told = _texts_of(before, {chain(row["id"], successors)[-1] for row in rows if row["id"] in successors})
    asked = [(_asked_of(row["text"], told.get(chain(row["id"], successors)[-1])), row["id"]) for row in rows]
    common = _said_by_many({query for query, _ in asked}, raw["text"])
    return [
        ProbeQuery(query, targets)
        for query, row in asked
        if query not in common and (targets := names.targets([row], tables))
    ]


def _asked_of(text: str, successor: str | None) -> str:
    """The longest sentence of an episode, or that of what has ended it which has most words in common with it."""
    if successor is None:
        return longest_sentence(text)
    words = frozenset(text.casefold().split())
    told = max(_SENTENCE_END.split(successor), key=lambda s: (len(words.intersection(s.casefold().split())), len(s)))
    return longest_sentence(told)


def _texts_of(before: Snapshot, ids: Set[str]) -> dict[str, str]:
    """Live memories → their texts."""
    if not ids:
        return {}
    memories = active_memories(before)
    memories = memories.filter(pc.is_in(memories["id"], value_set=pa.array(sorted(ids), pa.string())))
    return {str(row["id"]): str(row["text"]) for row in memories.select(["id", "text"]).to_pylist() if row["text"]}


def _said_by_many(queries: Set[str], texts: pa.ChunkedArray) -> frozenset[str]:
    """Those of some sentences that more than ``_MANY`` texts have: who asks for one asks for none of these rows by itself. None where
    nothing would be left to ask."""
    said = Counter(
        sentence
        for text in texts.to_pylist()
        for sentence in {" ".join(s.split()[:_QUESTION_WORDS]) for s in _SENTENCE_END.split(text)} & queries
    )
    common = frozenset(sentence for sentence, times in said.items() if times > _MANY)
    return common if len(common) < len(queries) else frozenset()


class TargetResolver:
    """What ids of one snapshot mean in both: merges (``into``) followed to their survivors, cited chunks for what has no live row."""

    def __init__(self, before: Snapshot, after: Snapshot, into: Mapping[str, str]) -> None:
        self._before = before
        self._live = tuple(
            {t: frozenset(searched_table(snapshot, t, ("id",))["id"].to_pylist()) for t in SEARCHED}
            for snapshot in (before, after)
        )
        self._sides: dict[tuple[str, ...], tuple[frozenset[str], frozenset[str]]] = {}
        self._into = into
        self._withheld = withheld_rows(before, after)
        self._talk = archived_talk(before, after)
        self._left_out: set[str] = set()
        self._cited: dict[str, frozenset[str]] | None = None
        self._memories_of: dict[str, frozenset[str]] | None = None

    @property
    def withheld_targets(self) -> int:
        """Rows that were asked about and are withheld by the plan."""
        return len(self._left_out)

    def targets(self, ids: Iterable[str], tables: Sequence[str]) -> tuple[Target, ...]:
        """The targets of a recall among the rows of ``tables``: one for all that one survivor stands for, and a memory with passages.

        Those with no row in ``before`` are out, and so are those that the plan withholds, and small talk that it archives: nobody looks for
        that, and searches list it among their hits. Chunks stand for the rows that cite them only where chunks are searched.
        """
        groups: dict[str, set[str]] = {}
        ids = list(ids)
        for id_ in ids:
            rows = chain(id_, self._into)
            groups.setdefault(rows[-1], set()).update(rows)
        for id_ in self._live[0]["chunks"].intersection(ids) if len(groups) > 1 else ():
            memory = next(
                (i for i in ids if i in self._citing_memories().get(id_, ()) and i not in self._withheld), None
            )
            if memory is not None:
                groups[chain(memory, self._into)[-1]] |= groups.pop(id_, set())
        found: list[Target] = []
        for group in groups.values():
            if not self._withheld.isdisjoint(group):
                self._left_out |= self._withheld & group
            elif not self._talk.isdisjoint(group):
                continue
            elif (target := self._target(frozenset(group), tables)).before:
                found.append(target)
        return tuple(found)

    def _target(self, group: frozenset[str], tables: Sequence[str]) -> Target:
        live_before, live_after = self._live_rows(tuple(tables))
        sources = self._sources if "chunks" in tables else _no_sources
        after = group & live_after or sources(group) & live_after
        own = group & live_before or sources(group) & live_before
        return Target(own | (after & live_before), after)

    def _live_rows(self, tables: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
        """Ids of the rows of ``tables`` that can be found before and after the plan."""
        if tables not in self._sides:
            before, after = (frozenset[str]().union(*(live[t] for t in tables)) for live in self._live)
            self._sides[tables] = before, after
        return self._sides[tables]

    def _citing_memories(self) -> Mapping[str, frozenset[str]]:
        """Passage that a recall event names → the memories that cite it and are no summaries."""
        if self._memories_of is None:
            events = self._before.table("recall_events")
            named = [pc.list_flatten(events[name].combine_chunks()) for name in ("selected_ids", "hit_ids")]
            passages = pc.unique(pa.concat_arrays(named))
            memories = self._before.table("memories")
            memories = memories.filter(pc.not_equal(memories["kind"], "summary"))
            cited = memories["source_chunk_ids"].combine_chunks()
            flat = pc.list_flatten(cited)
            wanted = pc.is_in(flat, value_set=passages)
            of = memories["id"].take(pc.list_parent_indices(cited).filter(wanted))
            found: dict[str, set[str]] = defaultdict(set)
            for passage, memory in zip(flat.filter(wanted).to_pylist(), of.to_pylist(), strict=True):
                found[passage].add(memory)
            self._memories_of = {passage: frozenset(own) for passage, own in found.items()}
        return self._memories_of

    def _sources(self, group: frozenset[str]) -> frozenset[str]:
        """Chunks that rows of the group cite in ``before``; only questions with a dead target ever read them."""
        if self._cited is None:
            live_before, live_after = self._live_rows(SEARCHED)
            alive = pa.array(sorted(live_before & live_after), pa.string())
            self._cited = {}
            for table in ("entities", "memories"):
                rows = self._before.table(table)
                gone = rows.filter(pc.invert(pc.is_in(rows["id"], value_set=alive)))
                self._cited.update((r["id"], frozenset(r["source_chunk_ids"])) for r in _rows(gone, _CITING))
        return frozenset().union(*(self._cited.get(id_, frozenset()) for id_ in group))


def withheld_rows(before: Snapshot, after: Snapshot, *, missing: bool = True) -> frozenset[str]:
    """Rows that are quarantined, say less by a redaction, or were forgotten, since ``before``; with ``missing`` also those that left their
    tables, which by a single plan only rows do that are forgotten for good or were retired before.
    """
    found: set[str] = set()
    for table in SEARCHED:
        rows, old = after.table(table), before.table(table)
        if missing and rows is not old:
            found |= set(old["id"].to_pylist()) - set(rows["id"].to_pylist())
        if rows is not old and "state" in rows.column_names:
            held, held_before = (t["id"].filter(pc.equal(t["state"], "quarantined")) for t in (rows, old))
            found |= set(held.to_pylist()) - set(held_before.to_pylist())
    versions, known = after.table("memory_versions"), before.table("memory_versions")
    if versions is not known:
        redactions = versions.filter(pc.equal(versions["reason"], REDACTION))
        new = pc.invert(pc.is_in(redactions["id"], value_set=known["id"].combine_chunks()))
        found |= set(redactions["memory_id"].filter(new).to_pylist())
    return frozenset(found | _forgotten(before, after))


def archived_talk(before: Snapshot, after: Snapshot) -> frozenset[str]:
    """Memories of small talk alone that were archived since ``before``."""
    table = after.table("memories")
    if table is before.table("memories"):
        return frozenset()
    archived = table["id"].filter(pc.equal(table["state"], "archived")).combine_chunks()
    memories = active_memories(before)
    if not (gone := pc.is_in(memories["id"], value_set=archived).to_numpy()).any():
        return frozenset()
    return frozenset(memories["id"].filter(pa.array(gone & small_talk(memories))).to_pylist())


def _forgotten(before: Snapshot, after: Snapshot) -> set[str]:
    """Claims that were forgotten since ``before``, and the passages of pages that were."""
    found: set[str] = set()
    events, known = after.table("claim_events"), before.table("claim_events")
    if events is not known:
        new = pc.invert(pc.is_in(events["id"], value_set=known["id"].combine_chunks()))
        found |= set(events["claim_id"].filter(pc.and_(new, pc.equal(events["event"], RETIRED))).to_pylist())
    documents, old = (snapshot.table("documents") for snapshot in (after, before))
    if documents is not old and (pages := _carrying(documents, FORGOTTEN) - _carrying(old, FORGOTTEN)):
        chunks = before.table("chunks")
        of = pc.is_in(chunks["document_id"], value_set=pa.array(sorted(pages), pa.string()))
        found |= set(chunks["id"].filter(of).to_pylist())
    return found


def _carrying(documents: pa.Table, field: str) -> set[str]:
    """The pages of which the metadata have a field of their own."""
    rows = documents.filter(pc.match_substring(documents["metadata"], f'"{field}"')).select(["id", "metadata"])
    return {row["id"] for row in rows.to_pylist() if field in json.loads(row["metadata"])}


def _rows(table: pa.Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in table.select(list(columns)).to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _no_sources(group: frozenset[str]) -> frozenset[str]:
    return frozenset()
