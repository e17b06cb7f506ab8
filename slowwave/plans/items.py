"""Plan items (one decision of a planner each), their states, and the patterns that decide without a question."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from slowwave.changes.cells import (
    TOLD,
    VERSION,
    Cell,
    canonical_json,
    delete_json,
    guarded,
    quoted,
    rows_of,
    seen_json,
    value_json,
    write_json,
    written,
)
from slowwave.changes.mutation import Mutation
from slowwave.store.tables import VECTORS

# Patterns that may decide without a question, and the measurements that allow it.
#
# A planner calls ``decides_alone`` with its operation and the pattern that found the change. The pattern may decide only if its
# precision, measured on labelled texts that were not used to write it, has a 95 % lower bound of at least ``REQUIRED`` for its kind of
# change. Otherwise, or if the pattern is not in ``PATTERNS``, the planner makes a question (``review``) of the item. ``python -m
# benchmarks.decisions`` measures the patterns; docs/decisions.md shows the table.

Change = Literal["meaning", "merge", "date", "mechanical", "chosen"]
"""The kinds of changes.

Meaning: retires, ends, quarantines, shortens or replaces words. Merge: of entities, facts or equal texts. Date: writes a date next to its
phrase. Mechanical: follows from the rows and the limits of the settings alone, such as a reference to a row that does not exist. Chosen:
a person set for the namespace that such changes are decided.
"""

REQUIRED: Final[Mapping[Change, float]] = {
    "meaning": 0.99,
    "merge": 0.97,
    "date": 0.97,
    "mechanical": 0.0,
    "chosen": 0.0,
}
"""Kind of change → the lower bound of its precision from which a pattern decides alone; .99 takes 381 decisions without an error."""

_Z: Final = 1.959963984540054  # of a two-sided interval of 95 %


class Pattern(NamedTuple):
    """A pattern of an operation and its measurement.

    ``decisions`` were made on the held-out half of ``data``, of which ``errors`` were wrong. ``data`` of a mechanical or chosen pattern
    is the reason why it needs no measurement.
    """

    operation: str
    name: str
    change: Change
    decisions: int = 0
    errors: int = 0
    data: str = ""

    @property
    def lower_bound(self) -> float:
        """Return the lower end of the 95 % interval of the precision (Wilson 1927); 0 without a measurement."""
        return lower_bound(self.decisions, self.errors)

    @property
    def decides_alone(self) -> bool:
        """Return whether the measurement allows decisions without a question."""
        return self.lower_bound >= REQUIRED[self.change]


def lower_bound(decisions: int, errors: int) -> float:
    """Return the lower end of Wilson's 95 % interval of the share of right decisions; 0 if there are none."""
    if not decisions:
        return 0.0
    right = (decisions - errors) / decisions
    spread = _Z * math.sqrt(right * (1 - right) / decisions + _Z**2 / (4 * decisions**2))
    return (right + _Z**2 / (2 * decisions) - spread) / (1 + _Z**2 / decisions)


PATTERNS: Final[tuple[Pattern, ...]] = (
    # rows and limits of the settings alone
    Pattern(
        "archive_stale", "limits of the settings", "mechanical", data="age, reads and importance against set limits"
    ),
    Pattern(
        "canonical_pages", "generated page", "mechanical", data="replaces text that the operation generated itself"
    ),
    Pattern(
        "community_summaries", "generated summary", "mechanical", data="replaces its own summary; all members stay"
    ),
    Pattern("compile_pages", "generated page", "mechanical", data="replaces text that the operation generated itself"),
    Pattern(
        "decay_transition", "last stage over", "mechanical", data="the days of the stages are set; no word changes"
    ),
    Pattern(
        "decay_transition", "stage with the same text", "mechanical", data="only the stage changes, by the set days"
    ),
    Pattern(
        "deep_pass", "index", "mechanical", data="lines of the index, each borne out by the memory that it links to"
    ),
    Pattern(
        "digest_sessions", "generated page", "mechanical", data="replaces text that the operation generated itself"
    ),
    Pattern("gc_references", "dead reference", "mechanical", data="the row that it names does not exist"),
    Pattern("normalize_schema", "renamed type", "mechanical", data="the mapping of types is set"),
    Pattern(
        "promote_memories", "promotion revoked", "mechanical", data="the score against a set limit; the memory stays"
    ),
    Pattern("promote_pages", "generated page", "mechanical", data="replaces text that the operation generated itself"),
    Pattern("prune_edges", "weak edge without a source", "mechanical", data="a set limit, and no source of it is live"),
    Pattern("purge_expired", "expired row", "mechanical", data="retired for longer than the retention that is set"),
    # settings of a person
    Pattern(
        "dedupe_entities", "declared identity", "chosen", data="a person declared the properties that identify the type"
    ),
    Pattern("dedupe_entities", "two judges", "chosen", data="a person named two models as judges of doubtful pairs"),
    Pattern("resolve_conflicts", "policy of the namespace", "chosen", data="a person set the policy or the threshold"),
    # changes of meaning without a sufficient measurement
    Pattern(
        "archive_small_talk",
        "small talk alone",
        "meaning",
        33,
        17,
        "clinc150, kept-back half: three intents are small talk",
    ),
    Pattern("consolidate_clusters", "summary", "meaning"),
    Pattern(
        "decay_transition",
        "shorter text",
        "meaning",
        98,
        8,
        "compressed texts of the kept-back half, harm counted by benchmarks.shortening",
    ),
    Pattern("deep_pass", "new text", "meaning"),
    Pattern("deep_pass", "page", "meaning"),
    Pattern("deep_pass", "retired memory", "meaning"),
    Pattern("extract_claims", "claim that ends another", "meaning"),
    Pattern("supersede_facts", "predicate with one object", "meaning"),
    Pattern("dedupe_memories", "summary", "meaning"),
    Pattern("topic_memories", "summary", "meaning"),
    Pattern("weekly_reflections", "reflection", "meaning"),
    # merges
    Pattern(
        "dedupe_entities",
        "names and attributes",
        "merge",
        8499,
        1,
        "historical_people_25k and febrl1, kept-back halves: links",
    ),
    Pattern(
        "dedupe_facts",
        "equal words",
        "merge",
        892,
        0,
        "sentences of FEVER Symmetric and memorybank respelled, kept-back half",
    ),
    Pattern(
        "dedupe_memories",
        "equal texts",
        "merge",
        1598,
        2,
        "sentences of FEVER Symmetric and memorybank respelled, as facts and as events, kept-back half",
    ),
    Pattern("dedupe_memories", "equal words", "merge", 213, 7, "the same sentences respelled or mistyped"),
    Pattern("dedupe_memories", "event that says more", "merge", 82, 7, "the same sentences as events"),
    Pattern("dedupe_memories", "other wording", "merge"),
    Pattern("dedupe_memories", "part of another", "merge", 2, 2, "the same sentences respelled or mistyped"),
    Pattern(
        "normalize_schema",
        "one name after the rename",
        "merge",
        251,
        0,
        "both sets above: groups of one name without another attribute",
    ),
    # conflicts: benchmarks.decisions, kept-back half
    Pattern("mark_ended_statements", "mention", "meaning", 1, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: figures", "meaning", 2, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: news", "meaning", 8, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: over", "meaning", 8, 1, "changed_facts notes"),
    Pattern(
        "resolve_conflicts", "memories: texts", "meaning", 7, 0, "FEVER Symmetric, development set; changed_facts notes"
    ),
    # texts
    Pattern(
        "absolutize_dates",
        "counted from the day",
        "date",
        151,
        0,
        "duckling_en and memorybank, kept-back halves; unseen/dates*.toml",
    ),
    Pattern(
        "absolutize_dates",
        "nearest date",
        "date",
        68,
        1,
        "duckling_en and memorybank, kept-back halves; unseen/dates*.toml",
    ),
    Pattern("absolutize_dates", "counted from the day, replaced", "meaning", 151, 0, "as written next to the phrase"),
    Pattern("absolutize_dates", "nearest date, replaced", "meaning", 68, 1, "as written next to the phrase"),
    Pattern("redact_or_quarantine", "checksummed format", "mechanical", data="wrong in none of 9,346 harmless texts"),
    Pattern("redact_or_quarantine", "verified prefix", "mechanical", data="wrong in none of 9,346 harmless texts"),
    Pattern("redact_or_quarantine", "hidden characters", "mechanical", data="wrong in none of 9,346 harmless texts"),
)
"""Every pattern that may decide, with its measurement: one entry per operation and pattern."""

_BY_NAME: Final[Mapping[tuple[str, str], Pattern]] = {(p.operation, p.name): p for p in PATTERNS}


def decides_alone(operation: str, pattern: str) -> bool:
    """Return whether a pattern of an operation may change rows without a question; False for one that is not declared."""
    found = _BY_NAME.get((operation, pattern))
    return found is not None and found.decides_alone


def why_asked(operation: str, pattern: str) -> str:
    """Return the sentence that explains why a sure pattern asks; empty for one that decides alone."""
    found = _BY_NAME.get((operation, pattern))
    if found is not None and found.decides_alone:
        return ""
    if found is None or not found.decisions:
        return f"The rule “{pattern}” is not measured well enough to decide without you."
    return (
        f"The rule “{pattern}” was right in {found.decisions - found.errors:,} of {found.decisions:,} measured cases: too few to decide "
        "without you."
    )


# Items. An item is one decision of a planner, with its mutation, its evidence and an id computed from its content.
#
# The id covers operation, decision and mutation, and a mutation holds what the plan saw. The same proposal about unchanged rows therefore
# has the same id every night, and a proposal whose rows changed has another id.

_ITEMS: Final = uuid.UUID("6d0e8a3c-2c53-5a5e-9a51-0c6f4f3c9b11")

_SAYS: Final = frozenset(
    ("name", "entity_type", "attributes", "subject", "predicate", "object", VERSION)
)  # of a merged entity, fact or memory
_VERSION: Final = frozenset((VERSION,))


class Decision(StrEnum):
    """The change that an item makes if it is approved. An operation of another package may use another word.

    An item with ``REVIEW`` is a question: a person decides whether the change is made. ``FOLLOW`` only reports what other items did.
    """

    ACCEPT = "accept"
    ADVANCE = "advance"
    ARCHIVE = "archive"
    CLAIM = "claim"
    CLASSIFY = "classify"
    CLEAN = "clean"
    EMBED = "embed"
    END = "end"
    FOLLOW = "follow"
    FORGET = "forget"
    MERGE = "merge"
    PROMOTE = "promote"
    PRUNE = "prune"
    PURGE = "purge"
    QUARANTINE = "quarantine"
    RE_EMBED = "re_embed"
    REDACT = "redact"
    RENAME = "rename"
    RENDER = "render"
    REPLACE = "replace"
    RESOLVE = "resolve"
    RETIRE = "retire"
    REVIEW = "review"
    REVISE = "revise"
    REVOKE = "revoke"
    REWORD = "reword"
    REWRITE = "rewrite"
    SAY = "say"
    SHORTEN = "shorten"
    SUMMARISE = "summarise"
    SUPERSEDE = "supersede"
    SUPPORT = "support"
    TAG = "tag"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Sealed:
    """An item as its plan stores it, with mutation, evidence and sources as canonical JSON, which the plan's hash covers.

    ``id`` is the ``content_id`` of the other fields.
    """

    id: str
    operation: str
    decision: str
    risk: str
    tokens: int
    probability: float
    mutation: str
    evidence: str
    sources: str

    @property
    def is_question(self) -> bool:
        """Return whether a person is asked."""
        return self.decision == Decision.REVIEW

    def line(self) -> str:
        """Return the canonical JSON of the whole item (``Item.to_json``)."""
        return (
            f'{{"decision":{quoted(self.decision)},"evidence":{self.evidence},"id":"{self.id}",'
            f'"mutation":{self.mutation},"operation":{quoted(self.operation)},'
            f'"probability":{value_json(self.probability)},"risk":{quoted(self.risk)},'
            f'"sources":{self.sources},"tokens":{self.tokens}}}'
        )

    @property
    def item(self) -> Item:
        """Return a new ``Item`` on each access. Raises ``Refused`` for a mutation that its kind does not allow."""
        return Item(
            operation=self.operation,
            decision=self.decision,
            mutation=Mutation.from_json(json.loads(self.mutation)),
            evidence=json.loads(self.evidence),
            risk=self.risk,
            sources=tuple(map(str, json.loads(self.sources))),
            tokens=self.tokens,
            probability=self.probability,
            sealed_id=self.id,
        )


def content_id(operation: str, decision: str, mutation: str) -> str:
    """Return the id of an item by its content; ``mutation`` is its canonical JSON."""
    return str(uuid.uuid5(_ITEMS, f"[{quoted(operation)},{quoted(decision)},{mutation}]"))


@dataclass(frozen=True, slots=True)
class Item:
    """One proposal. ``decision`` is a ``Decision`` or another package's word; ``sources`` are the rows that it quotes.

    ``sealed_id`` is its id if that was already computed from this content, see ``Sealed``.
    """

    operation: str
    decision: str
    mutation: Mutation
    evidence: Mapping[str, object] = field(default_factory=dict)
    risk: str = "low"  # low, medium, high
    sources: tuple[str, ...] = ()
    tokens: int = 0
    probability: float = 1.0
    sealed_id: InitVar[str] = ""
    id: str = field(init=False, default="")
    _subject: str = field(init=False, default="", repr=False, compare=False)
    _canonical: str = field(init=False, default="", repr=False, compare=False)
    """The JSON of the mutation, from which the id was computed. It is kept because sealing and writing need the same text."""

    _evidence: str = field(init=False, default="", repr=False, compare=False)

    def __post_init__(self, sealed_id: str) -> None:
        if not sealed_id:
            object.__setattr__(self, "_canonical", self.mutation.canonical())
        id_ = sealed_id or content_id(self.operation, self.decision, self._canonical)
        object.__setattr__(self, "id", id_)

    @property
    def is_question(self) -> bool:
        """Return whether a person is asked."""
        return self.decision == Decision.REVIEW

    def writes(self) -> frozenset[Cell]:
        """Return the cells that no other item may write or guard."""
        m, there = self.mutation, self.mutation.physical
        own = written(m.writes, m.inserts, m.deletes, m.guards)
        return own | written(there.writes, (), there.deletes) if there else own

    def guards(self) -> frozenset[Cell]:
        """Return the cells that no other item may write."""
        m = self.mutation
        own = guarded(m.guards, m.writes, m.inserts, m.deletes)
        return own | guarded(m.physical.guards) | m.physical.stand_on() if m.physical else own

    def rows(self) -> set[tuple[str, str]]:
        """Return (table, row) of the cells that the item writes, guards, inserts or deletes."""
        m = self.mutation
        return rows_of(m.writes, m.guards, m.inserts, m.deletes)

    def subject(self) -> str:
        """Return the key under which a rejection remembers the item: a hash of its rows and what was seen of them.

        A merge is remembered by the names or texts of its members, not by provenance, which grows every day; a summary by its members,
        not by its words, which a model may choose anew; a page by its path and its input; claims by their subject and their text. A
        change that depends on a memory's text is remembered with the memory's version. A new version is remembered without its vector,
        which differs a little from night to night. Computed on first use and cached.
        """
        if not self._subject:
            object.__setattr__(self, "_subject", self._remembered_as())
        return self._subject

    def _remembered_as(self) -> str:
        if self.mutation.kind == "merge_rows":
            seen = self._named(_SAYS)
        elif self.mutation.kind == "insert_summary":
            seen = [value_json(members) for members in self.mutation.members()]
            if self.mutation.table == "memories":
                seen = self._named(_VERSION)
        elif self.mutation.kind == "render_page":
            seen = [f"[{value_json(w.value)}]" for w in self.mutation.writes if w.cell.column == "input_hash"]
            seen = seen or [
                f"[{value_json(i.values.get('path'))},{value_json(i.values.get('input_hash'))}]"
                for i in self.mutation.inserts
            ]
        elif self.mutation.kind in ("write_page", "forget_rows"):
            seen = [value_json(made) for made in self.mutation.made_from()]
        elif self.mutation.kind == "write_claims":
            seen = [value_json(key) for key in (*self.mutation.made_from(), *self.mutation.said())]
            seen += [write_json(w) for w in self.mutation.writes if w.cell.table == "memories"]
        else:
            reworded = self.mutation.kind == "new_version"
            writes = [w for w in self.mutation.writes if not (reworded and w.cell.table in VECTORS)]
            seen = [*map(write_json, writes), *map(delete_json, self.mutation.deletes)]
            if self.mutation.table == "memories":
                seen += self._named(_VERSION)
        about = value_json(self.mutation.row_ids()), value_json(tuple(sorted(seen)))
        canonical = f"[{quoted(self.operation)},{quoted(self.mutation.kind)},{','.join(about)}]"
        return hashlib.sha256(canonical.encode()).hexdigest()

    def _named(self, columns: frozenset[str]) -> list[str]:
        """Return the canonical JSON of the guarded cells of ``columns``; another memory's text counts as its version."""
        found: list[str] = []
        own = set(self.mutation.row_ids())
        for guard in self.mutation.guards:
            if columns.isdisjoint(guard.columns) and TOLD not in guard.columns:
                continue
            for column, seen in zip(guard.columns, guard.seen, strict=True):
                name = VERSION if column == TOLD else column
                if name in columns and (name == column or guard.row not in own):
                    found.append(seen_json(Cell(guard.table, guard.row, name, guard.key), seen))
        return found

    def to_json(self) -> dict[str, object]:
        """Return the form that is sealed, stored and shown; status and reason belong to the store."""
        return {
            "id": self.id,
            "operation": self.operation,
            "decision": self.decision,
            "risk": self.risk,
            "mutation": self.mutation.to_json(),
            "evidence": dict(self.evidence),
            "sources": list(self.sources),
            "probability": self.probability,
            "tokens": self.tokens,
        }

    def evidence_json(self) -> str:
        """Return the canonical JSON of the evidence, computed on first use and cached."""
        if not self._evidence:
            object.__setattr__(self, "_evidence", canonical_json(dict(self.evidence)))
        return self._evidence

    def sealed(self) -> Sealed:
        """Return the item as its plan stores it, built anew on each call."""
        return Sealed(
            id=self.id,
            operation=self.operation,
            decision=self.decision,
            risk=self.risk,
            tokens=self.tokens,
            probability=self.probability,
            mutation=self._canonical or self.mutation.canonical(),
            evidence=self.evidence_json(),
            sources=value_json(self.sources),
        )

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Item:
        """Build an item from the output of ``to_json``; the id is computed again from the content."""
        mutation, evidence, sources = value["mutation"], value["evidence"], value["sources"]
        if not isinstance(mutation, Mapping) or not isinstance(evidence, Mapping) or not isinstance(sources, list):
            raise TypeError("A plan item is not in the form that Item.to_json writes.")
        return cls(
            operation=str(value["operation"]),
            decision=str(value["decision"]),
            mutation=Mutation.from_json(mutation),
            evidence=dict(evidence),
            risk=str(value["risk"]),
            sources=tuple(str(s) for s in sources),
            tokens=int(str(value.get("tokens", 0))),
            probability=float(str(value.get("probability", 1.0))),
        )


def ask_unless_measured(item: Item, pattern: str) -> Item:
    """Return the item as a question, with the reason, unless its pattern may decide alone (``slowwave.plans.items``)."""
    if item.is_question or decides_alone(item.operation, pattern):
        return item
    evidence = {**item.evidence, "reason": why_asked(item.operation, pattern)}
    return replace(item, decision=Decision.REVIEW, risk="high", evidence=evidence)


# The operation of items that were proposed by agents or people. ``slowwave.wiki`` seals them.

OPERATION: Final = "proposed_changes"
