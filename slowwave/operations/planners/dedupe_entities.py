"""``dedupe_entities``: entities that are the same thing become one; a person decides about doubtful pairs.

``slowwave.matching`` decides which entities are the same, ``recompute_centroids`` which vector the survivor gets. Here clusters become
complete items: the merge carries provenance, aliases, counters, attributes and its vector. If two models are available, they are asked
about the doubtful pairs first.

The planner proposes merges of live entities, and pairs for review.

The survivor is the pinned one, else the one with most mentions, else the earliest, else the smallest id; its name is chosen separately
(``slowwave.matching.names``). Every entity is in at most one item: a pair of which one row is merged tonight is left for the following
night.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.changes.merges import Merge, merge_rows, survivor_first, survivor_name
from slowwave.changes.rows import live_ids
from slowwave.matching.compare import NAME_LEVELS, shared
from slowwave.matching.entities import UNTYPED, compared_as, namesakes
from slowwave.matching.identity import DIFFERENT, MOST_ROWS, Identity
from slowwave.matching.match import Matches, Pair, find_searches, match
from slowwave.matching.names import fold
from slowwave.matching.options import DedupeEntitiesOptions, RecomputeCentroidsOptions
from slowwave.matching.review import (
    CONTESTED,
    NOTATION,
    ONE_SIDED,
    OTHER_WORD,
    JudgedPairs,
    PairQuestion,
    PairVerdict,
    ReviewPair,
    judge,
)
from slowwave.models.embedder import entity_text
from slowwave.models.panel import JUDGE_TOKENS, MOST_JUDGED
from slowwave.operations import Proposal
from slowwave.operations.operation import Inputs
from slowwave.operations.planners.recompute_centroids import centroid_decision
from slowwave.operations.rejections import labelled_pairs, open_conflicts, rejected_pairs
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.quotation import quotable
from slowwave.text.tokens import counted

# Groups of entities that become one item: the survivor, its vector, and what the person who approves is shown.

_PLAIN_LEVELS: Final = frozenset(("exact", "compact"))  # merges on these alone are of low risk

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that become one item; ``pairs`` joined them, the weakest last; ``verdict`` is that of two models, if asked."""

    decision: str
    keep: str
    absorb: tuple[str, ...]
    pairs: tuple[Pair, ...]
    verdict: PairVerdict | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the survivor and the others."""
        return (self.keep, *self.absorb)


def read_rows(snapshot: Snapshot, ids: set[str]) -> dict[str, Fields]:
    """Map each id to the fields of a live entity that items show."""
    live = snapshot.live("entities")
    wanted = ("id", "name", "entity_type", "description", "attributes", "source_chunk_ids", "source_document_ids")
    ranked = ("mention_count", "pinned", "valid_from", "recorded_at")
    found = live.filter(pc.is_in(live["id"], value_set=pa.array(sorted(ids), pa.string())))
    return {r["id"]: r for r in found.select([*wanted, *ranked]).to_pylist()}


def merge_groups(matches: Matches, rows: Mapping[str, Fields]) -> list[Group]:
    """Return the clusters as groups with the evidence of their links, which is computed in one call."""
    pairs = iter(matches.explain_all([link for links in matches.merge_links for link in links]))
    found = zip(matches.merges, matches.merge_links, strict=True)
    return [grouped("merge", ids, tuple(next(pairs) for _ in merge_links), rows) for ids, merge_links in found]


def grouped(
    decision: str,
    ids: Sequence[str],
    pairs: tuple[Pair, ...],
    rows: Mapping[str, Fields],
    verdict: PairVerdict | None = None,
) -> Group:
    """Return rows as a group, the survivor first."""
    keep, *absorb = survivor_first(rows[id_] for id_ in ids)
    return Group(decision, keep, tuple(absorb), pairs, verdict)


def new_vectors(
    inputs: Inputs, groups: Sequence[Group], rows: Mapping[str, Fields]
) -> list[tuple[str, NDArray[np.float32] | None]]:
    """Return the centroid decision and vector of each group; texts that need the model are embedded in one call.

    If ``operations.recompute_centroids.enabled`` is off, the survivor keeps its vector.
    """
    vectors = inputs.snapshot.vectors["entity_vectors"]
    if inputs.settings.switch("recompute_centroids") is False:
        return [("off", None)] * len(groups)
    if not vectors.model:
        return [("no_vectors", None)] * len(groups)
    members = [sorted(g.ids) for g in groups]
    flat = [id_ for ids in members for id_ in ids]
    place = dict(zip(flat, vectors.rows_of(pa.array(flat, pa.string())).tolist(), strict=True))
    found: list[tuple[str, NDArray[np.float32] | None]] = []
    for ids in members:
        known = [id_ for id_ in ids if place[id_] >= 0]
        mentions = np.array([rows[id_]["mention_count"] for id_ in known], np.int64)
        matrix = vectors.matrix[[place[id_] for id_ in known]]
        found.append(centroid_decision([rows[id_]["name"] for id_ in ids], matrix, mentions, inputs.settings))
    again = [k for k, (decision, _) in enumerate(found) if decision == "re_embed"]
    embed = inputs.embed
    if embed is None:
        for k in again:
            found[k] = ("re_embed_unavailable", None)
    elif again:
        for k, vector in zip(again, embed([_text(groups[k], rows) for k in again]), strict=True):
            found[k] = ("re_embed", vector)
    return found


def _text(group: Group, rows: Mapping[str, Fields]) -> str:
    """Return the survivor's text after the merge: its best name and its description.

    A survivor without a description gets the longest one of the absorbed entities.
    """
    keep = rows[group.keep]
    absorbed = (str(rows[a]["description"] or "") for a in sorted(group.absorb))
    name = survivor_name([rows[id_] for id_ in (group.keep, *sorted(group.absorb))])
    return entity_text(name, keep["entity_type"], keep["description"] or max(absorbed, key=len))


def evidence_of(group: Group, rows: Mapping[str, Fields], decision: str) -> dict[str, object]:
    """Return the evidence of an item: that of its weakest link; clusters of more than two also show every link."""
    weakest = group.pairs[-1]
    shown: dict[str, object] = {
        "probability": weakest.probability,
        "cosine": weakest.cosine,
        "waterfall": [dict(step) for step in weakest.waterfall],
        "centroid": decision,
        "names": [rows[id_]["name"] for id_ in (group.keep, *sorted(group.absorb))],  # in the order of the mutation
    }
    if len(group.pairs) > 1:
        shown["pairs"] = [
            {
                "names": [rows[p.a]["name"], rows[p.b]["name"]],
                "name_level": p.level,
                "probability": p.probability,
                "cosine": p.cosine,
            }
            for p in group.pairs
        ]
    if weakest.reason:
        shown["reason"] = weakest.reason
    if group.verdict and group.verdict.opinions:
        shown["judges"] = json.loads(json.dumps(asdict(group.verdict)))  # as it reads back
    return shown


def risk_of(group: Group, decision: str) -> str:
    """Return a low risk for a merge that rests on equal names, a high one if a person must decide.

    ``decision`` is the one about the vector.
    """
    if group.decision == Decision.REVIEW:
        return "high"
    plain = all(p.level in _PLAIN_LEVELS for p in group.pairs) and group.verdict is None
    return "low" if plain and decision != "skip_multimodal" else "medium"


def sources_of(ids: Iterable[str], rows: Mapping[str, Fields], live_chunks: frozenset[str]) -> tuple[str, ...]:
    """Return the first chunks from which the members come, taken from one member after the other in turn."""
    queues = [[c for c in rows[id_]["source_chunk_ids"] or [] if c in live_chunks][:_SOURCES] for id_ in ids]
    turns = [queue[turn] for turn in range(_SOURCES) for queue in queues if turn < len(queue)]
    return tuple(dict.fromkeys(turns))[:_SOURCES]


OPERATION: Final = "dedupe_entities"
_ENDS: Final = ("source_entity_id", "target_entity_id")
_SOURCES: Final = 10
_QUOTED: Final = 3  # passages of sources that a judge reads
_QUOTED_VALUE: Final = 80  # signs of a value in a finding
_ANY_TYPE: Final = "entity"  # the type under which rows of two types are weighed
_FLOOD_SHARE: Final = 0.3  # of a fresh namespace's entities that would be merged away or are doubtful
_FLOOD_ROWS: Final = 50

OTHER_TYPE: Final = "The names are equal, the types differ."
OTHER_TYPE_IDENTIFIED: Final = "The values that identify both types are equal, the types differ."
_FOR_PEOPLE: Final = frozenset((NOTATION, CONTESTED, ONE_SIDED, OTHER_WORD, OTHER_TYPE, OTHER_TYPE_IDENTIFIED))
"""Reasons for a review that no model overrules."""


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """Data of the report: matches, judgements, groups with their centroid decisions, and their items.

    ``waiting`` are pairs that share a row with an item.
    """

    matches: Matches
    judged: JudgedPairs
    groups: Sequence[Group]
    centroids: Sequence[str]
    items: Sequence[Item]
    waiting: Sequence[ReviewPair]


def dedupe_entities(inputs: Inputs) -> Proposal:
    """Propose to *merge* entities that are one thing under several names, or a *review* where a person should look."""
    snapshot = inputs.snapshot
    matches, crossed = _match(inputs), _of_other_types(inputs)
    merged = {id_ for ids in matches.merges for id_ in ids}
    review, waiting = _apart((*matches.review, *(ReviewPair(p.a, p.b, p.probability) for p in crossed)), merged)
    rows = read_rows(snapshot, merged | {id_ for p in review for id_ in (p.a, p.b)})
    live_chunks = live_ids(snapshot, "chunks")
    of_other_types = {(p.a, p.b): p for p in crossed}
    doubtful = matches.explain_all([(p.a, p.b) for p in review if (p.a, p.b) not in of_other_types])
    doubtful += tuple(of_other_types[p.a, p.b] for p in review if (p.a, p.b) in of_other_types)
    judged = _judge(inputs, doubtful, rows, live_chunks)
    groups = merge_groups(matches, rows)
    for pair in doubtful:
        verdict = judged.verdicts.get((pair.a, pair.b))
        groups.append(
            grouped(verdict.decision if verdict else Decision.REVIEW, (pair.a, pair.b), (pair,), rows, verdict)
        )
    decisions = new_vectors(inputs, groups, rows)
    merges = [
        Merge(g.keep, g.absorb, vector, _named_type(g, rows)) for g, (_, vector) in zip(groups, decisions, strict=True)
    ]
    clusters = _clusters(groups, waiting)
    proposed = tuple(
        ask_unless_measured(
            Item(
                OPERATION,
                group.decision,
                mutation,
                evidence=evidence_of(group, rows, decision) | clusters.get(group.keep, {}),
                risk=risk_of(group, decision),
                sources=sources_of(group.ids, rows, live_chunks),
                tokens=group.verdict.tokens if group.verdict else 0,
                probability=group.pairs[-1].probability,
            ),
            _pattern(group),
        )
        for group, mutation, (decision, _) in zip(groups, merge_rows(snapshot, merges), decisions, strict=True)
    )
    centroids = [decision for decision, _ in decisions]
    work = _Work(matches, judged, groups, centroids, proposed, waiting)
    return Proposal(proposed, _report(inputs, work, rows), learnt=matches.model, nearer=_nearer(snapshot, matches))


def _pattern(group: Group) -> str:
    """Return the rule that joins a group; the declared identity only if it joins all of its rows."""
    if group.verdict:
        return "two judges"
    declared = all(any(step["evidence"] == "identity" for step in pair.waterfall) for pair in group.pairs)
    return "declared identity" if declared else "names and attributes"


def search_candidates(inputs: Inputs) -> None:
    """Give ``inputs.search`` the searches of this planner, and propose nothing."""
    entities, rows = _compared(inputs.snapshot)
    find_searches(
        entities,
        inputs.settings,
        matrix=inputs.snapshot.vectors["entity_vectors"].matrix,
        rows=rows,
        run=inputs.search,
    )


def _match(inputs: Inputs) -> Matches:
    snapshot = inputs.snapshot
    entities, rows = _compared(snapshot)
    return match(
        entities,
        inputs.settings,
        matrix=snapshot.vectors["entity_vectors"].matrix,
        rows=rows,
        links=snapshot.live("relationships").select(["source_entity_id", "target_entity_id"]),
        aliases=snapshot.table("entity_aliases").select(["entity_id", "alias"]),
        cannot_link={
            "rejection": rejected_pairs(snapshot, OPERATION),
            "conflict": open_conflicts(snapshot, "entities"),
        },
        labelled=labelled_pairs(snapshot, OPERATION),
        focus=inputs.focus,
        model=inputs.learnt.get(OPERATION),
        run=inputs.search,
    )


def _compared(snapshot: Snapshot) -> tuple[pa.Table, NDArray[np.int64]]:
    """Return the live entities as ``match`` compares them, and the row of each one's vector or -1."""
    live = snapshot.live("entities")
    entities = live.select(["id", "entity_type", "name", "attributes", "source_document_ids", "source"])
    known = pc.if_else(pc.equal(entities["source"], ""), None, entities["source"])
    types = compared_as(entities["entity_type"].to_pylist(), entities["name"].to_pylist())
    entities = entities.set_column(entities.schema.get_field_index("source"), "source", known)
    entities = entities.set_column(
        entities.schema.get_field_index("entity_type"), "entity_type", pa.array(types, pa.string())
    )
    rows = snapshot.vectors["entity_vectors"].rows_of(live["id"].combine_chunks())
    return entities, np.where(_says_more(live), rows, -1)


def _says_more(entities: pa.Table) -> NDArray[np.bool_]:
    """Return (n,) whether the vector of an entity may carry more evidence than its name.

    An entity without a description was embedded by its name, which is compared anyway; if attributes are stated, they decide.
    """
    described = pc.not_equal(pc.utf8_trim_whitespace(pc.fill_null(entities["description"], "")), "")
    stated = pc.not_equal(pc.fill_null(entities["attributes"], "{}"), "{}")
    return pc.or_(described, pc.invert(stated)).to_numpy(zero_copy_only=False)


def _named_type(group: Group, rows: Mapping[str, Fields]) -> str:
    """Return the type that a survivor without one takes from an absorbed entity; empty if the survivor keeps its own."""
    if fold(str(rows[group.keep]["entity_type"])) not in UNTYPED:
        return ""
    return next((t for id_ in group.absorb if fold(t := str(rows[id_]["entity_type"])) not in UNTYPED), "")


def _of_other_types(inputs: Inputs) -> tuple[Pair, ...]:
    """Return rows with two types and one name or one declared identity, weighed as if they had one type.

    A type alone neither prevents a comparison nor causes a merge.
    """
    snapshot = inputs.snapshot
    entities = snapshot.live("entities").select(["id", "entity_type", "name", "attributes"])
    ids, types, names, attributes = (entities[column].to_pylist() for column in entities.column_names)
    refused = {*rejected_pairs(snapshot, OPERATION), *open_conflicts(snapshot, "entities")}
    declared = inputs.settings.options(OPERATION, DedupeEntitiesOptions).identity
    identity = Identity.from_rows(types, attributes, declared)
    named, identified = namesakes(ids, types, names), set[tuple[str, str]]()
    if identity is not None:
        keys = [str(code) if code >= 0 else "" for code in identity.exact.tolist()]
        identified = set(namesakes(ids, types, keys))
        place = {id_: k for k, id_ in enumerate(ids)}
        rows = np.array([(place[a], place[b]) for a, b in named], np.int64).reshape(-1, 2)
        relations = identity.relation(rows[:, 0], rows[:, 1])
        named = [pair for pair, relation in zip(named, relations.tolist(), strict=True) if relation != DIFFERENT]
    pairs = [
        (a, b)
        for a, b in dict.fromkeys([*sorted(identified), *named])
        if not refused & {(a, b), (b, a)} and (inputs.focus is None or not inputs.focus.isdisjoint((a, b)))
    ]
    if not pairs:
        return ()
    some = pa.array(sorted({id_ for pair in pairs for id_ in pair}), pa.string())
    table = entities.filter(pc.is_in(entities["id"], value_set=some))
    vectors = snapshot.vectors["entity_vectors"]
    weighed = match(
        table.set_column(1, "entity_type", pa.array([_ANY_TYPE] * len(table), pa.string())),
        inputs.settings,
        matrix=vectors.matrix,
        rows=vectors.rows_of(table["id"].combine_chunks()),
    ).explain_all(pairs)
    return tuple(
        replace(pair, reason=OTHER_TYPE_IDENTIFIED if (pair.a, pair.b) in identified else OTHER_TYPE)
        for pair in weighed
    )


def _nearer(snapshot: Snapshot, matches: Matches) -> tuple[str, ...]:
    """Return the rows of candidate pairs next to one merge: they share a neighbour after it and weigh more on a second look."""
    cluster = {id_: k for k, ids in enumerate(matches.merges) for id_ in ids}
    if not cluster:
        return ()
    ids, merged = pa.array(matches.ids, pa.string()), pa.array(list(cluster), pa.string())
    of = np.array(list(cluster.values()))
    links = snapshot.live("relationships")
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for end, other in (_ENDS, _ENDS[::-1]):
        beside = pc.fill_null(pc.index_in(links[other], value_set=merged), -1).to_numpy()
        row = pc.fill_null(pc.index_in(links[end], value_set=ids), -1).to_numpy()
        known = (beside >= 0) & (row >= 0)
        rows.append(row[known])
        columns.append(of[beside[known]])
    at = (np.concatenate(rows), np.concatenate(columns))
    beside = sparse.csr_matrix((np.ones(len(at[0]), np.float32), at), shape=(len(ids), len(matches.merges)))
    some = np.diff(beside.indptr) > 0
    i, j = matches.candidate_pairs
    i, j = i[some[i] & some[j]], j[some[i] & some[j]]
    near = shared(beside, i, j) > 0
    return tuple(matches.ids[np.unique(np.concatenate([i[near], j[near]]))].tolist())


def _apart(pairs: Iterable[ReviewPair], merged: set[str]) -> tuple[list[ReviewPair], list[ReviewPair]]:
    """Split the pairs into the first ones that share no row with each other or a merge, and those left pending."""
    taken = set(merged)
    now: list[ReviewPair] = []
    later: list[ReviewPair] = []
    for pair in pairs:
        if taken.isdisjoint((pair.a, pair.b)):
            taken.update((pair.a, pair.b))
            now.append(pair)
        else:
            later.append(pair)
    return now, later


def _clusters(groups: Sequence[Group], waiting: Sequence[ReviewPair]) -> dict[str, dict[str, object]]:
    """Map the survivor of each question to the cluster of its rows as evidence, if the cluster has several questions.

    Pairs that share a row with an item connect questions: they are asked after them, about the same rows. A cluster is named by its
    smallest row.
    """
    pairs = [*((g.keep, a) for g in groups for a in g.absorb), *((p.a, p.b) for p in waiting)]
    ids = sorted({id_ for pair in pairs for id_ in pair})
    place = {id_: k for k, id_ in enumerate(ids)}
    ends = np.array([(place[a], place[b]) for a, b in pairs], np.int64).reshape(-1, 2)
    graph = sparse.coo_matrix((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(len(ids), len(ids)))
    label = csgraph.connected_components(graph, directed=False)[1]
    asked = [g.keep for g in groups if g.decision == Decision.REVIEW]
    times, first = Counter(int(label[place[id_]]) for id_ in asked), np.unique(label, return_index=True)[1]
    return {id_: {"cluster": ids[first[of]]} for id_ in asked if times[of := int(label[place[id_]])] > 1}


def _judge(
    inputs: Inputs, pairs: Sequence[Pair], rows: Mapping[str, Fields], live_chunks: frozenset[str]
) -> JudgedPairs:
    """Ask the judges about pairs that the score left open; if an identifier or a name speaks against one, a person decides."""
    open_ = [p for p in pairs if p.reason not in _FOR_PEOPLE] if inputs.judges else []
    cited = {(p.a, p.b): sources_of((p.a, p.b), rows, live_chunks)[:_QUOTED] for p in open_}
    chunks = inputs.snapshot.table("chunks")
    wanted = pa.array(sorted({c for ids in cited.values() for c in ids}), pa.string())
    found = chunks.filter(pc.is_in(chunks["id"], value_set=wanted)).select(["id", "content"])
    texts = dict(zip(found["id"].to_pylist(), found["content"].to_pylist(), strict=True))

    def fields(id_: str) -> Mapping[str, object]:
        shown = {column: rows[id_][column] for column in ("name", "entity_type", "description")}
        return shown | {"attributes": json.loads(rows[id_]["attributes"])}

    questions = [
        PairQuestion(
            p.a,
            p.b,
            (fields(p.a), fields(p.b)),
            evidence=p.waterfall,
            sources=tuple(texts[c] for c in cited[p.a, p.b]),
            probability=p.probability,
        )
        for p in open_
    ]
    settings = inputs.settings
    return judge(
        questions,
        inputs.judges,
        budget=JUDGE_TOKENS,
        confidence=settings.judge_confidence,
        pairs=MOST_JUDGED,
        run_budget=inputs.budget,
        operation=OPERATION,
    )


def _report(inputs: Inputs, work: _Work, rows: Mapping[str, Fields]) -> Report:
    matches, items, counts = work.matches, work.items, work.matches.counts
    merges = [i for i in items if i.decision == Decision.MERGE]
    gone = sum(len(i.mutation.absorb) for i in merges)
    first = ("rows", "with vector", "candidates", "merge clusters", "review pairs")
    numbers: dict[str, int | float] = {name: counts.get(name, 0) for name in first}
    numbers |= {
        "items": len(items),
        "review pairs that wait": len(work.waiting),
        "expected false merges": round(sum(1 - i.probability for i in merges), 4),
    }
    if inputs.judges:
        numbers |= {"tokens of the judges": work.judged.tokens, "llm_budget_exhausted": work.judged.over_budget}
    numbers |= {name: count for name, count in counts.items() if name not in first}
    numbers |= {f"centroid {kind}": work.centroids.count(kind) for kind in sorted(set(work.centroids))}
    by_key = {n.removeprefix("candidates by "): c for n, c in counts.items() if n.startswith("candidates by ")}
    merge_links = [pair.level for group in work.groups if group.decision == Decision.MERGE for pair in group.pairs]
    levels = [level for level in NAME_LEVELS if level in merge_links]
    doubtful = len(items) - len(merges)
    flood = _flood(inputs, gone, doubtful, counts["rows"])
    headline = (
        f"{gone:,} of {counts['rows']:,} entities would join {len(merges):,} others; {doubtful:,} pairs are for review."
    )
    return Report(
        OPERATION,
        f"{headline} {flood}".strip(),
        numbers,
        findings=(
            *((Finding(flood, severity="warning"),) if flood else ()),
            *_thresholds(matches),
            *_multimodal(inputs, matches),
            *_identities(matches),
            *(Finding(f"Left out of the search: {text}.", severity="info") for text in matches.dropped),
            *(Finding(sentence, severity="info") for sentence in work.judged.sentences),
            *_waiting(work.waiting),
        ),
        table=tuple(
            {
                "decision": i.decision,
                "names": " = ".join(str(rows[r.id]["name"]) for r in (i.mutation.keep, *i.mutation.absorb) if r),
                "probability": i.probability,
                "risk": i.risk,
            }
            for i in sorted(items, key=lambda i: (i.decision, i.probability, i.id))[:10]
        ),
        plots=(
            Bars("Candidate pairs by key", list(by_key), list(by_key.values()), own=True),
            *(
                (Bars("Links by name evidence", levels, [merge_links.count(level) for level in levels], own=True),)
                if levels
                else ()
            ),
        ),
    )


def _thresholds(matches: Matches) -> tuple[Finding, ...]:
    """Return a finding with the probability that a merge needs, by type."""
    opinions_text = ", ".join(f"{p:.4f} for {kind}" for kind, p in sorted(matches.thresholds.items())[:_SOURCES])
    more = len(matches.thresholds) - _SOURCES
    return (
        (Finding(f"A merge needs a probability of {opinions_text}{f' and {more:,} types more' if more > 0 else ''}."),)
        if opinions_text
        else ()
    )


def _multimodal(inputs: Inputs, matches: Matches) -> Iterable[Finding]:
    """Yield findings for up to ``_SOURCES`` clusters whose vectors are too far apart to merge, and one for the rest."""
    least = inputs.settings.options("recompute_centroids", RecomputeCentroidsOptions).min_intra_cluster_cosine
    for ids in matches.multimodal[:_SOURCES]:
        yield Finding(
            f"{len(ids):,} entities have names and attributes of one entity, but two of their vectors have a cosine under {least:g}: "
            "they are not merged. Compare their descriptions, and merge those that are one entity by hand.",
            rows=ids,
            severity="warning",
        )
    if (more := len(matches.multimodal) - _SOURCES) > 0:
        yield Finding(f"{more:,} more clusters are not merged for the same reason.", severity="warning")


def _identities(matches: Matches) -> Iterable[Finding]:
    """Yield findings about declarations that no row bears out, and about values that identify no row."""
    identity = matches.identity
    if identity is None:
        return
    for problem in identity.problems:
        yield Finding(problem, severity="warning")
    for ignored in identity.ignored[:_SOURCES]:
        why = "is a placeholder" if ignored.placeholder else f"is in more than {MOST_ROWS} rows"
        yield Finding(
            f"The value “{quotable(ignored.value[:_QUOTED_VALUE])}” of {ignored.name} {why}, so it identifies none of its "
            f"{counted(len(ignored.rows), 'row')}.",
            rows=tuple(str(matches.ids[row]) for row in ignored.rows[:_SOURCES]),
            severity="info" if ignored.placeholder else "warning",
        )
    if more := identity.ignored[_SOURCES:]:
        rows = sum(len(ignored.rows) for ignored in more)
        yield Finding(f"{counted(len(more), 'more value')} of {counted(rows, 'row')} identify no row either.")


def _flood(inputs: Inputs, merged_away: int, doubtful: int, rows: int) -> str:
    """Return what is wrong if a namespace without earlier merges is full of merges and doubtful pairs, else an empty string."""
    before = inputs.snapshot.table("entities")["merged_into"]
    fresh = before.null_count == len(before) and inputs.focus is None
    if not fresh or rows < _FLOOD_ROWS or merged_away + doubtful <= _FLOOD_SHARE * rows:
        return ""
    return (
        f"The problem is upstream: {(merged_away + doubtful) / rows:.0%} of the entities repeat another one or may do so, and none "
        "was ever merged here. Look at how they are written before approving."
    )


def _waiting(pairs: Sequence[ReviewPair]) -> tuple[Finding, ...]:
    """Return one finding about the pending pairs, with the rows of the strongest."""
    if not pairs:
        return ()
    rows = tuple(dict.fromkeys(id_ for p in pairs[:_SOURCES] for id_ in (p.a, p.b)))
    return (Finding(f"{len(pairs):,} doubtful pairs wait, as one of their rows stands in another item.", rows=rows),)
