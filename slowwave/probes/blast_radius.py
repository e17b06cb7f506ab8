"""How much of a namespace a plan retires or rewords: beyond a cap somebody is to say that it is meant.

A live row is *retired* when it is live no longer after the plan: invalidated, ended in the world, merged, deleted, or in a state
other than active. It is *reworded* when words that people read are taken from it. What only adds is neither, and is counted apart: words
next to those that were there, another name of a merged entity, whose own name becomes an alias, aliases, tags, vectors, pages, new rows.
Cleaning provenance and moving the endpoint of a relationship change no words.

Every table is held to its cap by itself, and so is every type within it: 21 of 21 memories are all of them, however many passages
stand beside. Of a type, rows that merge are not gone, as their survivor stands for them: three spellings of the only company are one.
A type of a handful of rows, of which a share says nothing, counts with its table alone.
Tokens are held to twice the share that rows are, so that a few long rows do not count as few.

Rows that only housekeeping touches (small talk archived, memories joined that tell the same: ``slowwave.plans.permitted``) are held, with
all others, to a share of their own; the plan is cut to it before (``slowwave.probes.waiting``), so what is beyond is a fault.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.mutations.simulate import simulate
from slowwave.plans.items import Item
from slowwave.plans.permitted import tidies
from slowwave.rows.memories import version_texts
from slowwave.search.rows import searched_table
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.counted import counted
from slowwave.texts.token_count import counts
from slowwave.texts.vocabulary import DENIALS, FOREIGN_NEGATIONS, NEGATIONS

TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "entities": ("name", "description"),
    "relationships": ("description",),
    "memories": ("current_version_id",),
    "memory_facts": ("subject", "predicate", "object", "fact_text"),
    "chunks": ("content",),
    "documents": ("title", "content"),
}
"""The tables whose rows count, with the columns that hold their words; those of a memory are its current version's."""

TYPES: Final[Mapping[str, str]] = {
    "entities": "entity_type",
    "relationships": "relationship_type",
    "memories": "kind",
}
"""Table → the column that says of which type its rows are."""

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
"""A word, a sign of a script without spaces, or a mark: a code that loses its ``!`` is another one."""

_TURNING: Final = NEGATIONS | DENIALS | FOREIGN_NEGATIONS


@dataclass(frozen=True, slots=True)
class Radius:
    """Live rows of one table or type with those retired, reworded and added to, its tokens with those that go, and the caps.

    ``tidied`` of the rows that count are touched by housekeeping alone, with ``tidied_tokens``: they are held to ``allowed_in_all``.
    """

    live: int
    retired: int = 0
    reworded: int = 0
    added: int = 0
    tokens: int = 0
    lost_tokens: int = 0
    allowed: int = 0
    allowed_tokens: int = 0
    tidied: int = 0
    tidied_tokens: int = 0
    allowed_in_all: int = 0
    allowed_tokens_in_all: int = 0

    @property
    def touched(self) -> int:
        """Rows that count."""
        return self.retired + self.reworded

    @property
    def share(self) -> float:
        """Of the rows, those that count."""
        return self.touched / self.live if self.live else 0.0

    @property
    def passed(self) -> bool:
        """Whether rows and tokens are within their caps."""
        return (
            self.touched - self.tidied <= self.allowed
            and self.lost_tokens - self.tidied_tokens <= self.allowed_tokens
            and self.touched <= max(self.allowed, self.allowed_in_all)
            and self.lost_tokens <= max(self.allowed_tokens, self.allowed_tokens_in_all)
        )

    def to_json(self) -> dict[str, object]:
        """As plans store and show it."""
        return {**asdict(self), "share": self.share, "passed": self.passed}


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """The radius of every table and of every type within it, by their names.

    ``rows`` are the rows that count: table → row → tokens that go with it; ``merged`` those of them that have a survivor, ``tidied`` those
    that only housekeeping touches.
    """

    per_table: Mapping[str, Radius]
    per_type: Mapping[str, Mapping[str, Radius]]
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()
    tidied: frozenset[str] = frozenset()

    @property
    def passed(self) -> bool:
        """Whether every table and type is within its cap."""
        return not self.beyond()

    @property
    def share(self) -> float:
        """The greatest share of a table's rows that are retired or reworded."""
        return max((r.share for r in self.per_table.values()), default=0.0)

    @property
    def retired(self) -> int:
        """Rows of all tables that are retired."""
        return sum(r.retired for r in self.per_table.values())

    @property
    def reworded(self) -> int:
        """Rows of all tables that are reworded."""
        return sum(r.reworded for r in self.per_table.values())

    @property
    def added(self) -> int:
        """Rows of all tables that are new, or only gain words."""
        return sum(r.added for r in self.per_table.values())

    def beyond(self) -> list[tuple[str, str, Radius]]:
        """(table, type, radius) of what is beyond its cap, the type empty for a whole table; types of such a table are left out."""
        tables = [(table, "", radius) for table, radius in self.per_table.items() if not radius.passed]
        failed = {table for table, _, _ in tables}
        types = [
            (table, name, radius)
            for table, found in self.per_type.items()
            if table not in failed
            for name, radius in found.items()
            if not radius.passed
        ]
        return tables + types

    def to_json(self) -> dict[str, object]:
        """As plans store and show it."""
        return {
            "share": self.share,
            "retired": self.retired,
            "reworded": self.reworded,
            "added": self.added,
            "per_table": {table: radius.to_json() for table, radius in self.per_table.items()},
            "per_type": {
                table: {name: radius.to_json() for name, radius in found.items()}
                for table, found in self.per_type.items()
            },
            "passed": self.passed,
        }

    def sentence(self) -> str:
        """What an operator reads."""
        touched = {table: radius for table, radius in self.per_table.items() if radius.touched}
        message = ", ".join(
            f"{r.touched:,} of {r.live:,} {table.replace('_', ' ')} ({r.share:.1%}; {_allowed(r)} allowed)"
            for table, r in touched.items()
        )
        counted = (
            f"{_rows(self.retired)} retired and {self.reworded:,} reworded{f': {message}' if message else ''}."
            if touched
            else "Nothing is retired or reworded."
        )
        if self.added:
            counted += f" {_rows(self.added)} new or only {'gains' if self.added == 1 else 'gain'} words, which is not counted."
        if self.passed:
            return counted
        reasons = "; ".join(_excess(*group) for group in self.beyond()[:_NAMED])
        return (
            f"{counted} Beyond the cap: {reasons}. So much at once is either asked for, as where somebody has most of a small namespace "
            "forgotten, or a fault of what writes these rows: look which. Approving the plan needs force and a reason."
        )


_NAMED: Final = 5
_JUDGED: Final = 5
"""Rows from which on a type is held to a cap of its own."""


def _rows(count: int) -> str:
    return f"{counted(count, 'row is', 'rows are')}"


def _excess(table: str, name: str, radius: Radius) -> str:
    rows = f"{table.replace('_', ' ')}{f' of type {name[:40]}' if name else ''}"
    own, tokens = radius.touched - radius.tidied, radius.lost_tokens - radius.tidied_tokens
    beside = " beside housekeeping" if radius.tidied else ""
    if own > radius.allowed:
        return f"{own:,} of {radius.live:,} {rows}{beside} ({radius.allowed:,} allowed)"
    if tokens > radius.allowed_tokens:
        return f"{tokens:,} of {radius.tokens:,} tokens of {rows}{beside} ({radius.allowed_tokens:,} allowed)"
    if radius.touched > max(radius.allowed, radius.allowed_in_all):
        return f"{radius.touched:,} of {radius.live:,} {rows} ({radius.allowed_in_all:,} allowed with housekeeping)"
    return f"{radius.lost_tokens:,} of {radius.tokens:,} tokens of {rows} ({radius.allowed_tokens_in_all:,} allowed with housekeeping)"


def _allowed(radius: Radius) -> str:
    if not radius.tidied:
        return f"{radius.allowed:,}"
    return f"{radius.allowed:,}, and {radius.allowed_in_all:,} with housekeeping,"


def blast_radius(
    before: Snapshot, items: Sequence[Item], settings: Settings, *, after: Snapshot | None = None
) -> BlastRadius:
    """Compare the live rows of ``before`` with those of ``after``, which ``items`` make and which is simulated where it is not given.

    Of a table with n rows, and of a type with n rows, are allowed ``blast_radius_share`` of them, or ``blast_radius_rows`` where that
    is more, but never more than ``blast_radius_small_share`` of them by that rule, rounded up. Types of fewer than five rows have no
    cap of their own. Words are lost that stand in the old text and not, in their order, in the new one; a new text that brings a negation
    is a rewording as well, as it may say the opposite.

    Cost: a pass over the columns of the tables that differ and over the lengths of all texts; Python reads reworded rows alone.
    """
    after = simulate(before, items) if after is None else after
    tidied = _tidied(items)
    per_table: dict[str, Radius] = {}
    per_type: dict[str, dict[str, Radius]] = {}
    rows: dict[str, dict[str, int]] = {}
    merged: set[str] = set()
    for table in TEXTS:
        change = _change(before, after, table, tidied)
        per_table[table] = _radii(change, settings, np.zeros(len(change.kept), np.int64), 1)[0]
        per_table[table] = replace(per_table[table], added=per_table[table].added + change.new)
        if table in TYPES:
            types = pc.dictionary_encode(pc.fill_null(change.rows[TYPES[table]], "").combine_chunks())
            names, codes = types.dictionary.to_pylist(), types.indices.to_numpy(zero_copy_only=False)
            gone = replace(
                change,
                kept=np.where(change.merged, _SAME, change.kept),
                lost=np.where(change.merged, 0, change.lost),
            )
            radii = zip(names, _radii(gone, settings, codes, len(names)), strict=True)
            per_type[table] = {name: r if r.live >= _JUDGED else _uncapped(r) for name, r in sorted(radii)}
            merged.update(change.rows["id"].filter(pa.array(change.merged)).to_pylist())
        touched = np.flatnonzero((change.kept == _RETIRED) | (change.kept == _REWORDED))
        lost = change.lost[touched].tolist()
        rows[table] = dict(zip(change.rows["id"].take(pa.array(touched)).to_pylist(), lost, strict=True))
    return BlastRadius(per_table, per_type, rows, frozenset(merged), tidied)


def takes_words(old: str, new: str) -> bool:
    """Whether a new wording counts as one: words are gone, or a negation came."""
    return _lost([(old, new)]) is not None


def rooms(before: Snapshot, table: str, settings: Settings, *, tidied: bool) -> tuple[int, dict[str, int]]:
    """How many rows of a table a plan may retire or reword, and how many of each type; in all with its housekeeping where ``tidied``."""
    rows, _ = _live(before, table)
    live = Counter(pc.fill_null(rows[TYPES[table]], "").to_pylist())

    def most(count: int) -> int:
        radius = _capped(Radius(count), settings)
        return radius.allowed_in_all if tidied else radius.allowed

    return most(len(rows)), {name: most(n) if n >= _JUDGED else n for name, n in live.items()}


def _tidied(items: Sequence[Item]) -> frozenset[str]:
    """Rows that housekeeping touches, and nothing else of the items."""
    mine: set[str] = set()
    others: set[str] = set()
    for item in items:
        touched = {w.cell.row for w in item.mutation.writes} | {d.row for d in item.mutation.deletes}
        (mine if tidies(item) else others).update(touched)
    return frozenset(mine - others)


_SAME, _RETIRED, _REWORDED, _ADDED = range(4)


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """``rows`` (n) that stood before, what became of each (``kept``), their tokens with those lost, and how many rows are ``new``.

    ``merged`` says which of those retired have a survivor, ``tidied`` which rows only housekeeping touches.
    """

    rows: pa.Table
    kept: np.ndarray
    tokens: np.ndarray
    lost: np.ndarray
    merged: np.ndarray
    new: int
    tidied: np.ndarray


def _change(before: Snapshot, after: Snapshot, table: str, tidied: frozenset[str]) -> _Change:
    old, own = _live(before, table)
    tokens = np.zeros(len(old), np.int64)
    for column in own:
        tokens += counts(column)
    kept, lost, merged = (np.zeros(len(old), kind) for kind in (np.int8, np.int64, np.bool_))
    if after.table(table) is before.table(table):
        return _Change(old, kept, tokens, lost, merged, 0, np.zeros(len(old), np.bool_))
    rows, texts = _live(after, table)
    places = pc.index_in(old["id"], value_set=rows["id"].combine_chunks()).combine_chunks()
    gone = pc.is_null(places).to_numpy(zero_copy_only=False)
    kept[gone], lost[gone] = _RETIRED, tokens[gone]
    whole = after.table(table)
    survivors: set[str] = set()
    if "merged_into" in whole.column_names:
        survived = whole["id"].filter(pc.is_valid(whole["merged_into"])).combine_chunks()
        merged = gone & pc.is_in(old["id"], value_set=survived).to_numpy()
        if (
            table == "entities"
        ):  # a survivor may get another of the names, and keeps its own as an alias: no words are taken from it
            survivors = set(
                whole["merged_into"]
                .filter(pc.is_in(whole["id"], value_set=old["id"].filter(pa.array(merged)).combine_chunks()))
                .to_pylist()
            )
    then = [column.combine_chunks() for column in own]
    now = [column.take(places).combine_chunks() for column in texts]
    differs = np.zeros(len(old), np.bool_)
    for a, b in zip(then, now, strict=True):
        differs |= pc.fill_null(pc.not_equal(a, b), False).to_numpy(zero_copy_only=False)
    for n in np.flatnonzero(differs).tolist():
        first = (
            1 if survivors and old["id"][n].as_py() in survivors else 0
        )  # without the name, the first of an entity's columns
        share = _lost([(str(a[n].as_py()), str(b[n].as_py())) for a, b in zip(then[first:], now[first:], strict=True)])
        kept[n] = _ADDED if share is None else _REWORDED
        lost[n] = ceil((share or 0.0) * tokens[n])
    known = pc.is_in(rows["id"], value_set=before.table(table)["id"].combine_chunks())
    tidy = pc.is_in(old["id"], value_set=pa.array(sorted(tidied), pa.string())).to_numpy()
    return _Change(old, kept, tokens, lost, merged, int(pc.sum(pc.invert(known)).as_py() or 0), tidy)


def _live(snapshot: Snapshot, table: str) -> tuple[pa.Table, list[pa.ChunkedArray]]:
    """The rows of a table that stand, and the columns of their words, never null."""
    known = snapshot.table(table).column_names
    switch = ("is_active",) if "is_active" in known else ()
    rows = searched_table(snapshot, table, ("id", TYPES.get(table, "id"), *TEXTS[table], *switch))
    if switch:
        rows = rows.filter(rows["is_active"])
    if table == "memories":
        return rows, [version_texts(snapshot, rows["current_version_id"])]
    return rows, [pc.fill_null(rows[column].cast(pa.large_string()), "") for column in TEXTS[table]]


def _lost(texts: Sequence[tuple[str, str]]) -> float | None:
    """The share of the words of some texts that their new wordings no longer have; None where all stay in place and no negation comes.

    Linear in the words.
    """
    words, missing, adds = 0, 0, True
    for old, new in texts:
        then, now = _WORD.findall(old), _WORD.findall(new)
        came = Counter(now) - Counter(then)
        words += len(then)
        missing += (Counter(then) - Counter(now)).total()
        left = iter(now)
        adds &= all(word in left for word in then) and not any(word.casefold() in _TURNING for word in came)
    return None if adds else missing / max(1, words)


def _radii(change: _Change, settings: Settings, groups: np.ndarray, count: int) -> list[Radius]:
    """The radius of each of ``count`` groups of rows, which ``groups`` (n) names by number."""

    def rows(state: int) -> list[int]:
        return np.bincount(groups[change.kept == state], minlength=count).tolist()

    def tokens(of: np.ndarray) -> list[int]:
        return np.bincount(groups, of, count).astype(np.int64).tolist()

    columns = (
        np.bincount(groups, minlength=count).tolist(),
        *(rows(state) for state in (_RETIRED, _REWORDED, _ADDED)),
        *(tokens(of) for of in (change.tokens, change.lost)),
    )
    tidied = change.tidied & ((change.kept == _RETIRED) | (change.kept == _REWORDED))
    of_them = (
        np.bincount(groups[tidied], minlength=count).tolist(),
        np.bincount(groups, np.where(tidied, change.lost, 0), count).astype(np.int64).tolist(),
    )
    return [
        _capped(replace(Radius(*figures), tidied=rows, tidied_tokens=gone), settings)
        for figures, rows, gone in zip(zip(*columns, strict=True), *of_them, strict=True)
    ]


def _uncapped(radius: Radius) -> Radius:
    return replace(
        radius,
        allowed=radius.live,
        allowed_tokens=radius.tokens,
        allowed_in_all=radius.live,
        allowed_tokens_in_all=radius.tokens,
    )


def _capped(radius: Radius, settings: Settings) -> Radius:
    small = min(settings.blast_radius_rows, ceil(settings.blast_radius_small_share * radius.live))
    allowed = max(int(settings.blast_radius_share * radius.live), small)
    in_all = max(int(settings.blast_radius_housekeeping_share * radius.live), allowed)

    def tokens(rows: int) -> int:
        return int(min(1.0, 2 * rows / radius.live) * radius.tokens) if radius.live else 0

    return replace(
        radius,
        allowed=allowed,
        allowed_tokens=tokens(allowed),
        allowed_in_all=in_all,
        allowed_tokens_in_all=tokens(in_all),
    )
