"""Repeated observations: the same statement, recorded on several days, becomes one question with its number and its days.

"Backup failed." on twelve days is twelve events, and a merge would lose how often it happened. The observations have kind, scope,
subject, author and audience in common, and the same words and figures. If a memory that shares these columns contradicts them ("Backup
succeeded.", "Ran 7 km." beside "Ran 5 km."), the state has changed, and they are not folded. The day of that does not count: a merge of
the contradicting memories may move it, and the next night would fold. Observations within the window in which events count as copies
are none. An earlier fold of the same words takes part with its number. ``dedupe_memories`` proposes the folds and merges none of their
members.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.operations import Inputs
from slowwave.operations.conflicts.rows import CROWD, among, codes, pack
from slowwave.operations.conflicts.values import TURNS
from slowwave.operations.options import DedupeMemoriesOptions
from slowwave.operations.summary_text import FoundSummary, Ints, Pool, SummaryText, candidates, summary_items
from slowwave.plans.items import Decision, Item
from slowwave.snapshots.memories import attributes, english_only
from slowwave.snapshots.rows import KINDS, is_held_back
from slowwave.text.clauses import is_past, stems
from slowwave.text.contradictions import find
from slowwave.text.dates import local_day, looked_at
from slowwave.text.figures import parse
from slowwave.text.keys import keys
from slowwave.text.sentences import sentences
from slowwave.text.small_talk import is_small_talk
from slowwave.text.specifics import specifics
from slowwave.text.subjects import PROGRAMS
from slowwave.text.tokens import count, fold

Flags = NDArray[np.bool_]

FEWEST: Final = 3
"""Days on which the same was recorded from which the observations are folded."""

LONGEST: Final = 200
"""Characters of an observation."""

OCCURRENCES: Final = "occurrences"
"""Attribute of a fold: the text of its members, their number, and the days, the first and the last of them."""

_STATE: Final = re.compile(r"\b(?:is|are|was|were|has|have)\b", re.IGNORECASE)
"""A verb of a state; matches "The key is in the drawer", not "I ran in the park"."""

_WORD: Final = re.compile(r"[^\W\d_]+")

_LEAST: Final = 2  # words of content of an observation
_BESIDE: Final = 2  # words that a statement of another state may have beside those of the observation; it lacks one


@dataclass(frozen=True, slots=True)
class Fold:
    """Observations at ``places`` of the pool with the same ``text``: their number, the number of days, and the first and last of these."""

    places: tuple[int, ...]
    text: str
    times: int
    days: int
    first: date
    last: date

    def figures(self) -> dict[str, object]:
        """Return number and days, as evidence and attribute of the memory that stands for all."""
        days = {"days": self.days, "first": self.first.isoformat(), "last": self.last.isoformat()}
        return {"times": self.times, **days}

    def sentence(self) -> str:
        """Return the text that stands for all: "Backup failed (12 times on 11 days between 2026-01-03 and 2026-03-20)."."""
        body = self.text.rstrip()
        end = body[len(body.rstrip(".!…")) :]
        on = f"on {self.days:,} days between {self.first} and {self.last}"
        often = on if self.times == self.days else f"{self.times:,} times {on}"
        return f"{body[: len(body) - len(end)]} ({often}){end or '.'}"


def fold_observations(inputs: Inputs, operation: str) -> tuple[list[Item], frozenset[str]]:
    """Return a question for each group of repeated observations, and the ids of their members.

    Cost: a pass over the memories and their words, and for each group a comparison with at most ``CROWD`` memories that share words.
    """
    snapshot = english_only(inputs.snapshot)
    pool = candidates(snapshot, inputs.settings, {})
    window = inputs.settings.options("dedupe_memories", DedupeMemoriesOptions).events_window_days
    merged = pc.drop_null(inputs.snapshot.table("memories")["merged_into"].combine_chunks())
    took_in = pc.is_in(pool.table["id"], value_set=merged.cast(pa.string())).to_numpy(zero_copy_only=False)
    folds = list(_folds(pool, inputs.settings.dates_zone, window, took_in)) if len(pool.table) else []
    items = summary_items(inputs, operation, pool, [_summary(pool, fold) for fold in folds])
    members = frozenset(id_ for fold in folds for id_ in pool.table["id"].take(pa.array(fold.places)).to_pylist())
    return [_item(item, fold) for item, fold in zip(items, folds, strict=True)], members


def observed_days(table: pa.Table, texts: pa.ChunkedArray, places: Ints, zone: str) -> Ints:
    """Return (n,) ordinals of the days on which those memories at ``places`` began that state what happened; 0 for all others.

    "Backup failed." on two days happened twice; "I live in Bergen." on two days is one statement, repeated. ``texts`` (n,) are those
    without small talk. Events are none: their copies lie within a window that the settings name.
    """
    found = np.zeros(len(table), np.int64)
    chosen = places[(among(table["kind"], TURNS) & ~_is_courtesy(table))[places]]
    start = pc.coalesce(table["valid_from"], table["recorded_at"])
    for k, text, at in zip(
        chosen.tolist(), *(c.take(pa.array(chosen)).to_pylist() for c in (texts, start)), strict=True
    ):
        if at is None or len(text) > LONGEST or not any(is_past(fold(word)) for word in _WORD.findall(text)):
            continue
        if _is_observation(table, k, text, day := local_day(at, zone)):
            found[k] = day.toordinal()
    return found


def _is_courtesy(table: pa.Table) -> Flags:
    """Return (n,) whether a memory is the turn of a program, which repeats courtesies."""
    return among(table["kind"], TURNS) & among(table["author"], PROGRAMS)


def _folds(pool: Pool, zone: str, window: int, took_in: Flags) -> Iterator[Fold]:
    """Yield the folds.

    Rows that others were merged into (``took_in``) fold with none: they begin on the day of the earliest of these, and no longer state
    what one of these may have contradicted.
    """
    table = pool.table
    earlier = {k: found for k in np.flatnonzero(pool.summary).tolist() if (found := _earlier(table, k))}
    observed = among(table["kind"], KINDS) & ~_is_courtesy(table)
    short = pc.less_equal(pc.utf8_length(table["text"]), LONGEST).to_numpy(zero_copy_only=False).astype(bool)
    texts = table["text"].to_pylist()
    for k, found in earlier.items():
        texts[k] = str(found["text"])
    group = pack(pool.block, codes(keys(pa.array(texts, pa.large_string())))[0])
    taking_part = observed & short
    taking_part[list(earlier)] = True
    words = _Words(pool.block, group, texts, took_in)
    for places in _groups(group, taking_part, FEWEST):
        rows = [k for k in places if k not in earlier]
        if took_in[rows].any():
            continue
        days = sorted({local_day(_instant(pool.when[k]), zone) for k in rows})
        if len(days) < FEWEST or (days[-1] - days[0]).days <= window:
            continue  # copies of one event
        if not _is_observation(table, rows[0], texts[rows[0]], days[0]):
            continue
        before = [earlier[k] for k in places if k in earlier]
        first = min([days[0], *(date.fromisoformat(str(e["first"])) for e in before)])
        last = max([days[-1], *(date.fromisoformat(str(e["last"])) for e in before)])
        if words.contradict(rows[0]):
            continue
        times = len(rows) + sum(int(str(e["times"])) for e in before)
        yield Fold(
            tuple(places), texts[rows[0]], times, len(days) + sum(int(str(e["days"])) for e in before), first, last
        )


def _instant(microseconds: Any) -> datetime:
    return datetime.fromtimestamp(int(microseconds) / 1_000_000, UTC)


def _earlier(table: pa.Table, place: int) -> Mapping[str, object]:
    """Return the occurrences of an earlier fold; empty for any other summary."""
    found = attributes(table["attributes"][place].as_py()).get(OCCURRENCES)
    return found if isinstance(found, Mapping) and {"text", "times", "days", "first", "last"} <= found.keys() else {}


def _groups(group: Ints, chosen: np.ndarray, least: int) -> Iterator[list[int]]:
    """Yield the chosen places of each group of at least so many, in order."""
    places = np.flatnonzero(chosen)
    order = places[np.argsort(group[places], kind="stable")]
    for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if len(part) >= least:
            yield part.tolist()


def _is_observation(table: pa.Table, place: int, text: str, day: date) -> bool:
    """Return whether a text is one statement with a meaning that does not depend on its day, and no courtesy."""
    return not (
        len(sentences(text)) != 1
        or text.rstrip().endswith("?")
        or len(stems(text)) < _LEAST
        or is_small_talk(text)
        or looked_at(text, day)
        or any(parse(value).sort == "date" for value in specifics(text).dates)
        or is_held_back(text, table["attributes"][place].as_py())
    )


class _Words:
    """The texts of each block by their stems, read when the first group of the block asks.

    ``group`` distinguishes the texts of a block. Cost of a question: the texts that have one of its two rarest words.
    """

    def __init__(self, block: Ints, group: Ints, texts: Sequence[str], took_in: Flags) -> None:
        self._block, self._group, self._texts = block, group, texts
        self._merged = frozenset(group[took_in].tolist())
        self._known: dict[int, dict[str, list[int]]] = {}

    def contradict(self, place: int) -> bool:
        """Return whether a memory of the block contradicts the one at a place, or one like it took others in, of which one may have."""
        text, own = self._texts[place], stems(self._texts[place])
        known = self._of_block(int(self._block[place]))
        # a text like it lacks at most one of its words, so it has one of the two rarest
        rarest = sorted(own, key=lambda word: (len(known.get(word, ())), word))[:2]
        alike: list[str] = []
        for k in sorted({k for word in rarest for k in known.get(word, ()) if self._group[k] != self._group[place]}):
            other = stems(self._texts[k])
            if len(own - other) <= 1 and len(other - own) <= _BESIDE:
                if self._group[k] in self._merged:
                    return True
                alike.append(self._texts[k])
        near = sorted(alike)[:CROWD]
        found = zip(near, find([(text, other) for other in near]), strict=True)
        return any(kind is not None and (kind != "object" or _is_of_subject(text, other)) for other, kind in found)

    def _of_block(self, block: int) -> dict[str, list[int]]:
        known = self._known.get(block)
        if known is None:
            known = self._known[block] = defaultdict(list)
            rows = np.flatnonzero(self._block == block)
            first: list[int] = rows[np.unique(self._group[rows], return_index=True)[1]].tolist()
            for k in first:
                for word in stems(self._texts[k]) if len(self._texts[k]) <= 2 * LONGEST else ():
                    known[word].append(k)
        return known


def _is_of_subject(text: str, other: str) -> bool:
    """Return whether both texts state what one subject is or has; "ran in the park" and "ran in the gym" are two events."""
    one, two = _STATE.search(text), _STATE.search(other)
    return one is not None and two is not None and stems(text[: one.start()]) == stems(other[: two.start()])


def _summary(pool: Pool, fold: Fold) -> FoundSummary:
    ids = pool.table["id"].take(pa.array(fold.places)).to_pylist()
    text = fold.sentence()
    marks = {OCCURRENCES: {"text": fold.text, **fold.figures()}}
    before = int(pool.tokens[list(fold.places)].sum())
    return FoundSummary(fold.places, (), SummaryText(text, tuple(ids), ()), before, count(text), marks)


def _item(item: Item, fold: Fold) -> Item:
    evidence = {
        **item.evidence,
        "observations": fold.figures(),
        "reason": f"{fold.times:,} observations of the same form were recorded on {fold.days:,} days between {fold.first} and {fold.last}.",
    }
    return replace(item, decision=Decision.REVIEW, risk="high", evidence=evidence)
