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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.operations.conflicts.rows import CROWD, among, codes, pack
from slowwave.operations.conflicts.values import TURNS
from slowwave.operations.options import DedupeMemoriesOptions
from slowwave.operations.summary_text import FoundSummary, Ints, Pool, SummaryText, candidates, summary_items
from slowwave.plans.items import Decision, Item
from slowwave.snapshots.memories import attributes, english_only
from slowwave.snapshots.rows import KINDS, is_held_back
from slowwave.text.clauses import stems
from slowwave.text.contradictions import find
from slowwave.text.dates import local_day, looked_at
from slowwave.text.figures import parse
from slowwave.text.keys import keys
from slowwave.text.sentences import sentences
from slowwave.text.small_talk import is_small_talk
from slowwave.text.specifics import specifics
from slowwave.text.subjects import PROGRAMS
from slowwave.text.tokens import count

FEWEST: Final = 3
"""Days on which the same was recorded from which the observations are folded."""

LONGEST: Final = 200
"""Characters of an observation."""

OCCURRENCES: Final = "occurrences"
"""Attribute of a fold: the text of its members, their number, and the days, the first and the last of them."""

_STATE: Final = re.compile(r"\b(?:is|are|was|were|has|have)\b", re.IGNORECASE)
"""A verb of a state; matches "The key is in the drawer", not "I ran in the park"."""

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

    def sentence(self) -> str:
        """Return the text that stands for all: "Backup failed (12 times on 11 days between 2026-01-03 and 2026-03-20)."."""
        body = self.text.rstrip()
        end = body[len(body.rstrip(".!…")) :]
        on = f"on {self.days:,} days between {self.first} and {self.last}"
        often = on if self.times == self.days else f"{self.times:,} times {on}"
        return f"{body[: len(body) - len(end)]} ({often}){end or '.'}"


def fold_observations(inputs: Inputs, operation: str) -> tuple[list[Item], frozenset[str]]:
    """Return a question for each group of repeated observations, and the ids of their members.

    Cost: a pass over the memories, and for each group one over those of its block and a comparison with at most ``CROWD`` of them.
    """
    snapshot = english_only(inputs.snapshot)
    pool = candidates(snapshot, inputs.settings, {})
    window = inputs.settings.options("dedupe_memories", DedupeMemoriesOptions).events_window_days
    merged = frozenset(pc.drop_null(inputs.snapshot.table("memories")["merged_into"]).to_pylist())
    folds = list(_folds(pool, inputs.settings.dates_zone, window, merged)) if len(pool.table) else []
    items = summary_items(inputs, operation, pool, [_summary(pool, fold) for fold in folds])
    members = frozenset(id_ for fold in folds for id_ in pool.table["id"].take(pa.array(fold.places)).to_pylist())
    return [_item(item, fold) for item, fold in zip(items, folds, strict=True)], members


def _folds(pool: Pool, zone: str, window: int, merged: frozenset[str]) -> Iterator[Fold]:
    """Yield the folds. A group with a row that others were ``merged`` into has none: it begins on the day of the earliest of them."""
    table = pool.table
    earlier = {k: found for k in np.flatnonzero(pool.summary).tolist() if (found := _earlier(table, k))}
    courtesies = among(table["kind"], TURNS) & among(table["author"], PROGRAMS)
    observed = among(table["kind"], KINDS) & ~courtesies
    short = pc.less_equal(pc.utf8_length(table["text"]), LONGEST).to_numpy(zero_copy_only=False).astype(bool)
    texts = table["text"].to_pylist()
    for k, found in earlier.items():
        texts[k] = str(found["text"])
    group = pack(pool.block, codes(keys(pa.array(texts, pa.large_string())))[0])
    taking_part = observed & short
    taking_part[list(earlier)] = True
    for places in _groups(group, taking_part, FEWEST):
        rows = [k for k in places if k not in earlier]
        if any(table["id"][k].as_py() in merged for k in rows):
            continue
        days = sorted({local_day(_instant(pool.when[k]), zone) for k in rows})
        if len(days) < FEWEST or (days[-1] - days[0]).days <= window:
            continue  # copies of one event
        if not _is_observation(table, rows[0], texts[rows[0]], days[0]):
            continue
        before = [earlier[k] for k in places if k in earlier]
        first = min([days[0], *(date.fromisoformat(str(e["first"])) for e in before)])
        last = max([days[-1], *(date.fromisoformat(str(e["last"])) for e in before)])
        if _changes(pool, texts, places, group, merged):
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


def _changes(pool: Pool, texts: Sequence[str], places: Sequence[int], group: Ints, merged: frozenset[str]) -> bool:
    """Return whether a memory of the block contradicts the observations, or one like them took others in, of which one may have done so."""
    beside = (pool.block == pool.block[places[0]]) & (group != group[places[0]])
    text = texts[places[0]]
    own = stems(text)
    rows = [k for k in np.flatnonzero(beside).tolist() if len(texts[k]) <= 2 * LONGEST]
    alike = {t for t in {texts[k] for k in rows} if len(own - stems(t)) <= 1 and len(stems(t) - own) <= _BESIDE}
    if any(pool.table["id"][k].as_py() in merged for k in rows if texts[k] in alike):
        return True
    near = sorted(alike)[:CROWD]
    found = zip(near, find([(text, other) for other in near]), strict=True)
    return any(kind is not None and (kind != "object" or _is_of_subject(text, other)) for other, kind in found)


def _is_of_subject(text: str, other: str) -> bool:
    """Return whether both texts state what one subject is or has; "ran in the park" and "ran in the gym" are two events."""
    one, two = _STATE.search(text), _STATE.search(other)
    return one is not None and two is not None and stems(text[: one.start()]) == stems(other[: two.start()])


def _summary(pool: Pool, fold: Fold) -> FoundSummary:
    ids = pool.table["id"].take(pa.array(fold.places)).to_pylist()
    text = fold.sentence()
    marks = {
        OCCURRENCES: {
            "text": fold.text,
            "times": fold.times,
            "days": fold.days,
            "first": fold.first.isoformat(),
            "last": fold.last.isoformat(),
        }
    }
    before = int(pool.tokens[list(fold.places)].sum())
    return FoundSummary(fold.places, (), SummaryText(text, tuple(ids), ()), before, count(text), marks)


def _item(item: Item, fold: Fold) -> Item:
    evidence = {
        **item.evidence,
        "observations": {
            "times": fold.times,
            "days": fold.days,
            "first": fold.first.isoformat(),
            "last": fold.last.isoformat(),
        },
        "reason": f"{fold.times:,} observations of the same form were recorded on {fold.days:,} days between {fold.first} and {fold.last}.",
    }
    return replace(item, decision=Decision.REVIEW, risk="high", evidence=evidence)
