"""The recall probe, which compares what past queries find before and after a plan with one reference retriever."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import inserted_id
from slowwave.changes.mutation import FORGOTTEN, MADE_FROM, REDACTION, RETIRED, Mutation
from slowwave.models import Embed
from slowwave.plans.items import Item
from slowwave.plans.permitted import retired
from slowwave.plans.probes.isolation import chain, merged_into, succeeded_by, won_against
from slowwave.search.retriever import Retriever
from slowwave.search.rows import SEARCHED, searched_table
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import FIRST, small_talk
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings

# Queries of the recall probe and their targets: past recalls or, if none can be replayed, sentences of raw episodes.

Source = Literal["recall_events", "episodes", "none"]

Evident = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[Sequence[str]]]
"""Queries with their first hits → the hits that are evidence. The best hit of an off-topic query is no answer."""

EPISODES: Final = 100
"""The number of questions drawn from raw episodes if no recall event can be replayed."""

_QUESTION_WORDS: Final = 32
_MANY: Final = 6
"""The number of texts that may contain the sentence of a question: a few retellings, each with its passage."""

_CITING: Final = ("id", "source_chunk_ids")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|[\n。！？]+")


@dataclass(frozen=True, slots=True)
class Target:
    """One item to be found: the ids that count as it before and after the plan; none after it if it is lost."""

    before: frozenset[str]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class ProbeQuery:
    """A query and the targets that it should find, at least one."""

    query: str
    targets: tuple[Target, ...]


def longest_sentence(text: str) -> str:
    """Return the longest sentence (the first of equals), cut to 32 words."""
    return " ".join(max(_SENTENCE_END.split(text), key=len).split()[:_QUESTION_WORDS])


def questions_of(
    before: Snapshot,
    names: TargetResolver,
    tables: Sequence[str],
    limit: int,
    successors: Mapping[str, str] | None = None,
    evident: Evident | None = None,
) -> tuple[Source, list[ProbeQuery]]:
    """Return past recalls if any can be replayed, else sentences of raw episodes.

    ``evident`` selects the hits that count as answers for recalls where the agent selected none; without it, all do. ``successors`` maps
    a memory that ends to the one that says so; its words are used in a question drawn from the ended memory.
    """
    if events := _event_questions(before, names, tables, limit, evident):
        return "recall_events", events
    return "episodes", _episode_questions(before, names, tables, successors or {})


def _event_questions(
    before: Snapshot, names: TargetResolver, tables: Sequence[str], limit: int, evident: Evident | None
) -> list[ProbeQuery]:
    """Return the newest ``limit`` recall events whose query and targets still exist in ``before``, newest first."""
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
    """Return the longest sentences of at most 100 raw episodes, spread evenly over the ids of episodic memories and chunks.

    Chunks of pages that a plan wrote are left out, because nobody said them. Sentences that are repeated often ("You're welcome.") are
    left out as well. If "Lorenzo moved to Utrecht" has ended "Lorenzo lives in Split", the question is the successor's sentence, because
    the old one asks for nothing that still holds. A memory that cites a passage and contains the question answers it as the passage does.
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
    successor_texts = _texts_of(before, {chain(row["id"], successors)[-1] for row in rows if row["id"] in successors})
    asked = [(_asked_of(row["text"], successor_texts.get(chain(row["id"], successors)[-1])), row["id"]) for row in rows]
    common = _said_by_many({query for query, _ in asked}, raw["text"])
    citing = names.read_citations(row for _, row in asked) if "chunks" in tables else {}
    texts = _texts_of(before, frozenset[str]().union(*citing.values()))
    questions: list[ProbeQuery] = []
    for query, row in asked:
        same = sorted(memory for memory in citing.get(row, ()) if query in " ".join(texts.get(memory, "").split()))
        if query not in common and (targets := names.targets([row, *same[:1]], tables)):
            questions.append(ProbeQuery(query, targets))
    return questions


def _asked_of(text: str, successor: str | None) -> str:
    """Return the longest sentence of an episode or, if it has ended, the successor's sentence that shares most words."""
    if successor is None:
        return longest_sentence(text)
    words = frozenset(text.casefold().split())
    closest = max(_SENTENCE_END.split(successor), key=lambda s: (len(words.intersection(s.casefold().split())), len(s)))
    return longest_sentence(closest)


def _texts_of(before: Snapshot, ids: Set[str]) -> dict[str, str]:
    """Return live memory → its text."""
    if not ids:
        return {}
    memories = active_memories(before)
    memories = memories.filter(pc.is_in(memories["id"], value_set=pa.array(sorted(ids), pa.string())))
    return {str(row["id"]): str(row["text"]) for row in memories.select(["id", "text"]).to_pylist() if row["text"]}


def _said_by_many(queries: Set[str], texts: pa.ChunkedArray) -> frozenset[str]:
    """Return the sentences that more than ``_MANY`` texts contain, because such a question does not ask for one row.

    Empty if no question would be left.
    """
    occurrences = Counter(
        sentence
        for text in texts.to_pylist()
        for sentence in {" ".join(s.split()[:_QUESTION_WORDS]) for s in _SENTENCE_END.split(text)} & queries
    )
    common = frozenset(sentence for sentence, times in occurrences.items() if times > _MANY)
    return common if len(common) < len(queries) else frozenset()


class TargetResolver:
    """Resolution of ids of one snapshot to rows in both snapshots.

    Merges (``into``) are followed to their survivors, and cited chunks replace rows that are not live. ``ended`` are rows that a person's
    answers end; those that no row replaces are no targets, like rows that the plan withholds.
    """

    def __init__(
        self, before: Snapshot, after: Snapshot, into: Mapping[str, str], ended: frozenset[str] = frozenset()
    ) -> None:
        self._before = before
        self._live = tuple(
            {t: frozenset(searched_table(snapshot, t, ("id",))["id"].to_pylist()) for t in SEARCHED}
            for snapshot in (before, after)
        )
        self._sides: dict[tuple[str, ...], tuple[frozenset[str], frozenset[str]]] = {}
        self._into = into
        self._withheld = withheld_rows(before, after) | (ended - into.keys())
        self._talk = archived_talk(before, after)
        self._left_out: set[str] = set()
        self._cited: dict[str, frozenset[str]] | None = None
        self._memories_of: dict[str, frozenset[str]] | None = None

    @property
    def withheld_targets(self) -> int:
        """Return how many requested rows the plan withholds."""
        return len(self._left_out)

    def targets(self, ids: Iterable[str], tables: Sequence[str]) -> tuple[Target, ...]:
        """Return the targets of a recall among the rows of ``tables``.

        Rows with the same survivor are one target, and so are a memory and its passages. Targets without a row in ``before``, and targets
        that the plan withholds, are left out. Small talk that the plan archives is left out as well: nobody looks for it, but searches
        list it among their hits. Chunks replace the rows that cite them only if chunks are searched.
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
        """Return the ids of the rows of ``tables`` that can be found before and after the plan."""
        if tables not in self._sides:
            before, after = (frozenset[str]().union(*(live[t] for t in tables)) for live in self._live)
            self._sides[tables] = before, after
        return self._sides[tables]

    def _citing_memories(self) -> Mapping[str, frozenset[str]]:
        """Return passage that a recall event names, or that ``read_citations`` was given → the memories, except summaries, that cite it."""
        if self._memories_of is None:
            events = self._before.table("recall_events")
            named = [pc.list_flatten(events[name].combine_chunks()) for name in ("selected_ids", "hit_ids")]
            self._memories_of = self._citations(pc.unique(pa.concat_arrays(named)))
        return self._memories_of

    def read_citations(self, passages: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """Let ``targets`` join these passages with the memories that cite them; return passage → memories, except summaries.

        Cost: a pass over the sources of all memories.
        """
        found = self._citations(pa.array(sorted(passages), pa.string()))
        self._memories_of = {**self._citing_memories(), **found}
        return found

    def _citations(self, passages: pa.Array) -> dict[str, frozenset[str]]:
        memories = self._before.table("memories")
        memories = memories.filter(pc.not_equal(memories["kind"], "summary"))
        cited = memories["source_chunk_ids"].combine_chunks()
        flat = pc.list_flatten(cited)
        wanted = pc.is_in(flat, value_set=passages)
        of = memories["id"].take(pc.list_parent_indices(cited).filter(wanted))
        found: dict[str, set[str]] = defaultdict(set)
        for passage, memory in zip(flat.filter(wanted).to_pylist(), of.to_pylist(), strict=True):
            found[passage].add(memory)
        return {passage: frozenset(own) for passage, own in found.items()}

    def _sources(self, group: frozenset[str]) -> frozenset[str]:
        """Return the chunks that rows of the group cite in ``before``; used only by questions with a dead target."""
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
    """Return rows that were quarantined, redacted or forgotten since ``before``.

    With ``missing``, also rows that left their tables. Within one plan, these are only rows that are forgotten for good or were retired
    before.
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
    """Return memories that consist only of small talk and were archived since ``before``."""
    table = after.table("memories")
    if table is before.table("memories"):
        return frozenset()
    archived = table["id"].filter(pc.equal(table["state"], "archived")).combine_chunks()
    memories = active_memories(before)
    if not (gone := pc.is_in(memories["id"], value_set=archived).to_numpy()).any():
        return frozenset()
    return frozenset(memories["id"].filter(pa.array(gone & small_talk(before))).to_pylist())


def _forgotten(before: Snapshot, after: Snapshot) -> set[str]:
    """Return claims that were forgotten since ``before``, and the passages of forgotten pages."""
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
    """Return the pages whose metadata have the field."""
    rows = documents.filter(pc.match_substring(documents["metadata"], f'"{field}"')).select(["id", "metadata"])
    return {row["id"] for row in rows.to_pylist() if field in json.loads(row["metadata"])}


def _rows(table: pa.Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in table.select(list(columns)).to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _no_sources(group: frozenset[str]) -> frozenset[str]:
    return frozenset()


# Replacements of passages and claims that items end: the passages of the page's next text, and the next claim.


def rewritten(before: Snapshot, items: Iterable[Item]) -> dict[str, str]:
    """Return what replaces passages and claims that items end.

    A passage is replaced by the new passage of its page that shares most words with it, the first of several; a claim by the claim that
    follows it. A passage of a page that only loses text has no replacement. One pass over the chunks.
    """
    stands: dict[str, str] = {}
    ended: dict[str, list[tuple[str, str]]] = {}
    for item in items:
        if item.mutation.kind not in ("write_page", "write_claims"):
            continue
        stands |= _followed(item)
        ended |= _ended(item.mutation)
    if not ended:
        return stands
    chunks = before.table("chunks").select(["id", "content"])
    chunks = chunks.filter(pc.is_in(chunks["id"], value_set=pa.array(sorted(ended), pa.string())))
    for id_, content in zip(chunks["id"].to_pylist(), chunks["content"].to_pylist(), strict=True):
        words = _words(content)
        stands[id_] = max(ended[id_], key=lambda new: len(words & _words(new[1])))[0]
    return stands


def _followed(item: Item) -> dict[str, str]:
    events = (i for i in item.mutation.inserts if i.table == "claim_events" and i.values.get("event") == "replaced")
    return {
        str(e.values["claim_id"]): inserted_id(item.id, e.refs["other_id"])
        for e in events
        if "claim_id" in e.values and "other_id" in e.refs
    }


def _ended(mutation: Mutation) -> dict[str, list[tuple[str, str]]]:
    """Return passage that ends → the new passages of its page, each with its text."""
    new: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for insert in mutation.inserts:
        if insert.table == "chunks":
            new[str(insert.values["document_id"])].append((insert.row, str(insert.values["content"])))
    pages: Mapping[str, str] = {
        g.row: str(g.seen[g.columns.index("document_id")])
        for g in mutation.guards
        if g.table == "chunks" and "document_id" in g.columns
    }
    gone = (w.cell.row for w in mutation.writes if (w.cell.table, w.cell.column) == ("chunks", "invalidated_at"))
    return {row: new[pages[row]] for row in gone if row in pages and new[pages[row]]}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


# The recall probe: what past queries find before and after a plan, by one reference retriever.
#
# A question is a query with its *targets*. A target is something that the agent used, with the rows that count as it in each snapshot.
# Rows that one merge joins are one target: after the plan it is the survivor, before the plan any of them. A memory and the passage that
# it was made from are one target as well, and one of the ten results (``slowwave.search.rows``). A target without a live row is
# represented by the live chunks that it cites. Rows that count after the plan also count before it, so a plan never gains from a lenient
# measure.
#
# A question drawn from a statement that the plan ends, because a later one says that it is over, uses the words of its successor. Queries
# that an agent once asked keep their words.
#
# Every question is asked twice: over everything that recall searches, and over memories alone. An agent that reads only its memories has
# no passages; with passages, the passage from which a memory was made would answer for it even after the memory is archived. Rows that a
# plan quarantines, redacts or forgets should no longer be found and are no targets.

K: Final = 10
_QUERIES: Final = 500
"""Newest recall events that are replayed; more make the probe slower and its interval narrower."""

RESAMPLES: Final = 2_000
_SEED: Final = 20_090_719
_AT_ONCE: Final = 4_000_000  # resampled places held in memory
_ALONE: Final = ("memories",)

_Things = list[tuple[str, ...]]
"""The results of a query, best first: the ids of the rows of each result."""


@dataclass(frozen=True, slots=True)
class Recall:
    """Mean Recall@10 before and after, and paired differences with the bounds of their 95 % bootstrap intervals."""

    queries: int
    recall_before: float
    recall_after: float
    delta: float
    low: float
    high: float
    mrr_delta: float
    mrr_low: float
    mrr_high: float
    passed: bool
    source: Source

    def figures(self) -> str:
        """Return the figures in words, without a verdict."""
        of = "past recall queries" if self.source == "recall_events" else "questions drawn from raw episodes"
        return (
            f"{self.queries:,} {of}: Recall@10 {self.recall_before:.3f} → {self.recall_after:.3f} "
            f"({self.delta:+.3f}, 95 % between {self.low:+.3f} and {self.high:+.3f})"
        )


@dataclass(frozen=True, slots=True)
class RecallProbe(Recall):
    """The figures over all that is searched, and those over ``memories`` alone; ``passed`` means that both pass.

    ``withheld`` counts recalled rows that the plan withholds or a person's answers end. A plan that ``only_adds`` rows passes, because
    earlier hits still exist. ``lost`` maps rows to the loss that they cause, in questions: rows that were found before the plan and not
    after it or, if these are still live, the rows that displaced them.
    """

    memories: Recall
    withheld: int = 0
    only_adds: bool = False
    lost: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the form that plans store and show, without the lost rows, which may be thousands."""
        return {name: value for name, value in asdict(self).items() if name != "lost"}

    def sentence(self) -> str:
        """Return sentences for an operator."""
        if not self.queries:
            return "Recall was not measured: the namespace has no recall event and no raw episode to ask about."
        alone = f" Over memories alone, {self.memories.figures()}." if self.memories.queries else ""
        one = self.withheld == 1
        left_out = (
            f" {self.withheld:,} recalled {'row' if one else 'rows'} that the plan quarantines, redacts or forgets, or that a person's "
            f"answer ends, {'is' if one else 'are'} not asked about: that {'it is' if one else 'they are'} found no longer is intended."
            if self.withheld
            else ""
        )
        added = (
            " The plan only adds rows, so every answer is still there."
            if self.only_adds and min(self.delta, self.memories.delta) < 0
            else ""
        )
        message = f"{self.figures()}.{alone}{left_out}{added}"
        return message if self.passed else f"{message} The plan may harm recall: approving it needs force and a reason."


_NOTHING: Final = Recall(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, "none")


class Baseline:
    """The results of queries in one snapshot, shared by the probes of several possible plans.

    The snapshot's texts are read once, and each list of queries is searched once.
    """

    def __init__(self, snapshot: Snapshot, embed: Embed | None) -> None:
        self.snapshot, self.embed = snapshot, embed
        self._retrievers: dict[tuple[str, ...], Retriever] = {}
        self._vectors: dict[str, np.ndarray] = {}
        self._found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[_Things]] = {}

    def retriever(self, tables: tuple[str, ...] = SEARCHED) -> Retriever:
        """Return the retriever over ``tables``."""
        if tables not in self._retrievers:
            base = None if tables == SEARCHED else self.retriever()
            self._retrievers[tables] = Retriever(self.snapshot, self.embed, base=base, tables=tables)
        return self._retrievers[tables]

    def vectors(self, queries: Sequence[str]) -> np.ndarray | None:
        """Return unit vectors (q, d) of the queries (q), see ``Retriever.embedded``. Each query is embedded once."""
        new = sorted({*queries} - self._vectors.keys())
        made = self.retriever().embedded(new)
        if new and made is None:
            return None
        if made is not None:
            self._vectors.update(zip(new, made, strict=True))
        return np.stack([self._vectors[query] for query in queries]) if queries else None

    def evident(self, recalls: Sequence[tuple[str, Sequence[str]]]) -> list[Sequence[str]]:
        """Return, for each query with its first hits, the hits that are evidence, see ``Retriever.evident``."""
        vectors = self.vectors([query for query, _ in recalls])
        retriever = self.retriever()
        return [
            retriever.evident(query, None if vectors is None else vectors[n], ids)
            for n, (query, ids) in enumerate(recalls)
        ]

    def found(self, tables: tuple[str, ...], queries: tuple[str, ...]) -> list[_Things]:
        """Return the ``K`` best results of ``tables`` for each query."""
        key = tables, queries
        if key not in self._found:
            self._found[key] = self.retriever(tables).things(queries, self.vectors(queries), K)
        return self._found[key]


def recall_probe(
    before: Snapshot,
    after: Snapshot,
    settings: Settings,
    embed: Embed | None,
    items: Sequence[Item] = (),
    baseline: Baseline | None = None,
    answered: frozenset[str] = frozenset(),
) -> RecallProbe:
    """Replay the newest ``_QUERIES`` recall events against both snapshots, and again on memories alone.

    The targets are the hits that an event selected or, without a selection, those of its first three hits that are evidence. The last of
    ten hits, or the best hit of an off-topic query, is no target, so its displacement is no loss. If no event names a row that is live in
    ``before``, the questions are sentences of raw episodes: episodic memories and chunks.

    The result is deterministic, and exactly 0 if the snapshots hold the same searched rows and targets. The probe passes if the lower
    bound of the difference in Recall@10 is at least ``settings.recall_floor`` in both runs, or if the plan only adds rows. ``items`` made
    ``after``: they state which row replaces the loser of a contradiction or a page's earlier text. Rows that the ``answered`` ones end and
    that no row replaces are no targets, because a person decided that they end. ``baseline`` is that of ``before`` and ``embed``, for
    comparing several plans.

    Cost: the texts are read once, and every question is searched at most four times, or twice if the plan leaves the searched rows
    unchanged.
    """
    ended = frozenset(row for item in items if item.id in answered for _, row in retired(item))
    into = {**merged_into(after), **won_against(items), **rewritten(before, items)}
    names = TargetResolver(before, after, into, ended)
    successors = succeeded_by(items)
    baseline = baseline or Baseline(before, embed)
    asked = {
        tables: questions_of(before, names, tables, _QUERIES, successors, baseline.evident)
        for tables in (SEARCHED, _ALONE)
    }
    if not any(questions for _, questions in asked.values()):
        return RecallProbe(**asdict(_NOTHING), memories=_NOTHING, withheld=names.withheld_targets)
    queries = tuple(sorted({q.query for _, questions in asked.values() for q in questions}))
    second = Retriever(after, embed, base=baseline.retriever())
    lost: dict[str, float] = defaultdict(float)
    whole = _measured(*asked[SEARCHED], baseline, second, SEARCHED, queries, settings, lost)
    alone = _NOTHING
    if asked[_ALONE][1]:
        bare = Retriever(after, embed, base=second, tables=_ALONE)
        alone = _measured(*asked[_ALONE], baseline, bare, _ALONE, queries, settings, lost)
    only_adds = second.extends(baseline.retriever())
    both = replace(whole, passed=only_adds or (whole.passed and alone.passed))
    return RecallProbe(
        **asdict(both), memories=alone, withheld=names.withheld_targets, only_adds=only_adds, lost=dict(lost)
    )


def _measured(
    source: Source,
    questions: Sequence[ProbeQuery],
    baseline: Baseline,
    second: Retriever,
    tables: tuple[str, ...],
    queries: tuple[str, ...],
    settings: Settings,
    lost: dict[str, float],
) -> Recall:
    """Return the figures of some questions over ``tables``; add rows that ``second`` does not find again to ``lost``."""
    if not questions:
        return _NOTHING
    found = baseline.found(tables, queries)
    same = second.finds_the_same_as(baseline.retriever(tables))
    found_after = found if same else second.things(queries, baseline.vectors(queries), K)
    hits, hits_after = dict(zip(queries, found, strict=True)), dict(zip(queries, found_after, strict=True))
    then, now = _scores(questions, hits, "before"), _scores(questions, hits_after, "after")
    for n in np.flatnonzero(now[:, 0] < then[:, 0]).tolist():
        _blame(questions[n], hits[questions[n].query], hits_after[questions[n].query], lost)
    delta, low, high = bootstrap(now - then)
    return Recall(
        queries=len(questions),
        recall_before=float(then[:, 0].mean()),
        recall_after=float(now[:, 0].mean()),
        delta=float(delta[0]),
        low=float(low[0]),
        high=float(high[0]),
        mrr_delta=float(delta[1]),
        mrr_low=float(low[1]),
        mrr_high=float(high[1]),
        passed=bool(low[0] >= settings.recall_floor),
        source=source,
    )


def _blame(question: ProbeQuery, things: _Things, things_after: _Things, lost: dict[str, float]) -> None:
    """Distribute the loss of a question among the lost target's own rows or the rows that displaced it."""
    hits, hits_after = ({id_ for thing in found for id_ in thing} for found in (things, things_after))
    for target in question.targets:
        if target.before.isdisjoint(hits) or not target.after.isdisjoint(hits_after):
            continue
        pushed = () if target.before - target.after else hits_after - hits
        rows = {*target.before, *target.after, *pushed}
        for row in rows:
            lost[row] += 1 / (len(rows) * len(question.targets))


def bootstrap(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means and bounds of the 95 % intervals, each (m,), of paired differences (n, m).

    Percentile bootstrap over queries (Efron 1979), 2,000 resamples, seeded.
    """
    n = len(differences)
    rng = np.random.default_rng(_SEED)
    step = max(1, _AT_ONCE // n)
    means = np.concatenate(
        [
            differences[rng.integers(0, n, (min(step, RESAMPLES - start), n))].mean(axis=1)
            for start in range(0, RESAMPLES, step)
        ]
    )
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return differences.mean(axis=0), low, high


def _scores(
    questions: Sequence[ProbeQuery], things: Mapping[str, _Things], side: Literal["before", "after"]
) -> np.ndarray:
    """Return (n, 2): the share of targets among the hits, and the reciprocal rank of the first hit that is a target."""
    scores = np.zeros((len(questions), 2))
    for n, question in enumerate(questions):
        rows = [t.before if side == "before" else t.after for t in question.targets]
        found = things[question.query]
        hits = {id_ for thing in found for id_ in thing}
        scores[n, 0] = sum(not accepted.isdisjoint(hits) for accepted in rows) / len(rows)
        wanted = frozenset().union(*rows)
        scores[n, 1] = next((1 / place for place, ids in enumerate(found, 1) if not wanted.isdisjoint(ids)), 0.0)
    return scores
