"""Probes of size: how much a plan retires or rewords, which items exceed a cap, and which may wait for another night."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import inserted_id
from slowwave.changes.simulate import simulate, simulate_anew
from slowwave.models import Embed
from slowwave.plans.items import Decision, Item
from slowwave.plans.permitted import Permits, retired
from slowwave.plans.probes.recall import Baseline, RecallProbe, recall_probe
from slowwave.plans.probes.texts import LostTerm, SpecificsProbe, specifics_probe
from slowwave.search.rows import searched_table
from slowwave.snapshots.export import release
from slowwave.snapshots.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.tokens import counted, counts
from slowwave.text.words import DENIALS, FOREIGN_NEGATIONS, NEGATIONS

# The blast radius: how much of a namespace a plan retires or rewords. Beyond a cap, a person has to confirm that it is intended.
#
# A live row is *retired* if it is no longer live after the plan: invalidated, ended in the world, merged, deleted, or in a state other
# than active. It is *reworded* if words that people read are removed from it. Pure additions are neither and are counted separately:
# words next to existing ones, another name of a merged entity (whose own name becomes an alias), aliases, tags, vectors, pages and new
# rows. Cleaning provenance and moving the endpoint of a relationship change no words.
#
# Every table has a separate cap, and so has every type within it: 21 of 21 memories are all memories, however many passages there are.
# Within a type, merged rows do not count, because their survivor replaces them: three spellings of the only company are one. A type with
# a handful of rows, whose share means nothing, counts only with its table. The cap for the share of tokens is twice that of rows, so that
# a few long rows do not count as few.
#
# Rows that only a person's own answers touch do not count: somebody looked at each of these changes (``slowwave.plans.gate``).
#
# Rows that only housekeeping touches (archived small talk, merged equal memories: ``slowwave.plans.permitted``) have, together with all
# others, a wider cap. The plan is cut to it before, so exceeding it is an error.

TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "entities": ("name", "description"),
    "relationships": ("description",),
    "memories": ("current_version_id",),
    "memory_facts": ("subject", "predicate", "object", "fact_text"),
    "chunks": ("content",),
    "documents": ("title", "content"),
}
"""Table → the columns that hold the words of its rows, for tables that count. The words of a memory are those of its current version."""

TYPES: Final[Mapping[str, str]] = {
    "entities": "entity_type",
    "relationships": "relationship_type",
    "memories": "kind",
}
"""Table → the column that holds the type of its rows."""

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
"""A word, a character of a script without spaces, or a mark: a code that loses its ``!`` is another code."""

_TURNING: Final = NEGATIONS | DENIALS | FOREIGN_NEGATIONS


@dataclass(frozen=True, slots=True)
class Radius:
    """Live rows of one table or type, with those retired, reworded and added to, their tokens and lost tokens, and the caps.

    ``tidied`` of the rows that count are touched only by housekeeping, with ``tidied_tokens``. With housekeeping, the caps are
    ``allowed_in_all`` and ``allowed_tokens_in_all``.
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
        """Return the number of rows that count: retired or reworded."""
        return self.retired + self.reworded

    @property
    def share(self) -> float:
        """Return the share of live rows that count."""
        return self.touched / self.live if self.live else 0.0

    @property
    def passed(self) -> bool:
        """Return whether rows and tokens are within their caps."""
        return (
            self.touched - self.tidied <= self.allowed
            and self.lost_tokens - self.tidied_tokens <= self.allowed_tokens
            and self.touched <= max(self.allowed, self.allowed_in_all)
            and self.lost_tokens <= max(self.allowed_tokens, self.allowed_tokens_in_all)
        )

    def to_json(self) -> dict[str, object]:
        """Return the form that plans store and show."""
        return {**asdict(self), "share": self.share, "passed": self.passed}


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """The radius of every table and of every type within it, by name.

    ``rows`` are the rows that count: table → row → tokens that are lost with it. ``merged`` are those of them with a survivor, ``tidied``
    those that only housekeeping touches. ``answered`` counts the rows that do not count because only a person's own answers retire or
    reword them.
    """

    per_table: Mapping[str, Radius]
    per_type: Mapping[str, Mapping[str, Radius]]
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()
    tidied: frozenset[str] = frozenset()
    answered: int = 0

    @property
    def passed(self) -> bool:
        """Return whether every table and type is within its cap."""
        return not self.beyond()

    @property
    def share(self) -> float:
        """Return the greatest share of a table's rows that are retired or reworded."""
        return max((r.share for r in self.per_table.values()), default=0.0)

    @property
    def retired(self) -> int:
        """Return how many rows of all tables are retired."""
        return sum(r.retired for r in self.per_table.values())

    @property
    def reworded(self) -> int:
        """Return how many rows of all tables are reworded."""
        return sum(r.reworded for r in self.per_table.values())

    @property
    def added(self) -> int:
        """Return how many rows of all tables are new or only gain words."""
        return sum(r.added for r in self.per_table.values())

    def beyond(self) -> list[tuple[str, str, Radius]]:
        """Return (table, type, radius) for each table or type beyond its cap; the type is empty for a whole table.

        Types of a table that is itself beyond its cap are left out.
        """
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
        """Return the form that plans store and show."""
        return {
            "share": self.share,
            "retired": self.retired,
            "reworded": self.reworded,
            "added": self.added,
            **({"answered": self.answered} if self.answered else {}),
            "per_table": {table: radius.to_json() for table, radius in self.per_table.items()},
            "per_type": {
                table: {name: radius.to_json() for name, radius in found.items()}
                for table, found in self.per_type.items()
            },
            "passed": self.passed,
        }

    def sentence(self) -> str:
        """Return sentences for an operator."""
        touched = {table: radius for table, radius in self.per_table.items() if radius.touched}
        message = ", ".join(
            f"{r.touched:,} of {r.live:,} {table.replace('_', ' ')} ({r.share:.1%}; {_allowed(r)} allowed)"
            for table, r in touched.items()
        )
        measured = (
            f"{counted(self.retired, 'row ends', 'rows end')} and {counted(self.reworded, 'row loses', 'rows lose')} words"
            f"{f': {message}' if message else ''}."
            if touched
            else "No row ends or loses words."
        )
        if self.added:
            measured += f" {_rows(self.added)} new or only {'gains' if self.added == 1 else 'gain'} words, which is not counted."
        if self.answered:
            measured += (
                f" {counted(self.answered, 'more row ends or loses words', 'more rows end or lose words')} by answers that a person gave "
                "one by one or for a checked group, which is not counted either."
            )
        if self.passed:
            return measured
        reasons = "; ".join(_excess(*group) for group in self.beyond()[:_NAMED])
        return (
            f"{measured} Beyond the cap: {reasons}. So much at once is either asked for, as where somebody has most of a small namespace "
            "forgotten, or a fault of what writes these rows: look which. Approving the plan needs force and a reason."
        )


_TIDY: Final = "duplicates and small talk"
"""The name of housekeeping for people: the items that permits mark with ``tidies``."""

_NAMED: Final = 5
_JUDGED: Final = 5
_SMALL_SHARE: Final = 0.5  # of a small table or type that the cap in rows reaches, so that no plan retires all of one
"""The number of rows from which a type has a separate cap."""


def _rows(count: int) -> str:
    return f"{counted(count, 'row is', 'rows are')}"


def _excess(table: str, name: str, radius: Radius) -> str:
    rows = f"{table.replace('_', ' ')}{f' of type {name[:40]}' if name else ''}"
    own, tokens = radius.touched - radius.tidied, radius.lost_tokens - radius.tidied_tokens
    beside = f" in addition to {_TIDY}" if radius.tidied else ""
    if own > radius.allowed:
        return f"{own:,} of {radius.live:,} {rows}{beside} ({radius.allowed:,} allowed)"
    if tokens > radius.allowed_tokens:
        return f"{tokens:,} of {radius.tokens:,} tokens of {rows}{beside} ({radius.allowed_tokens:,} allowed)"
    if radius.touched > max(radius.allowed, radius.allowed_in_all):
        return f"{radius.touched:,} of {radius.live:,} {rows} ({radius.allowed_in_all:,} allowed with {_TIDY})"
    return f"{radius.lost_tokens:,} of {radius.tokens:,} tokens of {rows} ({radius.allowed_tokens_in_all:,} allowed with {_TIDY})"


def _allowed(radius: Radius) -> str:
    if not radius.tidied:
        return f"{radius.allowed:,}"
    return f"{radius.allowed:,}, and {radius.allowed_in_all:,} with {_TIDY},"


def blast_radius(
    before: Snapshot,
    items: Sequence[Item],
    settings: Settings,
    permits: Permits,
    *,
    after: Snapshot | None = None,
    answered: frozenset[str] = frozenset(),
) -> BlastRadius:
    """Compare the live rows of ``before`` with those of ``after``, the result of ``items``.

    Rows that only items in ``answered`` (ids) touch do not count. Without ``after``, the result is simulated. A table or type with n rows
    may have ``blast_radius_share`` of them retired or reworded, or ``blast_radius_rows`` if that is more. The second rule never allows
    more than ``_SMALL_SHARE`` of them, rounded up.
    Types of fewer than five rows have no separate cap. Words are lost if the new text does not contain all words of the old text in their
    order. A new text that adds a negation also counts as reworded, because it may state the opposite. Cost: a pass over the columns of
    the tables that differ and over the lengths of all texts; only reworded rows are read in Python.
    """
    after = simulate(before, items) if after is None else after
    tidied = _touched_only(items, permits.tidies)
    exempt = _touched_only(items, lambda item: item.id in answered)
    left_out = 0
    per_table: dict[str, Radius] = {}
    per_type: dict[str, dict[str, Radius]] = {}
    rows: dict[str, dict[str, int]] = {}
    merged: set[str] = set()
    for table in TEXTS:
        change = _change(before, after, table, tidied)
        if exempt:
            change, count = _without(change, exempt)
            left_out += count
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
    return BlastRadius(per_table, per_type, rows, frozenset(merged), tidied, left_out)


def takes_words(old: str, new: str) -> bool:
    """Return whether a new wording counts as a rewording: it loses words or adds a negation."""
    return _lost([(old, new)]) is not None


def rooms(before: Snapshot, table: str, settings: Settings, *, tidied: bool) -> tuple[int, dict[str, int]]:
    """Return how many rows of a table a plan may retire or reword, and how many of each type.

    With ``tidied``, these are the caps that include housekeeping.
    """
    rows, _ = _live(before, table)
    live = Counter(pc.fill_null(rows[TYPES[table]], "").to_pylist())

    def most(count: int) -> int:
        radius = _capped(Radius(count), settings)
        return radius.allowed_in_all if tidied else radius.allowed

    return most(len(rows)), {name: most(n) if n >= _JUDGED else n for name, n in live.items()}


def _touched_only(items: Sequence[Item], is_mine: Callable[[Item], bool]) -> frozenset[str]:
    """Return the rows that only items for which ``is_mine`` holds touch."""
    mine: set[str] = set()
    others: set[str] = set()
    for item in items:
        touched = {w.cell.row for w in item.mutation.writes} | {d.row for d in item.mutation.deletes}
        (mine if is_mine(item) else others).update(touched)
    return frozenset(mine - others)


_SAME, _RETIRED, _REWORDED, _ADDED = range(4)


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """The comparison of the n ``rows`` that were live before with the state after.

    ``kept`` states what became of each row, ``tokens`` and ``lost`` its tokens and lost tokens. ``new`` is the number of new rows.
    ``merged`` marks retired rows with a survivor, ``tidied`` rows that only housekeeping touches.
    """

    rows: pa.Table
    kept: np.ndarray
    tokens: np.ndarray
    lost: np.ndarray
    merged: np.ndarray
    new: int
    tidied: np.ndarray


def _without(change: _Change, exempt: frozenset[str]) -> tuple[_Change, int]:
    """Return a comparison in which exempt rows count as unchanged, and how many of them are retired or reworded."""
    mine = pc.is_in(change.rows["id"], value_set=pa.array(sorted(exempt), pa.string())).to_numpy()
    touched = mine & ((change.kept == _RETIRED) | (change.kept == _REWORDED))
    kept, lost = np.where(touched, _SAME, change.kept), np.where(touched, 0, change.lost)
    return replace(change, kept=kept, lost=lost, merged=change.merged & ~touched), int(touched.sum())


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
    """Return the live rows of a table, and the columns of their words, never null."""
    known = snapshot.table(table).column_names
    switch = ("is_active",) if "is_active" in known else ()
    rows = searched_table(snapshot, table, ("id", TYPES.get(table, "id"), *TEXTS[table], *switch))
    if switch:
        rows = rows.filter(rows["is_active"])
    if table == "memories":
        return rows, [version_texts(snapshot, rows["current_version_id"])]
    return rows, [pc.fill_null(rows[column].cast(pa.large_string()), "") for column in TEXTS[table]]


def _lost(texts: Sequence[tuple[str, str]]) -> float | None:
    """Return the share of words of some texts that their new wordings lack, or None if nothing counts as lost.

    Nothing is lost if all words stay in order and no negation is added. Linear in the words.
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
    """Return the radius of each of ``count`` groups of rows; ``groups`` (n) holds the group number of each row."""

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
    small = min(settings.blast_radius_rows, ceil(_SMALL_SHARE * radius.live))
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


# The effect of a set of items on recall, size and statements, for a whole plan or for the part that is approved.
#
# Items of a plan commute, so any part of it can be applied alone, and that result is judged. If a probe fails, the items at fault are
# named: those whose rows recall no longer finds, and the operations behind most of the retired rows.

LIMITS: Final = (
    *("blast_radius_share", "blast_radius_rows", "blast_radius_housekeeping_share"),
    *("recall_floor", "embedding_model"),
)
"""Settings by which items are judged. They are stored with a plan, so that its parts are judged by the settings of its night."""

_NAMED_SUBSET: Final = 20
_SHORT: Final = 8


@dataclass(frozen=True, slots=True)
class Harm:
    """The effect of items on recall and how much they retire.

    ``leave_out`` are ids of items without which the rest passes both probes. It is empty if both passed, and if no nameable set of items
    would suffice.
    """

    recall: RecallProbe
    radius: BlastRadius
    leave_out: tuple[str, ...] = ()
    advice: str = ""

    def needs_force(self) -> tuple[str, ...]:
        """Return a sentence for each failed probe, and advice on what to do about it."""
        failed = [probe.sentence() for probe in (self.recall, self.radius) if not probe.passed]
        return (*failed[:-1], f"{failed[-1]} {self.advice}".strip()) if failed else ()


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of judging items separately: their ``harm``, and losses that the plan did not show (``undisclosed``)."""

    harm: Harm
    specifics: SpecificsProbe
    undisclosed: tuple[LostTerm, ...]

    def needs_force(self) -> tuple[str, ...]:
        """Return a sentence for each reason not to approve, without the lost values; empty if there is none."""
        if not self.undisclosed:
            return self.harm.needs_force()
        items = sorted({loss.item for loss in self.undisclosed})
        named = ", ".join(item[:_SHORT] for item in items[:_NAMED_SUBSET])
        return (
            *self.harm.needs_force(),
            f"{len(items):,} items would lose {len(self.undisclosed):,} values of which the plan does not tell, as items that keep "
            f"them are left out: {named}. Leave these out as well, or approve what keeps them.",
        )

    def to_json(self) -> dict[str, object]:
        """Return the form that an approval stores: only figures, because losses quote memory and approvals are kept forever."""
        shown = {"items": self.specifics.items, "terms": self.specifics.terms, "lost": len(self.specifics.lost)}
        return {
            "recall": self.harm.recall.to_json(),
            "blast_radius": self.harm.radius.to_json(),
            "specifics": {**shown, "undisclosed": len(self.undisclosed), "passed": not self.undisclosed},
        }


def prove_subset(
    before: Snapshot,
    items: Sequence[Item],
    settings: Settings,
    embed: Embed | None,
    permits: Permits,
    *,
    disclosed: frozenset[tuple[str, str]] = frozenset(),
    answered: frozenset[str] = frozenset(),
) -> Proof:
    """Judge ``items`` as if nothing else of their plan were applied.

    ``disclosed`` are (row, term) of losses that the plan shows. ``answered`` are items that a person answered: they do not count against
    the caps, and the recall probe does not look for rows that they end without a replacement. Cost: a simulation, the probes of specifics
    and blast radius, and the recall probe, which reads every searched text once. If a probe fails and the items at fault can be named,
    simulation, blast radius and recall run again without them. Some seconds for 100,000 rows.
    """
    after = simulate(before, items)
    specifics = specifics_probe(before, after, items)
    undisclosed = tuple(loss for loss in specifics.lost if (loss.row, loss.term) not in disclosed)
    return Proof(harm(before, after, items, settings, embed, permits, answered=answered), specifics, undisclosed)


def harm(
    before: Snapshot,
    after: Snapshot,
    items: Sequence[Item],
    settings: Settings,
    embed: Embed | None,
    permits: Permits,
    *,
    answered: frozenset[str] = frozenset(),
) -> Harm:
    """Measure recall and blast radius of ``items``, which make ``after``; if one fails, again without the items at fault."""
    baseline = Baseline(before, embed)
    recall = recall_probe(before, after, settings, embed, items, baseline, answered)
    release()
    radius = blast_radius(before, items, settings, permits, after=after, answered=answered)
    release()
    if recall.passed and radius.passed:
        return Harm(recall, radius)
    out = _nameable(items, at_fault(before, items, recall, radius))
    rest = [item for item in items if item.id not in out]
    if not out or not rest:
        return Harm(recall, radius)
    changed = simulate_anew(before, rest, after, items)
    release()
    if not (
        blast_radius(before, rest, settings, permits, after=changed, answered=answered).passed
        and recall_probe(before, changed, settings, embed, rest, baseline, answered).passed
    ):
        return Harm(recall, radius)
    return Harm(recall, radius, tuple(sorted(out)), _advice(items, out))


def at_fault(before: Snapshot, items: Sequence[Item], recall: RecallProbe, radius: BlastRadius) -> frozenset[str]:
    """Return ids of the items to leave out for both probes to pass, as far as their figures show.

    For recall, these are all items that touch a lost row. For a table or type beyond its cap, whole operations are left out, starting
    with those that touch most of its rows, until the rest is within the cap. Half an operation would only slip under the cap.
    """
    beyond = radius.beyond()
    rows = _items_by_row(items, {*recall.lost, *(row for table, _, _ in beyond for row in radius.rows[table])})
    found: set[str] = set()
    if not recall.passed:
        found |= {item for row in recall.lost for item in rows.get(row, ())}
    operations = {item.id: item.operation for item in items}
    for table, name, group in beyond:
        touched = radius.rows[table]
        if name:
            same = _of_type(before, table, name, touched)
            touched = {row: n for row, n in touched.items() if row in same and row not in radius.merged}
        by_operation: dict[str, set[str]] = defaultdict(set)
        for row in touched:
            for item in rows.get(row, ()):
                by_operation[operations[item]].add(row)
        left = {row: tokens for row, tokens in touched.items() if found.isdisjoint(rows.get(row, ()))}
        own = {row: tokens for row, tokens in left.items() if row not in radius.tidied}
        if len(own) > group.allowed or sum(own.values()) > group.allowed_tokens:  # housekeeping is not at fault
            left = own
            by_operation = defaultdict(
                set, {o: kept for o, all_ in by_operation.items() if (kept := all_ - radius.tidied)}
            )
            most, most_tokens = group.allowed, group.allowed_tokens
        else:
            most, most_tokens = group.allowed_in_all, group.allowed_tokens_in_all
        for operation in sorted(by_operation, key=lambda o: (-len(by_operation[o]), o)):
            if len(left) <= most and sum(left.values()) <= most_tokens:
                break
            left = {row: tokens for row, tokens in left.items() if row not in by_operation[operation]}
            found |= {i for row in by_operation[operation] for i in rows[row] if operations[i] == operation}
    return frozenset(found)


def _items_by_row(items: Sequence[Item], wanted: Collection[str]) -> Mapping[str, list[str]]:
    """Return row → the items that write, delete or insert it, for the ``wanted`` rows."""
    found: dict[str, list[str]] = defaultdict(list)
    for item in items:
        mutation = item.mutation
        touched = {write.cell.row for write in mutation.writes}
        touched.update(delete.row for delete in mutation.deletes)
        touched.update(insert.row or inserted_id(item.id, n) for n, insert in enumerate(mutation.inserts))
        for row in touched:
            if row in wanted:
                found[row].append(item.id)
    return found


def _of_type(snapshot: Snapshot, table: str, name: str, ids: Iterable[str]) -> frozenset[str]:
    rows = snapshot.table(table)
    rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string())))
    return frozenset(rows["id"].filter(pc.equal(pc.fill_null(rows[TYPES[table]], ""), name)).to_pylist())


def _nameable(items: Sequence[Item], out: frozenset[str]) -> frozenset[str]:
    """Return ``out``, extended to whole operations if the items are too many to be named one by one."""
    if len(_singly(items, out)) <= _NAMED_SUBSET:
        return out
    operations = {i.operation for i in items if i.id in out}
    return frozenset(i.id for i in items if i.operation in operations)


def _singly(items: Sequence[Item], out: frozenset[str]) -> list[str]:
    """Return the items of ``out`` whose operation partly stays or has no other item."""
    every, gone = (Counter(i.operation for i in some) for some in (items, [i for i in items if i.id in out]))
    return [i.id for i in items if i.id in out and (gone[i.operation] < every[i.operation] or every[i.operation] == 1)]


def _advice(items: Sequence[Item], out: frozenset[str]) -> str:
    """Return what to leave out as command-line arguments: ids, or names of operations that are left out completely."""
    singly = _singly(items, out)
    operations = sorted({i.operation for i in items if i.id in out and i.id not in {*singly}})
    those = counted(len(out), "item")
    return f"Without {those} the rest passes: add --without {','.join([*operations, *(i[:_SHORT] for i in singly)])}."


# Items that wait for another night: items that would take a plan beyond its caps, or would cost recall, and can be done later as well;
# and a page that reports what nights did, if the plan would do nothing else.
#
# Within housekeeping, merges of equal texts come before items that only leave recall, and the oldest memories come first. Housekeeping
# never displaces other items. Operations declare what is housekeeping (``slowwave.plans.permitted``).

_TABLE: Final = "memories"
"""The table whose rows housekeeping retires."""

_FULL: Final = "the plan is at its limit for memories"


@dataclass(frozen=True, slots=True)
class HeldOver:
    """Ids of the items that wait for another night, and their number by operation."""

    ids: frozenset[str] = frozenset()
    operations: tuple[tuple[str, int], ...] = ()
    why: str = _FULL

    def and_(self, more: HeldOver) -> HeldOver:
        """Return the union with the items of a further check."""
        counts = Counter(dict(self.operations)) + Counter(dict(more.operations))
        return HeldOver(self.ids | more.ids, tuple(sorted(counts.items())), self.why)

    def sentences(self) -> tuple[str, ...]:
        """Return sentences for an operator; empty if no item waits."""
        if not self.ids:
            return ()
        which = ", ".join(f"{n:,} of {operation}" for operation, n in self.operations)
        return (f"{counted(len(self.ids), 'item is', 'items are')} left for a later night ({which}): {self.why}.",)


def waiting(before: Snapshot, items: Sequence[Item], settings: Settings, permits: Permits) -> HeldOver:
    """Return which of ``items`` wait for another night so that the plan keeps within its caps.

    The items do not conflict with each other. First, items that are not housekeeping and may wait are left out, the least sure first,
    until the rest is within the cap; then housekeeping. The result does not depend on the order of ``items``. Linear in their writes, and
    a pass over three columns of the memories.
    """
    able = [item for item in items if item.mutation.table == _TABLE and permits.may_wait(item)]
    if not able:
        return HeldOver()
    rows = before.live(_TABLE)
    starts = pc.coalesce(rows["valid_from"], rows["recorded_at"]).cast(pa.int64())
    start = dict(zip(rows["id"].to_pylist(), starts.to_pylist(), strict=True))
    kind = dict(zip(rows["id"].to_pylist(), rows[TYPES[_TABLE]].to_pylist(), strict=True))

    gone = {i.id: {row for table, row in retired(i) if table == _TABLE and row in kind} for i in items}
    mine = {item.id for item in able}
    taken = {row for item in items if item.id not in mine for row in gone[item.id]}
    taken |= _reworded(before, [item for item in items if item.id not in mine]) & kind.keys()
    room = _Room.from_limits(taken, kind, *rooms(before, _TABLE, settings, tidied=False))
    rest = [item for item in able if not permits.tidies(item)]
    late = [item for item in sorted(rest, key=lambda i: (-i.probability, i.id)) if not room.takes(item, gone[item.id])]
    room = _Room.from_limits(room.taken, kind, *rooms(before, _TABLE, settings, tidied=True))

    def order(item: Item) -> tuple[bool, int, str]:
        return not item.mutation.absorb, min((start.get(row) or 0 for row in gone[item.id]), default=0), item.id

    late += [item for item in sorted(filter(permits.tidies, able), key=order) if not room.takes(item, gone[item.id])]
    return _of(late)


def harmful(items: Sequence[Item], leave_out: Collection[str], permits: Permits) -> HeldOver:
    """Return ``leave_out`` as waiting items if all of it is housekeeping, else nothing.

    Without these items, a plan passes its probes.
    """
    out = frozenset(leave_out)
    late = [item for item in items if item.id in out]
    return _of(late, "with them recall would find less than before") if all(map(permits.tidies, late)) else HeldOver()


def lone(items: Sequence[Item]) -> HeldOver:
    """Return the pages that report what nights did, if ``items`` are nothing else.

    If they did not wait, they would make a separate plan after every other plan.
    """
    late = [] if any(item.decision != Decision.FOLLOW for item in items) else items
    return _of(late, "it only lists what nights did, and is written with the next changes")


def unlisted(items: Sequence[Item]) -> HeldOver:
    """Return the pages that list a promotion which none of ``items`` makes, because it was left out of the plan."""
    pages = [item for item in items if item.mutation.kind == "render_page"]
    listed = {item.id: {g.row for g in item.mutation.guards if g.table == "promotions"} for item in pages}
    made = {inserted_id(item.id, n) for item in items if any(listed.values()) for n in _promotions(item)}
    return _of([item for item in pages if listed[item.id] - made], "a promotion that they list is not in the plan")


def _promotions(item: Item) -> list[int]:
    return [n for n, insert in enumerate(item.mutation.inserts) if insert.table == "promotions"]


def _of(late: Sequence[Item], why: str = _FULL) -> HeldOver:
    counts = Counter(item.operation for item in late)
    return HeldOver(frozenset(i.id for i in late), tuple(sorted(counts.items())), why)


def _reworded(before: Snapshot, items: Sequence[Item]) -> set[str]:
    """Return the memories whose words items replace, with some of the old words removed."""
    new = {i.mutation.rows[0].id: str(i.mutation.inserts[0].values.get("content", "")) for i in items if _words(i)}
    table = before.table(_TABLE)
    rows = table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(new), pa.string())))
    old = zip(rows["id"].to_pylist(), version_texts(before, rows["current_version_id"]).to_pylist(), strict=True)
    return {row for row, text in old if takes_words(text, new[row])}


def _words(item: Item) -> bool:
    mutation = item.mutation
    return (
        mutation.table == _TABLE
        and any(i.table == "memory_versions" for i in mutation.inserts)
        and len(mutation.rows) == 1
    )


@dataclass(slots=True)
class _Room:
    """The capacity that is left under a cap: rows already ``taken``, and how many more of the table and of each kind fit."""

    taken: set[str]
    kind: Mapping[str, str]
    whole: int
    each: Counter[str]

    @classmethod
    def from_limits(cls, taken: set[str], kind: Mapping[str, str], whole: int, each: Mapping[str, int]) -> _Room:
        left = Counter(each)
        left.subtract(Counter(kind[row] for row in taken))
        return cls(set(taken), kind, whole - len(taken), left)

    def takes(self, item: Item, rows: set[str]) -> bool:
        """Take the rows that an item retires if they fit; return whether they did.

        A merged row does not count against its kind.
        """
        new = rows - self.taken
        kinds = Counter[str]() if item.mutation.absorb else Counter(self.kind[row] for row in new)
        if new and (len(new) > self.whole or any(n > self.each[name] for name, n in kinds.items())):
            return False
        self.taken |= new
        self.whole -= len(new)
        self.each.subtract(kinds)
        return True
