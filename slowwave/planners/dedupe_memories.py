"""``dedupe_memories``: memories that tell the same become one; first of all events (khora 8.15).

Which kinds are looked at, how near two memories must be and how far apart in time they may lie is a rule a kind; events are one.
Vectors propose, what the texts say decides: memories that differ in a number, a date or a negation are never merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.vectors import cosines, pairs_above, unit_rows
from slowwave.mutations.merge_memories import MemoryMerge, merge_memories
from slowwave.mutations.rows import standing_ids
from slowwave.operations import Inputs, Proposal
from slowwave.planners.rejections import conflicting_pairs, rejected_pairs, rejected_subjects
from slowwave.plans.items import Item
from slowwave.probes.merges import chain, merged_into
from slowwave.reports.model import Report
from slowwave.settings import Settings
from slowwave.snapshot import Snapshot
from slowwave.texts.differences import difference
from slowwave.texts.specifics import specifics

OPERATION: Final = "dedupe_memories"
_ALIKE: Final = ("kind", "scope", "subject", "author", "visibility", "sensitivity")
"""What memories must have in common to be compared: a merge shows nothing to whom it was not shown, and hides nothing."""

_FEW: Final = 4_096  # pairs within the window of one block up to which each is multiplied alone
_STRIPE: Final = 1_024  # rows of a crowded block that are compared at a time, or as many as a window holds
_DAY: Final = 86_400_000_000  # microseconds
_LEAST: Final = 1e-6  # a threshold of 0 means any pair that does not point apart
_SOURCES: Final = 10
_QUOTED: Final = 200  # characters
_READ: Final = 16_384

_LEFT_OUT: Final = (
    "pairs barred by rejection or conflict",
    "pairs differing in specifics",
    "pairs beyond the window as a cluster",
)

_Fields = Mapping[str, Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rule:
    """For memories of one kind: the cosine that two of them need, and the days that all of a cluster may lie apart."""

    kind: str
    threshold: float
    window_days: int


def rules(settings: Settings) -> tuple[Rule, ...]:
    """The kinds that are looked at."""
    return (Rule("event", settings.event_clustering_cosine_threshold, settings.event_clustering_window_days),)


def dedupe_memories(inputs: Inputs) -> Proposal:
    """Propose merges of live memories of one kind, scope, subject and author, told within the rule's window.

    Every member has the rule's cosine with the survivor, the whole cluster lies within the window, and no two members differ in a
    specific; what was merged into a member on an earlier night counts as a member, so that nights do not chain. The survivor is the
    pinned memory, else that of the most trusted source, of greatest confidence, importance, newest start, smallest id. Cost: a sort
    of the memories, a product for each pair within block and window (in a crowded block, for each row with those of some windows
    or of 2,048 rows), and a look at the texts of each pair that is near.
    """
    snapshot = inputs.snapshot
    bars = rejected_pairs(snapshot, OPERATION, "memories") | conflicting_pairs(snapshot, "memories")
    numbers: dict[str, int] = {}
    merges: list[_Cluster] = []
    for rule in rules(inputs.settings):
        merges += _clusters(snapshot, rule, inputs.settings, bars, numbers)
    mutations = merge_memories(
        snapshot, [MemoryMerge(m.rows[0]["id"], tuple(r["id"] for r in m.rows[1:])) for m in merges]
    )
    standing = standing_ids(snapshot, "chunks") if merges else frozenset[str]()
    items = [
        Item(
            OPERATION,
            "merge",
            mutation,
            evidence=_evidence(cluster),
            risk="low" if len({r["text"] for r in cluster.rows}) == 1 else "medium",
            sources=_sources(cluster.rows, standing),
            probability=round(min(1.0, *cluster.cosines), 4),
        )
        for cluster, mutation in zip(merges, mutations, strict=True)
    ]
    refused = rejected_subjects(snapshot, OPERATION)
    proposed = tuple(i for i in items if not refused or i.subject() not in refused)
    gone = sum(len(i.mutation.absorb) for i in proposed)
    looked = sum(numbers.get(f"live {rule.kind} memories", 0) for rule in rules(inputs.settings))
    return Proposal(
        proposed,
        Report(
            OPERATION,
            f"{gone:,} of {looked:,} live memories tell what another tells and would become part of it.",
            numbers={
                **numbers,
                "rejected before": len(items) - len(proposed),
                "items": len(proposed),
                "memories that would be absorbed": gone,
            },
        ),
    )


@dataclass(frozen=True, slots=True)
class _Cluster:
    """``rows`` with their texts, the survivor first; ``cosines`` of the others with it."""

    rule: Rule
    rows: tuple[_Fields, ...]
    cosines: tuple[float, ...]


def _clusters(
    snapshot: Snapshot, rule: Rule, settings: Settings, bars: frozenset[tuple[str, str]], numbers: dict[str, int]
) -> list[_Cluster]:
    live = snapshot.live("memories")
    live = live.filter(pc.and_(pc.equal(live["kind"], rule.kind), pc.equal(live["state"], "active")))
    vectors = snapshot.vectors["memory_vectors"]
    numbers[f"live {rule.kind} memories"] = len(live)
    places = vectors.rows_of(live["id"].combine_chunks()) if len(live) else np.empty(0, np.int64)
    versions = snapshot.table("memory_versions")
    worded = versions["id"].filter(pc.not_equal(versions["content"], "")).combine_chunks()
    silent = pc.invert(pc.is_in(live["current_version_id"], value_set=worded)).to_numpy()
    usable = (places >= 0) & live["valid_from"].is_valid().to_numpy() & ~silent
    numbers[f"{rule.kind} memories without a vector"] = int((places < 0).sum())
    numbers[f"{rule.kind} memories without a text"] = int(silent.sum())
    numbers[f"{rule.kind} memories without a start"] = live["valid_from"].null_count
    live, places = live.filter(pa.array(usable)), places[usable]
    i, j, cosine = _near(live, vectors.matrix, places, rule, numbers)
    used = np.unique(np.concatenate([i, j]))
    people = _People.of(snapshot, live.take(pa.array(used)), settings, rule.window_days * _DAY)
    place = np.zeros(len(live), np.int64)
    place[used] = np.arange(len(used))
    return _grown(rule, people, place[i], place[j], cosine, bars, numbers)


def _near(
    live: pa.Table, matrix: NDArray[np.floating], places: Ints, rule: Rule, numbers: dict[str, int]
) -> tuple[Ints, Ints, Floats]:
    """Pairs of rows of one block, within the window, whose cosine reaches the threshold: i, j and the cosines, (p,) each."""
    block, start = _blocks(live), live["valid_from"].cast(pa.int64()).to_numpy()
    order = np.lexsort((start, block))
    code, when = block[order], start[order]
    # a row's partners are those that follow it up to the end of its window; blocks and long gaps are a window and more apart
    window = rule.window_days * _DAY
    line = np.zeros(len(order), np.int64)
    line[1:] = np.where(code[1:] == code[:-1], np.minimum(np.diff(when), window + 1), window + 1)
    line = np.cumsum(line)
    count = np.searchsorted(line, line + window, side="right") - np.arange(len(order)) - 1
    in_block = np.bincount(code, count).astype(np.int64)
    threshold = max(rule.threshold, _LEAST)
    few = in_block[code] <= _FEW
    found = [_one_by_one(matrix, places, order, np.where(few, count, 0), threshold)]
    for number in np.flatnonzero(in_block > _FEW).tolist():
        at = np.flatnonzero(code == number)
        found += _striped(matrix, places, order[at], count[at], threshold)
    i, j, cosine = (np.concatenate(column) for column in zip(*found, strict=True))
    numbers["blocks"] = numbers.get("blocks", 0) + len(in_block)
    numbers["pairs within the window"] = numbers.get("pairs within the window", 0) + int(count.sum())
    numbers["near pairs"] = numbers.get("near pairs", 0) + len(i)
    return i, j, cosine


def _one_by_one(
    matrix: NDArray[np.floating], places: Ints, order: Ints, count: Ints, threshold: float
) -> tuple[Ints, Ints, Floats]:
    """The same for blocks of few pairs, all of them at once: each row of ``order`` with the ``count`` rows that follow it."""
    a = np.repeat(np.arange(len(order)), count)
    b = a + 1 + np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count)
    used, compact = np.unique(np.concatenate([a, b]), return_inverse=True)
    units, kept = unit_rows(matrix[places[order[used]]])
    at = np.full(len(used), -1)
    at[kept] = np.arange(len(kept))
    x, y = at[compact[: len(a)]], at[compact[len(a) :]]
    sound = (x >= 0) & (y >= 0)
    cosine = cosines(units, x[sound], y[sound])
    near = cosine >= threshold
    return order[a[sound][near]], order[b[sound][near]], cosine[near]


def _striped(
    matrix: NDArray[np.floating], places: Ints, rows: Ints, count: Ints, threshold: float
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The same for one crowded block, ``rows`` of it by their start: a stripe of them at a time with all that its windows reach."""
    height = max(_STRIPE, int(count.max()))
    for top in range(0, len(rows), height):
        last = min(top + height, len(rows)) - 1
        stripe = rows[top : last + 1 + count[last]]
        a, b, cosine = pairs_above(matrix, threshold, places[stripe])
        inside = (a < height) & (b - a <= count[np.minimum(top + a, last)])
        yield stripe[a[inside]], stripe[b[inside]], cosine[inside]


def _blocks(live: pa.Table) -> Ints:
    """(n,): equal for memories that have all of ``_ALIKE`` in common."""
    code = np.zeros(len(live), np.int64)
    for column in _ALIKE:
        own = live[column].combine_chunks().dictionary_encode()
        mixed = code * max(len(own.dictionary), 1) + own.indices.to_numpy(zero_copy_only=False)
        _, code = np.unique(mixed, return_inverse=True)
    return code


@dataclass(frozen=True, slots=True, eq=False)
class _People:
    """The memories of near pairs. ``rows`` with their texts; ``rank`` (n,) of the survivor's rule, 0 the best; ``lineage`` holds for each
    row its own text and those of what was merged into it, ``first`` and ``last`` (n,) when the earliest and latest of these began.

    A survivor has taken over the earliest start; when it began itself is not on record, but it was within a window of that.
    """

    rows: Sequence[_Fields]
    rank: Ints
    lineage: Sequence[tuple[str, ...]]
    first: Ints
    last: Ints

    @classmethod
    def of(cls, snapshot: Snapshot, picked: pa.Table, settings: Settings, window: int) -> _People:
        columns = ("id", "valid_from", "confidence", "importance", "pinned", "source", "subject", "source_chunk_ids")
        rows = picked.select(columns).to_pylist()
        own = _texts(snapshot, picked["current_version_id"])
        for row, text in zip(rows, own, strict=True):
            row["text"] = text
        trust = {source: n for n, source in enumerate(settings.source_precedence)}

        def better(k: int) -> tuple[Any, ...]:
            r = rows[k]
            return (
                *(not r["pinned"], trust.get(r["source"], len(trust)), -r["confidence"], -r["importance"]),
                *(-r["valid_from"].timestamp(), r["id"]),
            )

        rank = np.empty(len(rows), np.int64)
        rank[sorted(range(len(rows)), key=better)] = np.arange(len(rows))
        start = picked["valid_from"].cast(pa.int64()).to_numpy()
        first, last = start.copy(), start.copy()
        lineage: list[tuple[str, ...]] = [(text,) for text in own]
        place = {row["id"]: k for k, row in enumerate(rows)}
        for survivor, text, began in _absorbed(snapshot, place):
            k = place[survivor]
            lineage[k] = (*lineage[k], text)
            began = first[k] if began is None else began
            first[k] = min(first[k], began)
            last[k] = max(last[k], began, first[k] + window)
        return cls(rows, rank, lineage, first, last)


def _texts(snapshot: Snapshot, versions: pa.ChunkedArray) -> list[str]:
    """The texts of memory versions, in order; empty where there is none."""
    table = snapshot.table("memory_versions")
    at = pc.index_in(versions.combine_chunks(), value_set=table["id"].combine_chunks())
    return pc.fill_null(table["content"].take(at), "").to_pylist()


def _absorbed(snapshot: Snapshot, survivors: Mapping[str, int]) -> list[tuple[str, str, int | None]]:
    """(survivor, text, start) of the memories that were merged into the survivors, by whatever number of merges."""
    table = snapshot.table("memories")
    gone = table.filter(pc.is_valid(table["merged_into"]))
    if not len(gone):
        return []
    into = merged_into(snapshot, ("memories",))
    ends = [chain(id_, into)[-1] for id_ in gone["id"].to_pylist()]
    mine = pa.array([end in survivors for end in ends])
    own = gone.filter(mine)
    starts = own["valid_from"].cast(pa.int64()).to_pylist()
    return list(
        zip((e for e in ends if e in survivors), _texts(snapshot, own["current_version_id"]), starts, strict=True)
    )


def _grown(
    rule: Rule,
    people: _People,
    i: Ints,
    j: Ints,
    cosine: Floats,
    bars: frozenset[tuple[str, str]],
    numbers: dict[str, int],
) -> list[_Cluster]:
    """Clusters around survivors: the best row of all takes what it may of its partners, the nearest first, then the next best.

    A partner that may not join stays for those that come after. What forbids it holds for ever, as lineages only grow: so a second
    night finds nothing that the first one left.
    """
    differ = _reader()
    partners: dict[int, list[tuple[float, int]]] = {}
    for a, b, c in zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True):
        partners.setdefault(a, []).append((c, b))
        partners.setdefault(b, []).append((c, a))
    left_out = dict.fromkeys(_LEFT_OUT, 0)
    taken = np.zeros(len(people.rows), bool)
    found: list[_Cluster] = []
    rank, window = people.rank, rule.window_days * _DAY
    for keep in np.argsort(rank).tolist():
        if taken[keep]:
            continue
        taken[keep] = True
        members: list[int] = [keep]
        near: list[float] = []
        first, last, texts = int(people.first[keep]), int(people.last[keep]), set(people.lineage[keep])
        for c, other in sorted(partners.get(keep, ()), key=lambda p: (-p[0], rank[p[1]])):
            if taken[other]:
                continue
            begins, ends = min(first, int(people.first[other])), max(last, int(people.last[other]))
            if ends - begins > window:
                left_out["pairs beyond the window as a cluster"] += 1
            elif bars and any(_pair(people.rows[m]["id"], people.rows[other]["id"]) in bars for m in members):
                left_out["pairs barred by rejection or conflict"] += 1
            elif any(differ(a, b) for b in people.lineage[other] for a in texts):
                left_out["pairs differing in specifics"] += 1
            else:
                taken[other] = True
                members.append(other)
                near.append(c)
                first, last = begins, ends
                texts.update(people.lineage[other])
        if near:
            found.append(_Cluster(rule, tuple(people.rows[m] for m in members), tuple(near)))
    for name, n in left_out.items():
        numbers[name] = numbers.get(name, 0) + n
    return found


def _reader() -> Callable[[str, str], bool]:
    """Whether two texts contradict each other in a specific, or only one of them denies something."""
    read = lru_cache(_READ)(specifics)

    @lru_cache(_READ)
    def differ(a: str, b: str) -> bool:
        if a.casefold().strip(" .!") == b.casefold().strip(" .!"):
            return False
        one, two = read(a), read(b)
        if bool(one.negations) != bool(two.negations):
            return True
        found = difference(one, two)
        return found is not None and found.degree == "conflict"

    return lambda a, b: a != b and differ(min(a, b), max(a, b))


def _pair(a: str, b: str) -> tuple[str, str]:
    return min(a, b), max(a, b)


def _evidence(cluster: _Cluster) -> dict[str, object]:
    rows = cluster.rows
    return {
        "names": [r["text"] if len(r["text"]) <= _QUOTED else f"{r['text'][: _QUOTED - 1]}…" for r in rows],
        "kind": cluster.rule.kind,
        "subject": rows[0]["subject"],
        "cosine": [round(c, 4) for c in cluster.cosines],
        "threshold": cluster.rule.threshold,
        "window_days": cluster.rule.window_days,
        "valid_from": [r["valid_from"].isoformat() for r in rows],
    }


def _sources(rows: Sequence[_Fields], standing: frozenset[str]) -> tuple[str, ...]:
    """The first chunks that tell it."""
    return tuple(dict.fromkeys(c for r in rows for c in r["source_chunk_ids"] or () if c in standing))[:_SOURCES]
