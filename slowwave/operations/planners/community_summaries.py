"""``community_summaries``: entities that hang together get a summary, which is replaced when its members change.

A summary stands as long as its community has the very same members. Boundaries that are about as good as they were are not moved
(``slowwave.graphs.steady``), so that noise does not rewrite everything every night. What a summary says belongs to
``slowwave.operations.planners.community_text``.

Summarise every community of ``min_size`` live entities and more (khora 8.11, put right).

Communities are those of ``entity_graph`` at ``resolution``. A community without a live summary of exactly its members
gets one, in the place of those whose members are mostly its own (Jaccard of a half at least); a live summary of no community ends.
Without a model its sentences are taken from the sources. With ``inputs.writer`` a model is asked once a community, the largest
first, within ``inputs.budget``; where its endpoint fails, or nothing of what it says stands, the sources have the word again. A
community for which the budget does not reach waits for the next night. When the settings name a model and none is at hand, as
when a plan is looked at again, nothing is written. Time: that of ``communities``, and linear in members and ties.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.graphs.communities import communities, modularity
from slowwave.graphs.relations import EntityGraph, entity_graph
from slowwave.graphs.steady import steady
from slowwave.mutations.insert_summary import Summary, insert_summary
from slowwave.mutations.rows import rows_by_id
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.planners.attempts import EXTRACTIVE, Attempts
from slowwave.operations.planners.community_text import (
    Community,
    Member,
    Tie,
    WrittenSummary,
    extracted,
    payload,
    written,
)
from slowwave.operations.planners.rejections import open_conflicts, rejected_subjects
from slowwave.plans.items import Item, ask_unless_measured
from slowwave.plans.permitted import Permit
from slowwave.reports.model import Report
from slowwave.snapshots.snapshot import Snapshot

OPERATION: Final = "community_summaries"
_PATTERN: Final = "generated summary"

DEPTH: Final = 1
"""Summaries of entities; those of another depth, which summarise summaries, are left alone."""

_SAME: Final = 0.5
"""Jaccard overlap from which a community is one that had a summary."""


@dataclass(frozen=True, slots=True, eq=False)
class _Live:
    """The s live summaries, the newest first: ids, numbers of members (s,), and (row, position among live entities) of the members."""

    ids: list[str]
    sizes: np.ndarray
    row: np.ndarray
    place: np.ndarray


@dataclass(frozen=True, slots=True)
class _Fate:
    """What becomes of the live summaries: ``replaced`` by label, ``unchanged`` labels that keep theirs, ids of those ``ending``."""

    replaced: Mapping[int, tuple[str, ...]]
    unchanged: frozenset[int]
    ending: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """A community that needs a summary: its label, the ids of all its members, sorted, and the summaries that it replaces."""

    label: int
    ids: tuple[str, ...]
    replaced: tuple[str, ...]


@dataclass(slots=True)
class _Summaries:
    """What became of the communities that need a summary."""

    summaries: list[tuple[_Group, Community, WrittenSummary]] = field(default_factory=list)
    attempts: Attempts[WrittenSummary] = field(default_factory=Attempts[WrittenSummary])
    no_writer: int = 0


@operation(
    kind="planner",
    reads=("entities", "relationships", "communities", "conflicts", "rejections"),
    models=("live_entities", "live_relationships"),
    after=("reembed",),
    weekly=True,
    permits=(Permit("insert_summary", {"communities"}, retires=None),),
    khora=("vectorcypher_community_summary",),
    planted=("communities",),
)
def community_summaries(inputs: Inputs) -> Proposal:
    """Entities that hang together get a summary that says who they are and what ties them; every sentence cites its members.

    A summary stands while its community has the same members; when they change it is *replaced*, and the old one stays readable as of
    its time. Sentences are taken from the sources, or written by `SLOWWAVE_OPERATIONS__COMMUNITY_SUMMARIES__MODEL`, of whose sentences
    only those stay that the members bear out.
    """
    settings, snapshot = inputs.settings, inputs.snapshot
    entities = inputs.models["live_entities"].combine_chunks()
    ids = entities["id"].combine_chunks()
    graph = entity_graph(ids, inputs.models["live_relationships"], settings.cooccurrence_edge_weight)
    live = _live(snapshot, ids)
    labels = _labels(inputs, graph, live, len(ids))
    sizes = np.bincount(labels, minlength=1 if len(labels) else 0)
    large = frozenset(np.flatnonzero(sizes >= settings.operations.community_summaries.min_size).tolist())
    fate = _fate(live, labels, sizes, large)
    groups = _groups(ids, labels, large - fate.unchanged, fate)
    allowed = _not_rejected(snapshot, groups)
    made = _summarize(inputs, allowed, _shown(inputs, entities, graph, labels, allowed))
    items = [*_items(snapshot, made), *_ends(snapshot, fate.ending)]
    numbers = {
        "live entities": len(ids),
        "edges": len(graph.weight),
        "communities": len(sizes),
        "of enough members": len(large),
        "entities in these": int(sizes[sorted(large)].sum()),
        "live summaries": len(live.ids),
        "unchanged": len(fate.unchanged),
        "rejected before": len(groups) - len(allowed),
        "llm_budget_exhausted": made.attempts.no_budget,
        "no writer at hand": made.no_writer,
        "model calls": made.attempts.calls,
        "written by a model": len(made.attempts.by_model()),
        "claims kept": sum(len(w.claims) for w in made.attempts.by_model()),
        "claims dropped": sum(w.dropped for w in made.attempts.texts),
        "tokens": sum(w.tokens for w in made.attempts.texts),
        "new": sum(not g.replaced for g, _, _ in made.summaries),
        "replaced": sum(bool(g.replaced) for g, _, _ in made.summaries),
        "ended": len(fate.ending),
        "modularity": modularity(
            labels, graph.source, graph.target, graph.weight, settings.operations.community_summaries.resolution
        ),
        "items": len(items),
    }
    return Proposal(
        tuple(items),
        Report(OPERATION, _headline(numbers), numbers, made.attempts.findings("communities", "are summarised")),
    )


def _live(snapshot: Snapshot, ids: pa.Array) -> _Live:
    table = snapshot.live("communities")
    table = table.filter(pc.equal(table["depth"], DEPTH))
    table = table.sort_by([("valid_from", "descending"), ("id", "ascending")]).combine_chunks()
    members = table["member_ids"].combine_chunks()
    found = pc.index_in(pc.list_flatten(members), value_set=ids)
    place = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    row = pc.list_parent_indices(members).to_numpy().astype(np.int64)
    sizes = pc.list_value_length(members).to_numpy(zero_copy_only=False).astype(np.int64)
    return _Live(table["id"].to_pylist(), sizes, row[place >= 0], place[place >= 0])


def _labels(inputs: Inputs, graph: EntityGraph, live: _Live, n: int) -> np.ndarray:
    """Tonight's communities, with the boundaries of the live summaries where these hold; a member of several is of the newest."""
    settings = inputs.settings
    found = communities(
        np.arange(n), graph.source, graph.target, graph.weight, settings.operations.community_summaries.resolution
    )
    before = np.full(n, -1, np.int64)
    before[live.place[::-1]] = live.row[::-1]
    return steady(
        found,
        before,
        graph.source,
        graph.target,
        graph.weight,
        settings.operations.community_summaries.resolution,
        settings.operations.community_summaries.min_size,
    )


def _fate(live: _Live, labels: np.ndarray, sizes: np.ndarray, large: frozenset[int]) -> _Fate:
    """Every live summary belongs to the large community that it overlaps with most; one of a community of its very members stands."""
    pairs, shared = np.unique(np.stack([live.row, labels[live.place]]), axis=1, return_counts=True)
    overlap = shared / (live.sizes[pairs[0]] + sizes[pairs[1]] - shared)
    best: dict[int, tuple[float, int]] = {}
    for row, label, jaccard in zip(*pairs.tolist(), overlap.tolist(), strict=True):
        if label in large and jaccard >= _SAME:
            best[row] = min(best.get(row, (0.0, 0)), (-jaccard, label))
    of: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for row, (jaccard, label) in best.items():
        of[label].append((jaccard, row))
    unchanged = {label: min(rows)[1] for label, rows in of.items() if min(rows)[0] == -1}
    replaced = {label: tuple(live.ids[row] for _, row in sorted(rows)) for label, rows in of.items()}
    kept = {*unchanged.values(), *(row for label, rows in of.items() if label not in unchanged for _, row in rows)}
    ending = tuple(id_ for row, id_ in enumerate(live.ids) if row not in kept)
    return _Fate({k: v for k, v in replaced.items() if k not in unchanged}, frozenset(unchanged), ending)


def _groups(ids: pa.Array, labels: np.ndarray, wanted: frozenset[int], fate: _Fate) -> list[_Group]:
    """The wanted communities, the largest first, then by their first member."""
    order = np.argsort(labels, kind="stable")  # ids are sorted
    starts = np.searchsorted(labels[order], np.arange(int(labels.max(initial=-1)) + 2))
    groups = [
        _Group(
            label,
            tuple(ids.take(pa.array(order[starts[label] : starts[label + 1]])).to_pylist()),
            fate.replaced.get(label, ()),
        )
        for label in wanted
    ]
    return sorted(groups, key=lambda g: (-len(g.ids), g.ids))


def _not_rejected(snapshot: Snapshot, groups: Sequence[_Group]) -> list[_Group]:
    """Those that nobody has refused: no token is spent on the others."""
    refused = rejected_subjects(snapshot, OPERATION)
    if not refused:
        return list(groups)
    blank = insert_summary(snapshot, [Summary(g.ids, replaced=g.replaced) for g in groups])
    return [g for g, m in zip(groups, blank, strict=True) if Item(OPERATION, "", m).subject() not in refused]


def _shown(
    inputs: Inputs, entities: pa.Table, graph: EntityGraph, labels: np.ndarray, groups: Sequence[_Group]
) -> dict[int, Community]:
    """Label → what a summary shows of the community: members by mentions, then name; ties by weight, then in the members' order."""
    wanted = np.zeros(int(labels.max(initial=-1)) + 1, np.bool_)
    wanted[[g.label for g in groups]] = True
    places = np.flatnonzero(wanted[labels]) if len(labels) else np.empty(0, np.int64)
    rows = entities.select(["id", "name", "entity_type", "description", "mention_count"]).take(pa.array(places))
    rows = rows.append_column("place", pa.array(places)).append_column("label", pa.array(labels[places]))
    rows = rows.sort_by(
        [("label", "ascending"), ("mention_count", "descending"), ("name", "ascending"), ("id", "ascending")]
    )
    label = rows["label"].to_numpy()
    rank = np.arange(len(label)) - np.searchsorted(label, label)
    few = rank < inputs.settings.operations.community_summaries.max_members_per_prompt
    rows = rows.filter(pa.array(few))
    members: dict[int, list[Member]] = defaultdict(list)
    for r in rows.select(["label", "id", "name", "entity_type", "description"]).to_pylist():
        members[r["label"]].append(Member(r["id"], r["name"], r["entity_type"], r["description"] or ""))
    ranks = np.full(len(labels), -1, np.int64)
    ranks[rows["place"].to_numpy()] = rank[few]
    ties = _ties(inputs, graph, labels, ranks)
    return {g.label: Community(tuple(members[g.label]), tuple(ties[g.label]), len(g.ids)) for g in groups}


def _ties(inputs: Inputs, graph: EntityGraph, labels: np.ndarray, ranks: np.ndarray) -> defaultdict[int, list[Tie]]:
    """Label → the ties among members that have a rank, the strongest first; none of those in an open conflict, for no summary tells as
    true what may be the half of a contradiction."""
    contested = {id_ for pair in open_conflicts(inputs.snapshot, "relationships") for id_ in pair}
    one, two = ranks[graph.source], ranks[graph.target]
    at = np.flatnonzero((one >= 0) & (two >= 0) & (labels[graph.source] == labels[graph.target]))
    first, second = np.minimum(one, two)[at], np.maximum(one, two)[at]
    at = at[np.lexsort((graph.row[at], second, first, -graph.weight[at]))]
    columns = ["id", "source_entity_id", "target_entity_id", "relationship_type"]
    rows = inputs.models["live_relationships"].select(columns).take(pa.array(graph.row[at])).to_pylist()
    said = rows_by_id(inputs.snapshot, "relationships", [r["id"] for r in rows], ("description",))
    ties: defaultdict[int, list[Tie]] = defaultdict(list)
    for label, r in zip(labels[graph.source[at]].tolist(), rows, strict=True):
        if r["id"] in contested:
            continue
        description = str(said[r["id"]]["description"] or "")
        ties[label].append(Tie(r["source_entity_id"], r["target_entity_id"], r["relationship_type"], description))
    return ties


def _summarize(inputs: Inputs, groups: Sequence[_Group], shown: Mapping[int, Community]) -> _Summaries:
    """Summaries of the communities, in their order, by the writer while it answers and the budget reaches."""
    made, writer = _Summaries(), inputs.writer
    if writer is None and inputs.settings.operations.community_summaries.model:
        made.no_writer = len(groups)
        return made
    for group in groups:
        community = shown[group.label]
        asked = None if made.attempts.stop else writer
        summary = written(community, asked, inputs.budget, OPERATION) if asked else extracted(community)
        if made.attempts.take(summary, asked) and summary:
            made.summaries.append((group, community, summary))
    return made


def _items(snapshot: Snapshot, made: _Summaries) -> list[Item]:
    mutations = insert_summary(
        snapshot,
        [Summary(g.ids, payload(w, member_hash(g.ids)), w.cited(), g.replaced, DEPTH) for g, _, w in made.summaries],
    )
    return [
        ask_unless_measured(
            Item(
                OPERATION,
                "replace" if group.replaced else "summarise",
                mutation,
                evidence={
                    "members": len(group.ids),
                    "shown": [m.name for m in community.members],
                    "text": summary.text,
                    "writer": summary.writer,
                    "claims": len(summary.claims),
                    "claims_dropped": summary.dropped,
                    "problem": summary.problem,
                    "replaces": list(group.replaced),
                },
                risk="low" if summary.writer == EXTRACTIVE else "medium",
                sources=summary.cited(),
                tokens=summary.tokens,
            ),
            _PATTERN,
        )
        for (group, community, summary), mutation in zip(made.summaries, mutations, strict=True)
    ]


def _ends(snapshot: Snapshot, ids: Sequence[str]) -> list[Item]:
    reason = (
        "No community of tonight has at least half of its members in common with it, or another summary is of the same."
    )
    mutations = insert_summary(snapshot, [Summary(replaced=(id_,)) for id_ in ids])
    return [
        ask_unless_measured(Item(OPERATION, "end", mutation, evidence={"reason": reason}), _PATTERN)
        for mutation in mutations
    ]


def member_hash(ids: Sequence[str]) -> str:
    """SHA-256 of the sorted ids of all members, a line each."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def _headline(numbers: Mapping[str, int | float]) -> str:
    if not numbers["of enough members"] and not numbers["ended"]:
        return f"No community among {numbers['live entities']:,} live entities is large enough for a summary."
    return (
        f"{numbers['of enough members']:,} communities are large enough for a summary: {numbers['unchanged']:,} have theirs, "
        f"{numbers['new']:,} get a first one, {numbers['replaced']:,} another; {numbers['ended']:,} summaries end."
    )
