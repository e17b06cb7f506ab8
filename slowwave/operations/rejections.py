"""Rejections and decisions of people: subjects that are not proposed again, and pairs that train the weights."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import VERSION, Guard
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.rows import Fields, Loss, Supersession, lose_conflict, rows_where, supersede_facts
from slowwave.errors import Refused
from slowwave.matching.answers import Labelled
from slowwave.plans.items import Decision, Item
from slowwave.plans.outcome import find_sides
from slowwave.plans.probes.isolation import chain, merged_into
from slowwave.snapshots.snapshot import Snapshot

# Objections to a proposal, as a planner sees them: subjects that must not be proposed again, and pairs that must not merge.
#
# The gate and undo write rejections.

_REMEMBERED: Final[Mapping[str, tuple[str, ...]]] = {
    "entities": ("name", "entity_type", "attributes"),
    "memory_facts": ("subject", "predicate", "object"),
    "memories": ("current_version_id", "subject"),
}
"""Columns of a merged row that a subject covers, by table; see ``Item.subject``."""

REJECTED: Final = "rejected before"
"""In the numbers of a planner's report: proposals that were rejected or undone before, about rows that have not changed."""

MERGING: Final[Mapping[str, str]] = {
    "dedupe_entities": "entities",
    "dedupe_facts": "memory_facts",
    "dedupe_memories": "memories",
}
"""Operation → the table whose rows it merges. Its planner leaves out rejected pairs before it proposes anything."""

_TWO_SIDED: Final = frozenset({"resolve_conflicts", "supersede_facts"})
"""Operations whose items end one of two rows."""


def rejected_subjects(snapshot: Snapshot, operation: str) -> frozenset[str]:
    """Return the subjects of the operation's items that were rejected or undone.

    The night leaves rejected items out of every plan. A planner calls this only where a rejection changes its other items: where
    items have a limit, where parts of a rejected group may still be proposed, or before it asks a model.
    """
    table = snapshot.table("rejections")
    return frozenset(table["subject"].filter(pc.equal(table["operation"], operation)).to_pylist())


def open_conflicts(snapshot: Snapshot, table: str) -> frozenset[tuple[str, str]]:
    """Return pairs of the table's rows in a recorded and unresolved conflict, the smaller id first."""
    rows = snapshot.table("conflicts")
    rows = rows.filter(pc.and_(pc.equal(rows["table_name"], table), pc.is_null(rows["resolved_at"])))
    pairs = zip(rows["row_a_id"].to_pylist(), rows["row_b_id"].to_pylist(), strict=True)
    return frozenset((min(pair), max(pair)) for pair in pairs)


def rejected_pairs(snapshot: Snapshot, operation: str, of: str = "entities") -> frozenset[tuple[str, str]]:
    """Return pairs of ids from rejected merges of unchanged rows of a table; they must not return in a larger cluster.

    A rejection stores a hash of what was seen. It holds while the same rows have that hash, whichever of them would survive. A row that
    was merged since is represented by its survivor: what was rejected for the part is rejected for the whole. In a rejected cluster every
    pair counts, because no one said which member was wrong. Cost: linear in the rows of the rejections.
    """
    rejected = rejected_merges(snapshot, operation, of)
    into = merged_into(snapshot, (of,)) if rejected else {}
    pairs: set[tuple[str, str]] = set()
    for rows in rejected.values():
        pairs.update(combinations(sorted({chain(row, into)[-1] for row in rows}), 2))
    return frozenset(pairs)


def rejected_merges(snapshot: Snapshot, operation: str, of: str) -> dict[str, tuple[str, ...]]:
    """Return subject → row ids, sorted, of the rejected merges of a table whose rows have not changed."""
    table = snapshot.table("rejections")
    mine = table.filter(pc.equal(table["operation"], operation)).select(["subject", "row_ids"]).to_pylist()
    rejected = sorted({(str(r["subject"]), tuple(sorted(r["row_ids"]))) for r in mine if len(r["row_ids"]) > 1})
    if not rejected:
        return {}
    named = {id_ for _, rows in rejected for id_ in rows}
    seen = {str(row["id"]): row for row in rows_where(snapshot, of, "id", named, _REMEMBERED[of])}
    return {
        subject: rows
        for subject, rows in rejected
        if seen.keys() >= set(rows) and subject in _subjects(operation, of, rows, seen)
    }


def find_settled_pairs(snapshot: Snapshot, items: Sequence[Item]) -> frozenset[str]:
    """Return the ids of items that end one of two rows although an item about the same two rows was rejected or undone.

    Weights, dates of learning and rules change which of two rows would end and which operation asks, so the rejection counts for the
    unordered pair, whichever operation asked: the rejected mutation is built again from the rows as they are now, and its subject
    compared. A person who rules on the conflict later decides the pair anew. Cost: linear in the rejections, and one pass over a table
    for each pair that shares rows with one of them.
    """
    table = snapshot.table("rejections")
    mine = table.filter(pc.is_in(table["operation"], value_set=pa.array(sorted(_TWO_SIDED))))
    rejected: defaultdict[str, set[tuple[str, str, tuple[str, ...]]]] = defaultdict(set)
    for row in mine.select(["operation", "subject", "row_ids"]).to_pylist():
        for id_ in row["row_ids"]:
            rejected[id_].add((row["operation"], row["subject"], tuple(sorted(row["row_ids"]))))
    found: set[str] = set()
    for item in items if rejected else ():
        sides = find_sides(item.mutation) if item.operation in _TWO_SIDED else None
        if sides is None or item.evidence.get("policy") == "manual":
            continue
        ends, stays = sides
        for operation, subject, losers in {one for id_ in (*ends, *stays) for one in rejected.get(id_, ())}:
            winners = stays if not set(losers).isdisjoint(ends) else ends
            if any(subject in _ended(snapshot, operation, item.mutation.table, w, losers) for w in winners):
                found.add(item.id)
                break
    return frozenset(found)


def _ended(snapshot: Snapshot, operation: str, table: str, winner: str, losers: Sequence[str]) -> Iterator[str]:
    """Yield the subjects of an operation's item if it ends rows of a table for the winner; none if a row is missing."""
    ids = {winner, *losers}
    if winner in losers or len(rows_where(snapshot, table, "id", ids, ("id",))) != len(ids):
        return
    if operation == "supersede_facts":
        for loser in losers:
            with suppress(Refused):  # the facts begin in the other order, so no such item was rejected
                yield from (
                    Item(operation, "", m).subject() for m in supersede_facts(snapshot, [Supersession(loser, winner)])
                )
        return
    rests_on = (VERSION,) if table == "memories" else ()
    for mutation in lose_conflict(snapshot, table, [Loss(winner, tuple(losers), rests_on)]):
        yield Item(operation, "", mutation).subject()


def conflicting_pairs(snapshot: Snapshot, of: str) -> frozenset[tuple[str, str]]:
    """Return pairs of ids of a table that were found to contradict each other, whatever was decided since.

    Merged rows are represented by their survivors. Rows that state the same as one of a pair, and are listed behind it in the conflict,
    are in conflict as well. Cost: linear in the conflicts, and for each the product of the rows on its sides.
    """
    table = snapshot.table("conflicts")
    mine = table.filter(pc.equal(table["table_name"], of)).select(["row_a_id", "row_b_id", "evidence"]).to_pylist()
    into = merged_into(snapshot, (of,)) if mine else {}
    found: set[tuple[str, str]] = set()
    for row in mine:
        one, two = ({chain(id_, into)[-1] for id_ in side} for side in _sides(row))
        found.update((min(a, b), max(a, b)) for a in one for b in two if a != b)
    return frozenset(found)


def _sides(conflict: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the ids of all rows on each side of a conflict."""
    evidence = json.loads(conflict["evidence"] or "{}")
    also = evidence.get("also") if isinstance(evidence, dict) else None
    behind = also if isinstance(also, dict) else {}
    return [conflict["row_a_id"], *behind.get("a", ())], [conflict["row_b_id"], *behind.get("b", ())]


def _subjects(operation: str, of: str, rows: Sequence[str], seen: Mapping[str, Fields]) -> Iterator[str]:
    """Yield the subjects that a merge of the rows may have.

    The survivor's attributes are not covered if the merge adds to them.
    """
    for completed in ("", *rows) if "attributes" in _REMEMBERED[of] else ("",):
        guards = [
            Guard.on(of, row, seen[row], (c for c in _REMEMBERED[of] if (row, c) != (completed, "attributes")))
            for row in rows
        ]
        merge = Mutation("merge_rows", of, guards=tuple(guards), rows=tuple(Row(row) for row in rows))
        yield Item(operation, Decision.MERGE, merge).subject()


# Decisions of people about merges, as labelled pairs that train the weights of the next night.
#
# A pair is labelled with its rows as the plan showed them, not as they are now: a survivor has taken over the absorbed row's values and
# would agree with it in everything. Merges that a policy approved or rejected count like those of people: a night after them would
# otherwise learn only from the remaining pairs, in which hardly anything matches, or everything does. Pairs about which the plan was in
# doubt are also answers: a person was asked about each, so they show how reliable the scores are, which a merge that was sure beforehand
# does not show.


def labelled_pairs(snapshot: Snapshot, operation: str) -> Labelled:
    """Return the decisions about the operation's merges; of several about the same two rows the newest counts.

    Applied: every absorbed row is the same as the survivor. Rejected or undone: the two rows are not the same; of more than two rows no
    one said which was wrong, so they teach nothing. A row's id combines that of the item and its own, because the row may have been seen
    twice.
    """
    table = snapshot.table("decisions")
    mine = table.filter(pc.equal(table["operation"], operation)).sort_by(
        [("recorded_at", "ascending"), ("id", "ascending")]
    )
    newest: dict[tuple[str, ...], tuple[str, str, str, bool, bool]] = {}
    rows: dict[str, dict[str, str]] = {}
    for item in mine.to_pylist():
        seen: dict[str, dict[str, str]] = defaultdict(dict)
        for row, column, value in json.loads(item["seen"]):
            seen[row][column] = value
        same, keep = item["status"] == "applied", str(item["keep_id"])
        others = sorted(seen.keys() - {keep})
        if keep not in seen or (len(others) > 1 and not same):
            continue
        for other in others:
            newest[tuple(sorted((keep, other)))] = (
                *(str(item["id"]), keep, other, same),
                item["decision"] == Decision.REVIEW,
            )
        rows |= {f"{item['id']}/{row}": {"id": f"{item['id']}/{row}", **fields} for row, fields in seen.items()}
    pairs = sorted((f"{item}/{a}", f"{item}/{b}", same) for item, a, b, same, _ in newest.values())
    asked = frozenset((f"{item}/{a}", f"{item}/{b}") for item, a, b, _, doubt in newest.values() if doubt)
    used = sorted({id_ for a, b, _ in pairs for id_ in (a, b)})
    columns = ("id", "entity_type", "name", "attributes")
    return Labelled(
        pa.table({c: pa.array([rows[id_].get(c) for id_ in used], pa.string()) for c in columns}), tuple(pairs), asked
    )
