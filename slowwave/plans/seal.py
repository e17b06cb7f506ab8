"""Sealing of items into a plan, whose hash is computed from its content, within the scope of a dream."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from slowwave.changes.cells import Cell, canonical_json
from slowwave.changes.mutation import check
from slowwave.errors import Refused
from slowwave.plans.items import Item, Sealed
from slowwave.plans.questions import ReviewQuestion, asks_which
from slowwave.text.quotation import quotable_all

# Reading a stored plan must not import Arrow.
if TYPE_CHECKING:
    import pyarrow as pa

    from slowwave.plans.permitted import Permits
    from slowwave.snapshots.snapshot import Snapshot

# Sealing: items become a plan whose hash is computed from its content.
#
# The method is greedy in operation order, then probability, then item id. An item that conflicts with one already in the plan is
# deferred, and names the winner. A merge is also deferred if the plan asks which statement is right about one of its rows: the answer may
# end that row, so it comes first. The result does not depend on the order of the items. Items of a plan commute (see
# ``slowwave.changes.cells``), so any part of it can be approved.

SCHEMA = "slowwave-plan/1"

AS_OF = "-asof"
"""The mark in the snapshot id of a plan as of an instant, which names the instant instead of a snapshot."""


@dataclass(frozen=True, slots=True)
class Header:
    """The fields that the hash covers in addition to the items."""

    namespace_id: str
    namespace: str
    snapshot_id: str
    settings_fingerprint: str

    def to_json(self) -> dict[str, object]:
        """Return the form that is sealed and stored."""
        return {
            "schema": SCHEMA,
            "namespace_id": self.namespace_id,
            "namespace": self.namespace,
            "snapshot_id": self.snapshot_id,
            "settings_fingerprint": self.settings_fingerprint,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """A sealed, frozen plan, identified by its hash.

    ``deferred`` maps the id of an item left out to the winner's id, which is empty if the item is only postponed to another night.
    ``questions`` maps review items to the question that a person is asked; the hash does not cover it. ``written`` holds the items as
    they were hashed, by id, for the code that stores them next; it is empty afterwards.
    """

    header: Header
    items: tuple[Item, ...]
    plan_hash: str
    deferred_items: tuple[Item, ...] = ()
    deferred: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, ReviewQuestion] = field(default_factory=dict)
    written: Mapping[str, Sealed] = field(default_factory=dict, repr=False, compare=False)


class Ranked(NamedTuple):
    """Proposals in the order in which they are placed, each once, and the ids of those that may conflict with another."""

    items: tuple[Item, ...] = ()
    contested: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ArrangedItems:
    """Items of which any part may be approved, in sealing order; the items left out; and the winner's id by the loser's.

    ``waiting`` are ids of items that were postponed to another night without a conflict: in ``deferred`` they have no winner. ``ranked``
    holds all items as they were placed, so that they are not ranked again when more of them are postponed.
    """

    items: tuple[Item, ...]
    deferred_items: tuple[Item, ...]
    deferred: Mapping[str, str]
    waiting: frozenset[str] = frozenset()
    ranked: Ranked = field(default=Ranked(), repr=False, compare=False)


def seal(header: Header, items: Iterable[Item], permits: Permits) -> Plan:
    """Seal items into a plan: ``arrange``, then ``sealed``."""
    return sealed(header, arrange(items, permits))


def sealed(header: Header, arranged: ArrangedItems) -> Plan:
    """Return the plan of arranged items. Its JSON is computed once, for the hash, and kept for storing the plan."""
    written = {item.id: item.sealed() for item in arranged.items}
    hash_ = hash_of(header, written.values())
    return Plan(header, arranged.items, hash_, arranged.deferred_items, arranged.deferred, written=written)


def arrange(items: Iterable[Item], permits: Permits) -> ArrangedItems:
    """Decide which items are in the plan and which are deferred.

    Items of an operation that comes first in ``permits`` are preferred. Evidence is kept without text that screening would redact. Cost:
    linear in cells and in the texts of the evidence. Raises ``Refused`` for an item that does something its operation may not do.
    """
    items = list(items)
    permits.refuse_unpermitted(items, "planned")
    for item in items:
        check(item.mutation)
    evidence = quotable_all([item.evidence for item in items], (item.evidence_json() for item in items))
    quoted = [i if kept is i.evidence else replace(i, evidence=kept) for i, kept in zip(items, evidence, strict=True)]
    return _placed(_ranked(quoted, permits), permits)


def arranged_again(before: ArrangedItems, changed: Mapping[str, Item], permits: Permits) -> ArrangedItems:
    """Arrange again with the items in ``changed`` replaced by id.

    Changed items are placed by their own rank, and items that conflicted with the replaced ones may be in the plan now. Raises
    ``Refused`` for a changed item that does something its operation may not do.
    """
    permits.refuse_unpermitted(changed.values(), "planned")
    items = [changed.get(i.id, i) for i in (*before.items, *before.deferred_items)]
    return _placed(_ranked(items, permits), permits, before.waiting - changed.keys())


def without(before: ArrangedItems, waiting: Collection[str], permits: Permits) -> ArrangedItems:
    """Arrange again with further items postponed to another night.

    Items that conflicted with one of them may be in the plan now.
    """
    return _placed(before.ranked, permits, before.waiting.union(waiting))


def leaving(before: ArrangedItems, waiting: Collection[str]) -> ArrangedItems:
    """Return the arrangement without further items, with nothing in their place."""
    late = [i for i in before.items if i.id in waiting]
    return ArrangedItems(
        tuple(i for i in before.items if i.id not in waiting),
        (*before.deferred_items, *late),
        {**before.deferred, **{i.id: "" for i in late}},
        before.waiting.union(i.id for i in late),
        before.ranked,
    )


def _ranked(items: Sequence[Item], permits: Permits) -> Ranked:
    """Rank the items; of a proposal made twice, keep the one that ranks first."""
    rank = {operation: n for n, operation in enumerate(permits.by_operation)}
    times = Counter(i.id for i in items)
    ranked = sorted(
        items,
        key=lambda i: (
            i.is_question,
            rank.get(i.operation, len(rank)),
            -i.probability,
            i.id,
            i.evidence_json() if times[i.id] > 1 else "",
        ),
    )
    once: dict[str, Item] = {}
    for item in ranked:
        once.setdefault(item.id, item)
    return Ranked(tuple(once.values()), _contested(once.values()))


def _placed(ranked: Ranked, permits: Permits, waiting: frozenset[str] = frozenset()) -> ArrangedItems:
    written: dict[Cell, str] = {}
    guarded: dict[Cell, str] = {}
    taken: dict[str, Item] = {}
    late: list[Item] = []
    left: list[Item] = []
    deferred: dict[str, str] = {}
    doubted = _doubted_merges(ranked, waiting)
    for item in sorted(ranked.items, key=lambda i: i.id in doubted):  # doubted merges after the questions
        if item.id in waiting:
            left.append(item)
            continue
        if asked := next((question for question in doubted.get(item.id, ()) if question in taken), ""):
            late.append(item)
            deferred[item.id] = asked
            continue
        if item.id not in ranked.contested:
            taken[item.id] = item
            continue
        writes, guards = item.writes(), item.guards()
        cells = writes | guards
        free, unguarded = cells.difference(written), writes.difference(guarded)  # these do not hash a cell again
        if len(free) < len(cells) or len(unguarded) < len(writes):
            first = min((cells - free) | (writes - unguarded))
            late.append(item)
            deferred[item.id] = written.get(first) or guarded[first]
            continue
        taken[item.id] = item
        written.update(dict.fromkeys(writes, item.id))
        guarded.update(dict.fromkeys(guards.difference(guarded), item.id))
    in_plan = tuple(item for item in ranked.items if item.id in taken)
    rank = {operation: n for n, operation in enumerate(permits.by_operation)}
    left.sort(key=lambda i: (rank.get(i.operation, len(rank)), i.id))
    deferred |= {i.id: "" for i in left}
    return ArrangedItems(in_plan, (*late, *left), deferred, frozenset(i.id for i in left), ranked)


def _doubted_merges(ranked: Ranked, waiting: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """Return decided merge → the questions which of two statements is right that concern one of its rows, in their order."""
    asked: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for item in ranked.items:
        if item.is_question and item.id in ranked.contested and item.id not in waiting and asks_which(item):
            for row in item.rows():
                asked[row].append(item.id)
    found: dict[str, tuple[str, ...]] = {}
    for item in ranked.items if asked else ():
        merge = item.mutation
        if merge.keep and not item.is_question:
            rows = [(merge.table, row.id) for row in (merge.keep, *merge.absorb)]
            if questions := tuple(dict.fromkeys(question for row in rows for question in asked.get(row, ()))):
                found[item.id] = questions
    return found


def _contested(items: Iterable[Item]) -> frozenset[str]:
    """Return the ids of items that share a row with another item.

    All other items conflict with none, so their cells need not be compared.
    """
    first: dict[tuple[str, str], str] = {}
    contested: set[str] = set()
    for item in items:
        for row in item.rows():
            if (other := first.setdefault(row, item.id)) != item.id:
                contested |= {item.id, other}
    return frozenset(contested)


def plan_hash(header: Header, items: Iterable[Item]) -> str:
    """Return the SHA-256 of the canonical JSON of header and items."""
    return hash_of(header, (item.sealed() for item in items))


def hash_of(header: Header, items: Iterable[Sealed]) -> str:
    """Return the plan hash of items whose JSON is already computed."""
    digest = hashlib.sha256(canonical_json(header.to_json()).encode())
    for item in items:
        digest.update(b"\n" + item.line().encode())
    return digest.hexdigest()


# The scope of a dream: which operations run, and which of their items belong to the plan.
#
# A scope restricts what is proposed, never what is compared: an item is within the scope if one of its rows is. So a merge of an old row
# with one recorded since yesterday is within "since yesterday".

_TABLES: Final = ("entities", "relationships", "memory_facts", "memories", "communities")
_NAMED: Final = {"entities": "id", "relationships": "source_entity_id target_entity_id"}


@dataclass(frozen=True, slots=True)
class DreamScope:
    """The operations and rows to which a dream is restricted; ``None`` restricts nothing.

    ``op_kinds`` are names of operations, at least one. The instants are time-zone aware and bound ``recorded_at``: ``since`` ≤ recorded <
    ``until``. ``entity_ids`` include relationships that touch them; ``document_ids`` include rows that cite them or one of their chunks.
    """

    op_kinds: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    entity_ids: frozenset[str] | None = None
    document_ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            instant = getattr(self, name)
            if instant is not None and instant.tzinfo is None:
                raise Refused(
                    f"The scope's {name} has no time zone, so it could mean several instants. Add one, as in …Z."
                )

    @property
    def narrows(self) -> bool:
        """Return whether the scope leaves out rows."""
        return any(getattr(self, n) is not None for n in ("since", "until", "entity_ids", "document_ids"))

    def to_json(self) -> dict[str, object]:
        """Return the form that runs store, without fields that restrict nothing."""
        shown: dict[str, object] = {}
        for name in ("op_kinds", "entity_ids", "document_ids"):
            if (value := getattr(self, name)) is not None:
                shown[name] = sorted(value)
        for name in ("since", "until"):
            if (value := getattr(self, name)) is not None:
                shown[name] = value.astimezone(UTC).isoformat()
        return shown

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> DreamScope:
        """Build a scope from the output of ``to_json``."""
        return cls(
            _names(value.get("op_kinds")),
            _when(value.get("since")),
            _when(value.get("until")),
            _names(value.get("entity_ids")),
            _names(value.get("document_ids")),
        )


def within(scope: DreamScope, snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """Return the items with a row within the scope, in their order. One pass over each table of rows."""
    if not scope.narrows:
        return list(items)
    rows = {id_ for table in _TABLES if table in snapshot.tables for id_ in _rows(scope, snapshot, table)}
    return [item for item in items if not rows.isdisjoint(_about(item))]


def _about(item: Item) -> set[str]:
    """Return the rows an item is about, and those that a new row names as its members."""
    return {*item.mutation.row_ids(), *(id_ for ids in item.mutation.members() for id_ in ids)}


def _rows(scope: DreamScope, snapshot: Snapshot, name: str) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = snapshot.table(name)
    mask = pa.chunked_array([pa.array([True] * len(table), pa.bool_())])
    if scope.since is not None:
        mask = pc.and_(mask, pc.greater_equal(table["recorded_at"], _instant(scope.since)))
    if scope.until is not None:
        mask = pc.and_(mask, pc.less(table["recorded_at"], _instant(scope.until)))
    if scope.entity_ids is not None:
        asked = pa.array(sorted(scope.entity_ids), pa.string())
        named = [pc.is_in(table[c], value_set=asked) for c in _NAMED.get(name, "").split()]
        mask = pc.and_(mask, _any(named, len(table)))
    if scope.document_ids is not None:
        mask = pc.and_(mask, _cites(scope.document_ids, snapshot, table))
    return table["id"].filter(mask).to_pylist()


def _cites(documents: frozenset[str], snapshot: Snapshot, table: pa.Table) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = snapshot.table("chunks")
    asked = pa.array(sorted(documents), pa.string())
    own = chunks["id"].filter(pc.is_in(chunks["document_id"], value_set=asked)).combine_chunks()
    named = [
        _holds(table[column], of)
        for column, of in (("source_document_ids", asked), ("source_chunk_ids", own))
        if column in table.column_names
    ]
    return _any(named, len(table))


def _holds(lists: pa.ChunkedArray, ids: pa.Array) -> pa.ChunkedArray:
    """Return a mask of the lists that hold one of ``ids``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = lists.combine_chunks()
    hit = pc.is_in(pc.list_flatten(whole), value_set=ids)
    rows = pc.unique(pc.list_parent_indices(whole).filter(hit))
    return pa.chunked_array([pc.is_in(pa.array(range(len(whole)), rows.type), value_set=rows)])


def _any(masks: Sequence[pa.ChunkedArray], rows: int) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pa.chunked_array([pa.array([False] * rows, pa.bool_())])
    for mask in masks:
        found = pc.or_(found, mask)
    return found


def _names(value: object) -> frozenset[str] | None:
    return frozenset(str(v) for v in value) if isinstance(value, (list, tuple, set, frozenset)) else None


def _when(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None


def _instant(value: datetime) -> pa.Scalar:
    import pyarrow as pa

    return pa.scalar(value.astimezone(UTC), pa.timestamp("us", tz="UTC"))
