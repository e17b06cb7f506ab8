"""Find conflicts: relationships, facts and memories of a snapshot that cannot both be true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import pyarrow as pa

from slowwave.operations.conflicts.closings import closed_items, closing_conflicts
from slowwave.operations.conflicts.denials import opposed_conflicts, opposed_statements
from slowwave.operations.conflicts.endings import ending_conflicts, endings
from slowwave.operations.conflicts.memories import (
    LONGEST,
    EndedStatement,
    figure_conflicts,
    memory_conflicts,
    mentions,
    one_matter,
)
from slowwave.operations.conflicts.rows import (
    Tally,
    edge_conflicts,
    fact_conflicts,
    live_rows,
    parts_of,
    read_edges,
    things,
)
from slowwave.operations.conflicts.values import other_values, value_conflicts
from slowwave.operations.options import ContradictionsOptions, NeighbourGraphOptions
from slowwave.operations.scoring import Predicate, Verdict, weigh
from slowwave.plans.questions import Conflict
from slowwave.snapshots.rows import SAYS, live_facts, recorded_facts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.contradictions import find
from slowwave.text.extractive import split
from slowwave.text.sameness import read
from slowwave.text.statements import stem
from slowwave.text.tokens import tokenise
from slowwave.text.words import GRAMMAR

# Search for conflicts over all live relationships, facts and memories of a snapshot. The audit reports them, the planner decides them.


@dataclass(frozen=True, slots=True)
class FoundConflicts:
    """Conflicts by table and ids, counts of what was compared, and by predicate whether it takes one object, many, or unknown."""

    conflicts: tuple[Conflict, ...]
    numbers: Mapping[str, int]
    takes: Mapping[str, Verdict] = field(default_factory=dict)


_TABLES: Final = ("entities", "entity_aliases", "relationships", "memory_facts", "memories", "memory_versions")


def find_conflicts(snapshot: Snapshot, settings: Settings) -> FoundConflicts:
    """Find every conflict between two live rows of one table.

    Needs the tables entities, entity_aliases, relationships, memory_facts, memories, memory_versions and memory_vectors. A pair of rows
    has one conflict, with the first reason found. Time: a few sorts of each table. The last answer is cached as long as its tables exist,
    for an audit and a planner of one night.
    """
    tables = [snapshot.table(name) for name in _TABLES]
    chosen = settings.options("contradictions", ContradictionsOptions)
    graph = settings.options("neighbour_graph", NeighbourGraphOptions)
    marked = settings.switch("mark_ended_statements") is not False
    asked = (snapshot.taken_at, chosen.similarity_threshold, graph.top_k, graph.similarity, marked)
    given = [*tables, snapshot.vectors["memory_vectors"].matrix]
    return snapshot.answers.find_once("conflicts", given, asked, lambda: _find(snapshot, settings))


def _find(snapshot: Snapshot, settings: Settings) -> FoundConflicts:
    tally = Tally()
    entities = live_rows(snapshot, "entities").select(["id", "name", "entity_type", "attributes"])
    facts = live_facts(snapshot).combine_chunks()
    recorded = recorded_facts(snapshot)
    edges = read_edges(snapshot, entities, tally)
    takes = _takes(
        _of_edges(weigh(_numbers(edges.source), edges.table["relationship_type"], _numbers(edges.target))),
        {p.key: p.verdict for p in weigh(*(recorded[c] for c in SAYS))},
    )
    threshold = settings.options("contradictions", ContradictionsOptions).similarity_threshold
    found = [
        *edge_conflicts(edges, entities, snapshot.table("entity_aliases"), takes, threshold, tally),
        *fact_conflicts(facts, entities, takes, things(entities, parts_of(edges)), tally),
        *conflicts_of_memories(snapshot, settings, tally, longer=settings.switch("mark_ended_statements") is False),
    ]
    pairs: dict[tuple[str, str, str], Conflict] = {}
    for conflict in found:
        pairs.setdefault((conflict.table, conflict.a, conflict.b), conflict)
    return FoundConflicts(tuple(pairs[key] for key in sorted(pairs)), tally.numbers, takes)


def conflicts_of_memories(
    snapshot: Snapshot, settings: Settings, tally: Tally, *, longer: bool = True
) -> list[Conflict]:
    """Find the conflicts between memories by every rule, the surest first.

    A pair may be in several conflicts. A task that is done comes first, because no policy decides it, and a statement that is withdrawn
    last. With ``longer``, also those in which a longer memory would lose a sentence.
    """
    stated, closed = value_conflicts(snapshot, tally, longer=longer), closing_conflicts(snapshot, tally, longer=longer)
    return [
        *(c for c in closed if c.reason == "done"),
        *(c for c in stated if not c.doubtful),
        *ending_conflicts(snapshot, tally),
        *memory_conflicts(snapshot, settings, tally),
        *figure_conflicts(snapshot, tally),
        *stated,
        *opposed_conflicts(snapshot, tally, longer=longer),
        *(c for c in closed if c.reason != "done"),
    ]


def ended_statements(snapshot: Snapshot) -> list[EndedStatement]:
    """Return the sentences of longer memories that have ended, each with the first memory that ends it, in memory order.

    The result includes sentences that still hold: those that mention what has ended, unless their memory loses a conflict anyway, and those
    of longer memories that a later statement may replace. Needs the tables memories and memory_versions. Cost: that of ``mentions``, in
    addition to that of finding conflicts.
    """
    found: dict[tuple[str, str], EndedStatement] = {}
    by_value, by_relation = endings(snapshot), other_values(snapshot)
    decided = (c for c in (*by_value.conflicts, *by_relation.conflicts) if c.evidence.get("replaces"))
    whole = {id_ for c in decided for id_ in (c.a, *c.also_a, c.b, *c.also_b)}
    mentioned = [
        one for one in mentions(snapshot, [*by_value.values, *by_relation.values]) if whole.isdisjoint(one.memories)
    ]
    every = [*by_value.sentences, *mentioned, *opposed_statements(snapshot).sentences]
    known = {(x, y) for c in by_value.conflicts for x, y in ((c.a, c.b), (c.b, c.a))}
    every += closed_items(snapshot).sentences
    every += [o for o in by_relation.sentences if not any((m, o.later) in known for m in o.memories)]
    for one in sorted(every, key=lambda e: (e.holds, e.memories, e.since, e.later, e.said)):
        found.setdefault((one.memories[0], one.sentence), one)
    return sorted(found.values(), key=lambda e: (e.memories, e.since, e.later, e.said))


def _takes(*found: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Combine the verdicts on predicates: "many" in any table wins, then "single" in any table."""
    takes: dict[str, Verdict] = {}
    for key, verdict in (item for table in found for item in table.items()):
        verdicts = {takes.get(key, "unknown"), verdict}
        takes[key] = "many" if "many" in verdicts else "single" if "single" in verdicts else "unknown"
    return takes


def _of_edges(found: Iterable[Predicate]) -> dict[str, Verdict]:
    """Return the verdicts on edge types; "single" counts only if enough of the edges were stated again.

    An extractor draws only an edge or two from each text, so few objects per subject do not show that a type takes one object.
    """
    return {p.key: "unknown" if p.verdict == "single" and not p.repeated_enough else p.verdict for p in found}


def _numbers(positions: object) -> pa.Array:
    return pa.array(positions).cast(pa.string())


# Texts that contradict each other in a sentence, which decides whether two memories may be in one summary.


def contradict(a: str, b: str) -> bool:
    """Return whether two texts contradict each other.

    They are compared as wholes if both are one sentence or are about one matter. Else they are compared sentence by sentence, in pairs
    that share half of the shorter one's content words. A sentence that occurs in both texts is consistent with the rest of either and
    contradicts none of it. Time: the product of the numbers of sentences, and ``find`` for such pairs.
    """
    one, two = _sentences(a), _sentences(b)
    if len(one) < 2 and len(two) < 2:
        return find([(a, b)]) != [None]
    both = {x for x, _ in one} & {y for y, _ in two}
    close = [
        (x, y)
        for x, mine in one
        for y, theirs in two
        if x not in both and y not in both and 2 * len(mine & theirs) >= min(len(mine), len(theirs))
    ]
    if any(kind is not None for kind in find(close)):
        return True
    short = max(len(a), len(b)) <= LONGEST
    return short and find([(a, b)]) != [None] and one_matter(read(a), read(b), about=True)


@lru_cache(maxsize=4096)
def _sentences(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the sentences of a text, each once, with the stems of their content words."""
    once = dict.fromkeys(split(text))
    return tuple((s, frozenset(stem(w) for w in tokenise(s) if w not in GRAMMAR)) for s in once)
