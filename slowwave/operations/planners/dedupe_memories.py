"""``dedupe_memories``: memories that state the same become one.

Events are merged within a window (khora 8.15), all other memories at any time (mnemo 2.4).

Vectors propose pairs, the texts decide: memories that contradict each other, or differ in a number, a date or a negation, are never
merged ("I ran today", said on two days, states two things), nor are those that differ in a word, unless one of them is mistyped. Small
talk next to the statement makes no difference ("Thanks! I live in Bergen."). One event may say more than another; other memories must
have the same words and figures, in whatever form.

Memories that state the same slots in another order, or a part of what another one states (``slowwave.text.restatements``), are found by
their words at any distance and always asked about. They must have their ``ALIKE`` columns in common, and the one that stays must contain
all specifics of the other. A part may be absorbed only by the longer memory, which keeps its own start.

If a merge would keep one text and others have specifics that it lacks, or if two near memories state nearly the same and neither contains
the other, a model (``Inputs.consolidator``) may draft one wording with all specifics. A draft that passes the checks of
``slowwave.operations.summary_text`` is a question, with all texts next to it. Without one, the merge is proposed as before.

The planner proposes merges of live memories of one kind, scope, subject, author and audience. What was observed in the same words on two
days happened twice, so it is not merged; from three days on a person is asked whether one memory may stand for all
(``slowwave.operations.observations``).

Every member has the rule's cosine with the survivor, or its text. The whole cluster lies within the window, if there is one, and no two
members contradict each other or differ in a specific. What was merged into a member on an earlier night counts as a member, so that
nights do not chain. The survivor is the pinned memory, else that of the most trusted source, of greatest confidence, importance, without
small talk, the best written (a mark at its end, words as most copies have them), newest start of events and restatements and oldest of
memories with the same words, smallest id; a pinned memory is never absorbed. Cost: that of the pairs, and a comparison of the texts of
each near pair.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.merges import Alike, merge_memories
from slowwave.changes.rows import live_ids
from slowwave.matching.tiles import Run, in_threads
from slowwave.matching.vectors import FEW, cosines, neighbours, pairs_above, pairs_of, share_above, unit_rows
from slowwave.operations import Inputs, Proposal
from slowwave.operations.conflicts.memories import sharing
from slowwave.operations.conflicts.rows import among
from slowwave.operations.conflicts.values import TURNS
from slowwave.operations.consolidation import rejected
from slowwave.operations.observations import fold_observations, observed_days
from slowwave.operations.options import ConsolidateClustersOptions, DedupeMemoriesOptions
from slowwave.operations.planners.archive_small_talk import OPERATION as SMALL_TALK
from slowwave.operations.registry import runs_tonight
from slowwave.operations.rejections import conflicting_pairs, rejected_pairs
from slowwave.operations.summary_text import EXTRACTIVE, FoundSummary, Writing, candidates, summary_items
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.probes.isolation import chain, merged_into
from slowwave.plans.report import Report
from slowwave.snapshots.memories import active_memories, english_only, languages_of_memories, version_texts
from slowwave.snapshots.rows import as_meant, is_held_back, small_talk, texts_without_small_talk
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.clauses import stems
from slowwave.text.contradictions import difference, find
from slowwave.text.extractive import Source
from slowwave.text.forms import count_unusual_words, figures_of, standard_form
from slowwave.text.keys import keys
from slowwave.text.languages import language_of
from slowwave.text.prefilter import matching
from slowwave.text.quotation import quote
from slowwave.text.restatements import LANGUAGES as LANGUAGES_RESTATED
from slowwave.text.restatements import LONGEST as LONGEST_RESTATED
from slowwave.text.restatements import restated, without_reminder, words_to_share
from slowwave.text.sameness import WordsInUse, sameness
from slowwave.text.specifics import specifics, ungrounded, unsaid
from slowwave.text.subjects import PROGRAMS
from slowwave.text.tokens import count, normalise_name

# Pairs of memories that may state the same: equal in what a merge must not mix up, and near each other by their vectors.
#
# Within a window of time all pairs are compared. Without a window, copies of a text are represented by one of them, texts are compared
# only with those that have the same figures, and a crowded block keeps the nearest of each.

ALIKE: Final = ("kind", "scope", "subject", "author", "visibility", "sensitivity")
"""Columns that memories must share to be compared, so that a merge shows nothing to people who could not see it, and hides nothing."""

DAY: Final = 86_400_000_000
"""Microseconds."""

NEAREST: Final = 32
"""Neighbours of a text that are compared in a block where too many are near each other."""

_FEW: Final = 4_096  # pairs of one block up to which each is multiplied alone
_STRIPE: Final = 1_024  # rows of a crowded block that are compared at a time, or as many as a window holds
_LEAST: Final = 1e-6  # a threshold of 0 means any pair that does not point apart

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Pairs = tuple[Ints, Ints, Floats]


def within_window(
    live: pa.Table,
    matrix: NDArray[np.floating],
    places: Ints,
    threshold: float,
    window_days: int,
    numbers: dict[str, int],
) -> Pairs:
    """Return pairs of rows of one block and window whose cosine reaches the threshold: i, j and the cosines, (p,) each.

    ``places`` (n,) are the rows' vectors in ``matrix``. Cost: a sort, and a product for each pair within block and window; in a crowded
    block, for each row with those of some windows or of 2,048 rows.
    """
    block, start = blocks(live), live["valid_from"].cast(pa.int64()).to_numpy()
    order = np.lexsort((start, block))
    code, when = block[order], start[order]
    # a row's partners are those that follow it up to the end of its window; blocks and long gaps are a window and more apart
    window = window_days * DAY
    line = np.zeros(len(order), np.int64)
    line[1:] = np.where(code[1:] == code[:-1], np.minimum(np.diff(when), window + 1), window + 1)
    line = np.cumsum(line)
    count = np.searchsorted(line, line + window, side="right") - np.arange(len(order)) - 1
    in_block = np.bincount(code, count).astype(np.int64)
    threshold = max(threshold, _LEAST)
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


def at_any_time(
    live: pa.Table,
    texts: Sequence[str],
    rank: Ints,
    matrix: NDArray[np.floating],
    places: Ints,
    threshold: float,
    numbers: dict[str, int],
    days: Ints | None = None,
    run: Run = in_threads,
) -> Pairs:
    """Return near pairs at any distance in time; the first row is the one that may absorb the other.

    A pair may occur in both directions. Rows with one text and different ``days`` (n,) are no pair. Copies of a text (equal keys) are led
    by the one of the lowest ``rank`` (n,), which has a cosine of 1 with them, also without a vector (a place of -1). Only leaders are
    compared, and what is near a leader is near its copies. Texts are compared only if their figures are equal. Cost: that of
    ``pairs_above`` in each block; if more than about ``FEW`` pairs are near, that of ``neighbours``, and pairs beyond these are left out.
    ``run`` searches each crowded block whose near pairs are few.
    """
    figures = pa.array([figures_of(text) for text in texts], pa.large_string())
    block = _packed(blocks(live), _codes(figures))
    said = _codes(keys(pa.array(texts, pa.large_string())))
    days = np.zeros(len(live), np.int64) if days is None else days
    copies = _packed(_packed(block, said), days)
    order = np.lexsort((rank, copies))
    first = np.ones(len(order), bool)
    first[1:] = copies[order][1:] != copies[order][:-1]
    leader = np.empty(len(order), np.int64)
    leader[order] = order[first][np.cumsum(first) - 1]
    behind = np.flatnonzero(leader != np.arange(len(leader)))
    found: list[Pairs] = [(leader[behind], behind, np.ones(len(behind), np.float32))]
    leaders = order[first]
    held = places.copy()
    np.maximum.at(held, leader, places)
    places = np.where(places < 0, held, places)  # a leader without a vector is compared by that of a copy
    leaders = leaders[places[leaders] >= 0]
    leaders = leaders[np.argsort(block[leaders], kind="stable")]
    size = np.bincount(block[leaders], minlength=1)
    few = size * (size - 1) // 2 <= _FEW
    small = leaders[few[block[leaders]]]
    count = _following(block[small])
    threshold = max(threshold, _LEAST)
    i, j, cosine = _one_by_one(matrix, places, small, count, threshold)
    found += _both(i, j, cosine)
    numbers["pairs compared"] = numbers.get("pairs compared", 0) + int((size * (size - 1) // 2).sum())
    for number in np.flatnonzero(~few).tolist():
        rows = leaders[block[leaders] == number]
        i, j, cosine = _all_pairs(matrix, places[rows], threshold, numbers, run)
        found += _both(rows[i], rows[j], cosine)
    numbers["copies"] = numbers.get("copies", 0) + len(behind)
    numbers["near pairs"] = numbers.get("near pairs", 0) + sum(len(c) for _, _, c in found[1:]) // 2
    i, j, cosine = _with_copies(found, leader, behind)
    one_day = (said[i] != said[j]) | (days[i] == days[j])
    return i[one_day], j[one_day], cosine[one_day]


def _all_pairs(
    matrix: NDArray[np.floating], places: Ints, threshold: float, numbers: dict[str, int], run: Run
) -> Pairs:
    """Return all near pairs of a crowded block, or only those of the nearest neighbours if there are too many."""
    n = len(places)
    numbers.setdefault("blocks with the nearest only", 0)
    possible = n * (n - 1) / 2
    if possible <= FEW or share_above(matrix, threshold, rows=places) * possible <= FEW:
        return pairs_above(matrix, threshold, places, run=run)
    numbers["blocks with the nearest only"] += 1
    return pairs_of(*neighbours(matrix, NEAREST, threshold, places))


def _both(i: Ints, j: Ints, cosine: Floats) -> list[Pairs]:
    return [(i, j, cosine), (j, i, cosine)]


def _with_copies(found: list[Pairs], leader: Ints, behind: Ints) -> Pairs:
    """Extend the pairs so that a leader may absorb a row together with all of its copies."""
    i, j, cosine = (np.concatenate(c) for c in zip(*found, strict=True))
    order = np.argsort(leader[behind], kind="stable")
    of, rows = leader[behind][order], behind[order]
    low, high = np.searchsorted(of, j, "left"), np.searchsorted(of, j, "right")
    near = leader[i] != leader[j]  # a copy is behind its leader already
    count = np.where(near, high - low, 0)
    at = np.repeat(low, count) + np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return (
        np.concatenate([i, np.repeat(i, count)]),
        np.concatenate([j, rows[at]]),
        np.concatenate([cosine, np.repeat(cosine, count)]),
    )


def _following(code: Ints) -> Ints:
    """Return for each row of (n,) sorted codes how many rows with the same code follow it."""
    return np.searchsorted(code, code, side="right") - np.arange(len(code)) - 1


def _codes(column: pa.Array) -> Ints:
    return column.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _packed(a: Ints, b: Ints) -> Ints:
    """Return codes that are equal where both given codes are equal."""
    _, packed = np.unique(a * (int(b.max(initial=0)) + 1) + b, return_inverse=True)
    return packed.astype(np.int64)


def _one_by_one(matrix: NDArray[np.floating], places: Ints, order: Ints, count: Ints, threshold: float) -> Pairs:
    """Return the near pairs of all blocks with few pairs at once: each row of ``order`` with the ``count`` rows after it."""
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


def _striped(matrix: NDArray[np.floating], places: Ints, rows: Ints, count: Ints, threshold: float) -> Iterator[Pairs]:
    """Yield the near pairs of one crowded block: one stripe of ``rows`` (by start) at a time with all that its windows reach."""
    height = max(_STRIPE, int(count.max()))
    for top in range(0, len(rows), height):
        last = min(top + height, len(rows)) - 1
        stripe = rows[top : last + 1 + count[last]]
        a, b, cosine = pairs_above(matrix, threshold, places[stripe])
        inside = (a < height) & (b - a <= count[np.minimum(top + a, last)])
        yield stripe[a[inside]], stripe[b[inside]], cosine[inside]


def blocks(live: pa.Table) -> Ints:
    """Return (n,) codes that are equal for memories with equal ``ALIKE`` columns; composed letters equal decomposed ones."""
    code = np.zeros(len(live), np.int64)
    for column in ALIKE:
        own = pc.utf8_normalize(live[column].combine_chunks(), form="NFC").dictionary_encode()
        mixed = code * max(len(own.dictionary), 1) + own.indices.to_numpy(zero_copy_only=False)
        _, code = np.unique(mixed, return_inverse=True)
    return code


OPERATION: Final = "dedupe_memories"
_EVENT: Final = "event"
_SUMMARY: Final = "summary"
_SOURCES: Final = 10
_QUOTED: Final = 200  # characters
_READ: Final = 16_384
_REPLACED: Final = 200  # ended memories with a word from which none of them is compared
_ENDED: Final = r"[.!?…。][\"'”’)\]]*\s*$"
_WORDING: Final = "one wording"
_EACH_HAS_MORE: Final = "The memories state nearly the same, and one of them has words that the others lack."
_MOST_WORDED: Final = 20
"""Wordings that a night asks a model for, those of merges first, then those of the nearest pairs."""

_LIKELY: Final = 0.9
"""Probability of a merge that was found by words; it orders questions and decides nothing."""

_PATTERNS: Final = ("equal texts", "equal words", "event that says more")
"""Evidence for a merge, the strongest first: one text except for case, spaces, marks and contractions; the same words in another form, or
mistyped; an event of which one text says more."""

_LEFT_OUT: Final = (
    "pairs that a rejection or conflict forbids",
    "pairs differing in specifics",
    "pairs beyond the window as a cluster",
    "pairs that do not tell the same",
    "pairs with a pinned memory to lose",
    "pairs with another value between them",
)

_Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class KindRule:
    """Rule for memories of one kind or, without a kind, of all kinds that have no rule.

    ``threshold`` is the cosine that two memories need, ``window_days`` the days within which all of a cluster must lie (None: any). With
    ``loose`` one memory may say more than the other.
    """

    kind: str
    threshold: float
    window_days: int | None = None
    loose: bool = False

    @property
    def name(self) -> str:
        """Return the name of its memories in reports."""
        return self.kind or "other"

    def select(self, memories: pa.Table) -> pa.Table:
        """Return the memories to which the rule applies."""
        same = pc.equal(memories["kind"], self.kind or _EVENT)
        return memories.filter(same if self.kind else pc.invert(same))


def rules(settings: Settings) -> tuple[KindRule, ...]:
    """Return the rules: events (khora: .95 within 7 days) unless switched off, and all other kinds (mnemo: .92)."""
    options = settings.options("dedupe_memories", DedupeMemoriesOptions)
    events = KindRule(
        _EVENT,
        options.events_cosine_threshold,
        options.events_window_days,
        loose=True,
    )
    others = KindRule("", options.cosine_threshold)
    return (events, others) if options.events_enabled else (others,)


def dedupe_memories(inputs: Inputs) -> Proposal:
    """Propose to merge memories that state the same; the survivor keeps its text and gets the tags, sources and counts."""
    snapshot = inputs.snapshot
    cannot_link = rejected_pairs(snapshot, OPERATION, "memories") | conflicting_pairs(snapshot, "memories")
    numbers: dict[str, int] = {}
    merges: list[_Cluster] = []
    near: list[_Cluster] | None = None if inputs.consolidator is None else []
    words = WordsInUse(dict.fromkeys(active_memories(snapshot)["text"].to_pylist()))
    folds, memories = _with_content(inputs, numbers)
    for rule in rules(inputs.settings):
        merges += _clusters(inputs, rule.select(memories), rule, cannot_link, words, numbers, near)
    taken = {row["id"] for cluster in merges for row in cluster.rows}
    others = rules(inputs.settings)[-1]
    read = pa.array(np.isin(np.array(languages_of_memories(snapshot), object), LANGUAGES_RESTATED))
    ids = active_memories(snapshot)["id"].filter(read).combine_chunks()
    readable = others.select(memories).filter(pc.is_in(others.select(memories)["id"], value_set=ids))
    merges += _restated(others, readable, taken, inputs.settings, cannot_link, numbers)
    drafts, merges, writing = _worded(inputs, merges, near or [], cannot_link, numbers)
    mutations = merge_memories(
        snapshot,
        [
            Alike(m.rows[0]["id"], tuple(r["id"] for r in m.rows[1:]), states_more=m.pattern == "part of another")
            for m in merges
        ],
    )
    live_chunks = live_ids(snapshot, "chunks") if merges else frozenset[str]()
    proposed = tuple(
        ask_unless_measured(
            Item(
                OPERATION,
                Decision.MERGE,
                mutation,
                evidence=_evidence(cluster),
                risk="low" if len({r["text"] for r in cluster.rows}) == 1 else "medium",
                sources=_sources(cluster.rows, live_chunks),
                probability=round(min(1.0, *cluster.cosines), 4) if cluster.cosines else _LIKELY,
            ),
            cluster.pattern,
        )
        for cluster, mutation in zip(merges, mutations, strict=True)
    )
    gone = sum(len(i.mutation.absorb) for i in proposed)
    proposed = (*proposed, *drafts, *folds)
    if writing is not None:
        numbers |= {"merged wordings": len(drafts), **{name: int(n) for name, n in writing.numbers().items()}}
    looked = sum(numbers.get(f"live {rule.name} memories", 0) for rule in rules(inputs.settings))
    return Proposal(
        proposed,
        Report(
            OPERATION,
            f"{gone:,} of {looked:,} live memories tell what another tells and would become part of it.",
            numbers={
                **numbers,
                "items": len(proposed),
                "memories that would be absorbed": gone,
            },
            findings=writing.findings("merged wordings", "are not proposed") if writing is not None else (),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Cluster of ``rows`` with their texts, the survivor first, and the ``cosines`` of the others with it if vectors found them.

    ``pattern`` names the weakest evidence that joined them, under which it is measured (``slowwave.plans.items``).
    """

    rule: KindRule
    rows: tuple[_Fields, ...]
    cosines: tuple[float, ...]
    pattern: str


def _with_content(inputs: Inputs, numbers: dict[str, int]) -> tuple[Sequence[Item], pa.Table]:
    """Return the folds of repeated observations, and the active memories that are compared.

    The observations are left out, and pure small talk if a night archives that: merging it would be useless.
    """
    folds, repeated = fold_observations(inputs, OPERATION)
    numbers["repeated observations"] = len(repeated)
    memories = active_memories(inputs.snapshot)
    if runs_tonight(inputs, SMALL_TALK):
        talk = small_talk(inputs.snapshot)
        numbers[f"left to {SMALL_TALK}"] = int(talk.sum())
        memories = memories.filter(pa.array(~talk))
    alone = pc.invert(pc.is_in(memories["id"], value_set=pa.array(sorted(repeated), pa.string())))
    return folds, memories.filter(alone)


def search_candidates(inputs: Inputs) -> None:
    """Give ``inputs.search`` the searches of this planner, and propose nothing."""
    numbers: dict[str, int] = {}
    _, memories = _with_content(inputs, numbers)
    for rule in rules(inputs.settings):
        if rule.window_days is None:  # within a window few rows are compared with each other
            live, places, _ = _comparable(inputs, rule.select(memories), rule, numbers)
            _near(inputs, live, _rank(live, inputs.settings, oldest=True), places, rule, numbers)


def _clusters(
    inputs: Inputs,
    live: pa.Table,
    rule: KindRule,
    cannot_link: frozenset[tuple[str, str]],
    words: WordsInUse,
    numbers: dict[str, int],
    near: list[_Cluster] | None,
) -> list[_Cluster]:
    live, places, copied = _comparable(inputs, live, rule, numbers)
    rank = _rank(live, inputs.settings, oldest=rule.window_days is None)
    i, j, cosine = _near(inputs, live, rank, places, rule, numbers)
    used = np.unique(np.concatenate([i, j]))
    window = None if rule.window_days is None else rule.window_days * DAY
    picked = live.take(pa.array(used))
    unmeant = picked.drop_columns("text").rename_columns({"meant": "text"})
    meant = as_meant(unmeant, ~copied[used], inputs.settings)
    picked = picked.set_column(picked.column_names.index("meant"), "meant", meant)
    records = _Memories.from_snapshot(inputs.snapshot, picked, rank[used], window)
    place = np.zeros(len(live), np.int64)
    place[used] = np.arange(len(used))
    return _grown(rule, records, place[i], place[j], cosine, cannot_link, words, numbers, near)


def _comparable(
    inputs: Inputs, live: pa.Table, rule: KindRule, numbers: dict[str, int]
) -> tuple[pa.Table, Ints, np.ndarray]:
    """Return the memories that the rule can compare, with what they mean, their vectors' places, and which texts are copies."""
    vectors = inputs.snapshot.vectors["memory_vectors"]
    numbers[f"live {rule.name} memories"] = len(live)
    places = vectors.rows_of(live["id"].combine_chunks()) if len(live) else np.empty(0, np.int64)
    silent = pc.equal(live["text"], "").to_numpy().astype(bool)
    started = live["valid_from"].is_valid().to_numpy().astype(bool)
    copied = _is_copied(live["text"])
    comparable = (places >= 0) | (copied & (rule.window_days is None))  # equal texts need no vector
    usable = comparable & ~silent & (started | (rule.window_days is None))
    numbers[f"{rule.name} memories without a vector"] = int((places < 0).sum())
    numbers[f"{rule.name} memories without a text"] = int(silent.sum())
    if rule.window_days is not None:
        numbers[f"{rule.name} memories without a start"] = int((~started).sum())
    live, places, copied = live.filter(pa.array(usable)), places[usable], copied[usable]
    live = live.append_column("meant", as_meant(live, copied, inputs.settings))
    told = texts_without_small_talk(live, "meant")
    chatty = pc.not_equal(live["meant"], told)
    live = live.set_column(live.column_names.index("meant"), "meant", told).append_column("chatty", chatty)
    return live, places, copied


def _is_copied(texts: pa.ChunkedArray) -> np.ndarray:
    """Return (n,) whether another of the texts is identical except for case, space and marks."""
    same = keys(texts).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return np.bincount(same, minlength=1)[same] > 1


def _near(inputs: Inputs, live: pa.Table, rank: Ints, places: Ints, rule: KindRule, numbers: dict[str, int]) -> Pairs:
    """Return the pairs in which, by vectors, the first row may absorb the second."""
    matrix = inputs.snapshot.vectors["memory_vectors"].matrix
    if rule.window_days is None:
        texts = live["meant"].to_pylist()
        days = observed_days(live, live["meant"], np.flatnonzero(_is_copied(live["meant"])), inputs.settings.dates_zone)
        return at_any_time(live, texts, rank, matrix, places, rule.threshold, numbers, days, inputs.search)
    i, j, cosine = within_window(live, matrix, places, rule.threshold, rule.window_days, numbers)
    return np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([cosine, cosine])


def _rank(live: pa.Table, settings: Settings, *, oldest: bool) -> Ints:
    """Return (n,) the positions in the order in which memories survive, 0 the best; rows are sorted by id.

    Of equals the newest survives, or the ``oldest``. A survivor takes over the earliest start, so only then is it on record when the same
    was stated again.
    """
    trust = {source: n for n, source in enumerate(settings.source_precedence)}
    sources = live["source"].combine_chunks().dictionary_encode()
    ranks = np.array([trust.get(s, len(trust)) for s in sources.dictionary.to_pylist()] or [0], np.int64)
    start = pc.fill_null(live["valid_from"].cast(pa.int64()), 2**62 if oldest else -(2**62)).to_numpy()
    chatty = live["chatty"].to_numpy().astype(bool)
    faults = _faults(live["text"])
    order = np.lexsort(
        (
            *(np.arange(len(live)), start if oldest else -start, faults, chatty),
            *(-live["importance"].to_numpy(), -live["confidence"].to_numpy()),
            *(ranks[sources.indices.to_numpy(zero_copy_only=False)], ~live["pinned"].to_numpy().astype(bool)),
        )
    )
    rank = np.empty(len(live), np.int64)
    rank[order] = np.arange(len(live))
    return rank


def _faults(texts: pa.ChunkedArray) -> Ints:
    """Count (n,) the faults in the writing of texts: no mark at the end, and words that most copies of a text write otherwise."""
    faults = (~matching(texts, _ENDED).to_numpy(zero_copy_only=False).astype(bool)).astype(np.int64)
    copies = _codes(keys(texts))
    order = np.argsort(copies, kind="stable")
    order = order[np.bincount(copies, minlength=1)[copies[order]] > 1]
    written = texts.take(pa.array(order)).to_pylist()
    for group in np.split(np.arange(len(order)), np.flatnonzero(np.diff(copies[order])) + 1):
        faults[order[group]] += np.array(count_unusual_words([written[k] for k in group.tolist()]), np.int64)
    return faults


@dataclass(frozen=True, slots=True, eq=False)
class _Memories:
    """Memories of near pairs.

    ``rows`` hold their texts, also as these were ``meant`` on their day. ``rank`` (n,) is that of the survivor's rule, the lowest the
    best. ``lineage`` holds for each row what it meant and the texts of what was merged into it, ``first`` and ``last`` (n,) when the
    earliest and latest of these began. A survivor has taken over the earliest start; its own start is not on record, but it was within a
    window of that. ``since`` (n,) is the start of the latest ended memory that the row replaced or contradicts: the row states a value
    that holds again if a copy of it began before.
    """

    rows: Sequence[_Fields]
    rank: Ints
    lineage: Sequence[tuple[str, ...]]
    first: Ints
    last: Ints
    since: Ints

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, picked: pa.Table, rank: Ints, window: int | None) -> _Memories:
        columns = ("id", "text", "meant", "valid_from", "pinned", "kind", "subject", "source_chunk_ids")
        rows = picked.select(columns).to_pylist()
        start = pc.fill_null(picked["valid_from"].cast(pa.int64()), 0).to_numpy()
        first, last = start.copy(), start.copy()
        lineage: list[tuple[str, ...]] = [(row["meant"],) for row in rows]
        place = {row["id"]: k for k, row in enumerate(rows)}
        for survivor, text, began in _absorbed(snapshot, place):
            k = place[survivor]
            lineage[k] = (*lineage[k], text)
            began = first[k] if began is None else began
            first[k] = min(first[k], began)
            last[k] = max(last[k], began, first[k] + (window or 0))
        return cls(rows, rank, lineage, first, last, _replaced_since(snapshot, picked))


def _replaced_since(snapshot: Snapshot, picked: pa.Table) -> Ints:
    """Return (n,) the start of the latest ended memory that each memory replaced or contradicts, or the least int64.

    The ended memory began before it, agrees in ``ALIKE`` and has half of its words of content, and ended when it began or contradicts it.
    Cost: a pass over the memories; each memory is compared with the ended ones of its block that share a word which few of them have.
    """
    table = snapshot.table("memories")
    replaced = pc.and_(pc.is_valid(table["invalidated_at"]), pc.is_null(table["merged_into"]))
    gone = table.filter(pc.and_(replaced, pc.is_valid(table["valid_from"])))
    since = np.full(len(picked), np.iinfo(np.int64).min)
    if not len(gone):
        return since
    columns = [*ALIKE, "valid_from"]
    code = blocks(pa.concat_tables([picked.select(columns), gone.select(columns)], promote_options="permissive"))
    texts = pc.fill_null(version_texts(snapshot, gone["current_version_id"]), "").to_pylist()
    starts, ends = (gone[c].cast(pa.int64()).to_pylist() for c in ("valid_from", "valid_to"))
    having: dict[tuple[int, str], list[int]] = {}
    for k, (block, text) in enumerate(zip(code[len(picked) :].tolist(), texts, strict=True)):
        for word in stems(text):
            having.setdefault((block, word), []).append(k)
    own = zip(
        code.tolist(), picked["valid_from"].cast(pa.int64()).to_pylist(), picked["text"].to_pylist(), strict=False
    )
    for n, (block, start, text) in enumerate(own):
        words = stems(text)
        near = {k for word in words if len(some := having.get((block, word), ())) <= _REPLACED for k in some}
        for k in near if start is not None else ():
            alike = 2 * len(words & stems(texts[k])) >= len(words)
            if since[n] < starts[k] < start and alike and (ends[k] == start or find([(texts[k], text)])[0] is not None):
                since[n] = starts[k]
    return since


def _absorbed(snapshot: Snapshot, survivors: Mapping[str, int]) -> list[tuple[str, str, int | None]]:
    """Return (survivor, text, start) of the memories that were merged into the survivors, by any number of merges."""
    table = snapshot.table("memories")
    gone = table.filter(pc.is_valid(table["merged_into"]))
    if not len(gone):
        return []
    into = merged_into(snapshot, ("memories",))
    ends = [chain(id_, into)[-1] for id_ in gone["id"].to_pylist()]
    own = gone.filter(pa.array([end in survivors for end in ends]))
    starts = own["valid_from"].cast(pa.int64()).to_pylist()
    texts = version_texts(snapshot, own["current_version_id"])
    told = texts_without_small_talk(own.append_column("text", texts), "text").to_pylist()
    return list(zip((e for e in ends if e in survivors), told, starts, strict=True))


def _grown(
    rule: KindRule,
    records: _Memories,
    i: Ints,
    j: Ints,
    cosine: Floats,
    cannot_link: frozenset[tuple[str, str]],
    words: WordsInUse,
    numbers: dict[str, int],
    near_pairs: list[_Cluster] | None,
) -> list[_Cluster]:
    """Build clusters around survivors: the best row absorbs the partners that it may, the nearest first, then the next best.

    ``near_pairs`` receives the pairs that do not differ in a specific, and of which neither states all of the other.

    A partner that may not join remains for later rows. Whatever forbids it holds for ever, because lineages only grow: so a second night
    finds nothing that the first one left.
    """
    differ, covers = _reader(words, loose=rule.loose)
    partners: dict[int, list[tuple[float, int]]] = {}
    for a, b, c in zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True):
        partners.setdefault(a, []).append((c, b))
    left_out = dict.fromkeys(_LEFT_OUT, 0)
    taken = np.zeros(len(records.rows), bool)
    found: list[_Cluster] = []
    rank, window = records.rank, None if rule.window_days is None else rule.window_days * DAY
    for keep in np.argsort(rank).tolist():
        if taken[keep]:
            continue
        taken[keep] = True
        members: list[int] = [keep]
        near: list[float] = []
        weakest = _PATTERNS[0]
        first, last, texts = int(records.first[keep]), int(records.last[keep]), set(records.lineage[keep])
        for c, other in sorted(partners.get(keep, ()), key=lambda p: (-p[0], rank[p[1]])):
            if taken[other]:
                continue
            begins, ends = min(first, int(records.first[other])), max(last, int(records.last[other]))
            if records.rows[other]["pinned"]:
                left_out["pairs with a pinned memory to lose"] += 1
            elif window is not None and ends - begins > window:
                left_out["pairs beyond the window as a cluster"] += 1
            elif begins < max(records.since[[*members, other]]):
                left_out["pairs with another value between them"] += 1
            elif cannot_link and any(
                _pair(records.rows[m]["id"], records.rows[other]["id"]) in cannot_link for m in members
            ):
                left_out["pairs that a rejection or conflict forbids"] += 1
            elif any(differ(a, b) for b in records.lineage[other] for a in texts):
                left_out["pairs differing in specifics"] += 1
            elif not (how := covers(records.rows[keep]["meant"], records.rows[other]["meant"])):
                left_out["pairs that do not tell the same"] += 1
                if near_pairs is not None:
                    near_pairs.append(_Cluster(rule, (records.rows[keep], records.rows[other]), (c,), _WORDING))
            else:
                taken[other] = True
                members.append(other)
                near.append(c)
                weakest = max(weakest, how, key=_PATTERNS.index)
                first, last = begins, ends
                texts.update(records.lineage[other])
        if near:
            found.append(_Cluster(rule, tuple(records.rows[m] for m in members), tuple(near), weakest))
    for name, n in left_out.items():
        numbers[name] = numbers.get(name, 0) + n
    return found


def _reader(words: WordsInUse, *, loose: bool) -> tuple[Callable[[str, str], bool], Callable[[str, str], str]]:
    """Return two tests of two texts: whether they differ, and the pattern by which they state the same.

    Texts differ if they contradict each other, differ in a specific, or only one of them denies something. The pattern is one of
    ``_PATTERNS``, or empty if they do not state the same.
    """
    read = lru_cache(_READ)(specifics)

    @lru_cache(_READ)
    def differ(a: str, b: str) -> bool:
        if a.casefold().strip(" .!") == b.casefold().strip(" .!"):
            return False
        one, two = read(a), read(b)
        if bool(one.negations) != bool(two.negations):
            return True
        found = difference(one, two)
        return (found is not None and found.degree == "conflict") or find([(a, b)])[0] is not None

    @lru_cache(_READ)
    def covers(a: str, b: str) -> str:
        found = sameness(a, b, known=words)
        if found.decision == "same" and normalise_name(standard_form(a)) == normalise_name(standard_form(b)):
            return "equal texts"
        if language_of(a) or language_of(b):  # the forms of words and what an event may add are those of English
            return ""
        return "equal words" if found.decision == "same" else "event that says more" if loose and found.more else ""

    return (
        lambda a, b: a != b and differ(min(a, b), max(a, b)),
        lambda a, b: "equal texts" if a == b else covers(min(a, b), max(a, b)),
    )


def _restated(
    rule: KindRule,
    memories: pa.Table,
    taken: set[str],
    settings: Settings,
    cannot_link: frozenset[tuple[str, str]],
    numbers: dict[str, int],
) -> list[_Cluster]:
    """Return clusters of memories that restate each other, each pattern by itself; a row is in one cluster at most.

    Only memories that share two rare words are compared, and no turns of programs, which repeat courtesies. A memory that would be absorbed
    absorbs nothing, so that no text goes into one that goes itself.
    """
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST_RESTATED)
    free = pc.invert(pc.is_in(memories["id"], value_set=pa.array(sorted(taken), memories["id"].type)))
    courtesies = among(memories["kind"], TURNS) & among(memories["author"], PROGRAMS)
    stating = pc.and_(pc.not_equal(memories["kind"], _SUMMARY), pa.array(~courtesies))
    live = memories.filter(pc.and_(pc.and_(short, free), stating)).combine_chunks()
    live = live.append_column("meant", as_meant(live, np.ones(len(live), bool), settings))
    live = live.append_column("chatty", pa.array(np.zeros(len(live), bool)))
    rows = live.select(
        ("id", "text", "meant", "valid_from", "pinned", "kind", "subject", "source_chunk_ids")
    ).to_pylist()
    rank = _rank(live, settings, oldest=False).tolist()
    words = [words_to_share(row["meant"]) for row in rows]
    pairs: set[tuple[str, int, int]] = set()
    for group in sharing(words, blocks(live).astype(str).tolist()):
        for a, b in combinations(group, 2):
            found = restated(rows[a]["meant"], rows[b]["meant"])
            if found is None or _pair(rows[a]["id"], rows[b]["id"]) in cannot_link:
                continue
            keep, other = (b, a) if found.longer else (a, b)
            if found.how == "other wording" and rank[other] < rank[keep]:
                keep, other = other, keep
            stated = without_reminder(rows[other]["meant"])
            if not rows[other]["pinned"] and not ungrounded(stated, [without_reminder(rows[keep]["meant"])]):
                pairs.add((found.how, keep, other))
    absorbed = set[int]()
    keeping: dict[int, str] = {}
    clusters: dict[int, list[int]] = {}
    for how, keep, other in sorted(pairs, key=lambda p: (p[0], -len(rows[p[1]]["meant"]), rank[p[1]], rank[p[2]])):
        if keep in absorbed or other in absorbed or other in clusters or keeping.setdefault(keep, how) != how:
            continue
        absorbed.add(other)
        clusters.setdefault(keep, []).append(other)
    numbers["memories that another one restates"] = len(absorbed)
    return [
        _Cluster(rule, (rows[keep], *(rows[k] for k in others)), (), keeping[keep]) for keep, others in clusters.items()
    ]


def _worded(
    inputs: Inputs,
    merges: list[_Cluster],
    near: list[_Cluster],
    cannot_link: frozenset[tuple[str, str]],
    numbers: dict[str, int],
) -> tuple[list[Item], list[_Cluster], Writing | None]:
    """Return questions with a model's wording for several memories, the merges that are left, and the writer; None without a model.

    Each memory is in one question or merge at most. A wording has every word of content of its memories, in fewer tokens than they have.
    """
    if inputs.consolidator is None:
        return [], merges, None
    options = inputs.settings.options("consolidate_clusters", ConsolidateClustersOptions)
    pool = candidates(english_only(inputs.snapshot), inputs.settings, {})
    place = {id_: k for k, id_ in enumerate(pool.table["id"].to_pylist())}
    forbidden = cannot_link | rejected(inputs.snapshot, OPERATION)
    taken = {row["id"] for cluster in merges for row in cluster.rows}
    nearest = sorted(near, key=lambda c: (-c.cosines[0], c.rows[0]["id"], c.rows[1]["id"]))
    writing = Writing(inputs.consolidator, inputs.budget, OPERATION)
    numbers["wordings that leave out a word"] = 0
    found: list[FoundSummary] = []
    replaced: list[_Cluster] = []
    for cluster in (*filter(_loses_specifics, merges), *nearest):
        ids = [row["id"] for row in cluster.rows]
        if writing.calls == _MOST_WORDED or writing.stop or writing.no_budget:
            break
        if cluster.pattern == _WORDING and not taken.isdisjoint(ids):
            continue
        if (
            cluster.rows[0]["pinned"]
            or not place.keys() >= {*ids}
            or any(_pair(*p) in forbidden for p in combinations(ids, 2))
        ):
            continue
        places = tuple(place[id_] for id_ in ids)
        rows = pool.rows(places)
        before = int(pool.tokens[list(places)].sum())
        if any(is_held_back(row["text"], row["attributes"]) for row in rows):
            continue
        sources = [Source(row["id"], row["text"], row["valid_from"]) for row in rows]
        written = writing.shorten(sources, min(options.max_output_tokens, before - 1))
        if written is None or written.writer == EXTRACTIVE:
            continue
        if {*written.cited} != {*ids} or not stems(written.text) >= stems(" ".join(row["text"] for row in rows)):
            numbers["wordings that leave out a word"] += 1
            continue
        found.append(FoundSummary(places, (), written, before, count(written.text)))
        taken.update(ids)
        replaced.append(cluster)
    items = [
        replace(item, evidence={**item.evidence, "pattern": _WORDING, "reason": _EACH_HAS_MORE})
        for item in summary_items(inputs, OPERATION, pool, found)
    ]
    return items, [cluster for cluster in merges if cluster not in replaced], writing


def _loses_specifics(cluster: _Cluster) -> bool:
    """Return whether a memory that a merge absorbs has specifics that the survivor lacks."""
    keep, *absorbed = cluster.rows
    terms = frozenset[str]().union(*(specifics(row["meant"]).terms() for row in absorbed))
    return bool(unsaid(terms, [keep["meant"]]))


def _pair(a: str, b: str) -> tuple[str, str]:
    return min(a, b), max(a, b)


def _evidence(cluster: _Cluster) -> dict[str, object]:
    keep, *absorbed = cluster.rows
    cosines = cluster.cosines or (None,) * len(absorbed)
    near = sorted(zip(absorbed, cosines, strict=True), key=lambda pair: pair[0]["id"])
    rows = (keep, *(row for row, _ in near))  # in the order of the mutation, which sorts the rows that it absorbs
    return {
        "names": [quote(r["text"], _QUOTED) for r in rows],
        "kind": rows[0]["kind"],
        "subject": rows[0]["subject"],
        **_code_points(rows),
        "pattern": cluster.pattern,
        **(
            {
                "cosine": [round(c, 4) for c in cluster_cosines],
                "threshold": cluster.rule.threshold,
                "window_days": cluster.rule.window_days,
            }
            if (cluster_cosines := [c for _, c in near if c is not None])
            else {}
        ),
        "valid_from": [r["valid_from"] and r["valid_from"].isoformat() for r in rows],
    }


def _code_points(rows: Sequence[_Fields]) -> dict[str, object]:
    """Return the code points of subjects or texts that look equal but are encoded differently, which no person can see."""
    written: dict[str, object] = {}
    for column in ("subject", "text"):
        forms = list(dict.fromkeys(str(row[column] or "") for row in rows))
        if len(forms) > 1 and len({unicodedata.normalize("NFC", form) for form in forms}) == 1:
            written[f"{column}_forms"] = [quote(ascii(form)[1:-1], _QUOTED) for form in forms]
    return written


def _sources(rows: Sequence[_Fields], live_chunks: frozenset[str]) -> tuple[str, ...]:
    """Return the first live chunks from which the memories come."""
    return tuple(dict.fromkeys(c for r in rows for c in r["source_chunk_ids"] or () if c in live_chunks))[:_SOURCES]
