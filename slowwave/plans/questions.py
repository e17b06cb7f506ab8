"""Questions to a person: their kind and sentence, and the conflicts between two rows that some are about."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from slowwave.changes.cells import canonical_json
from slowwave.changes.mutation import REDACTION, Mutation
from slowwave.plans.items import Item
from slowwave.text.figures import in_words

# Names of columns and of evidence as people read them. Sealed items and JSON keep the keys.

_PLAIN: Final[Mapping[str, str]] = {
    "ring": "term",
    "from_ring": "term before",
    "to_ring": "term after",
    "stage": "level of detail",
    "margin": "ratio of weights that decides alone",
    "lead": "difference of scores that decides alone",
}
"""Key → the words that say it, where its own name does not."""


def plain_name(key: str) -> str:
    """Return the name of a column or of a piece of evidence for people."""
    return _PLAIN.get(key, key.replace("_", " "))


# Conflicts. A conflict is two rows of one table that cannot both be true, the reason, and their texts when it was found.
#
# Rows with the same text are represented by one of them. The text of a row is its content without provenance, weights and times, so a
# verdict about two rows holds as long as their texts stay, whatever else changes.

Reason = Literal[
    "object", "number", "date", "time", "polarity", "low_similarity", "property_contradiction", "reversed", "done"
]
Table = Literal["relationships", "memory_facts", "memories"]

REASONS: Final[Mapping[str, str]] = {
    "object": "give different values where only one can be true",
    "number": "state different numbers",
    "date": "state different dates",
    "time": "state different times",
    "polarity": "deny each other, or use words that exclude each other",
    "low_similarity": "describe one thing in ways that have little in common",
    "property_contradiction": "have different values of one property",
    "reversed": "run both ways, though their type runs one way only",
    "done": "state a task and something that seems to close it",
}
"""Reason → what two rows do, in words."""

JUDGED: Final = "judged"
"""Rule of the pairs that models label and no other rule finds."""

WEAK_RULES: Final = frozenset(("frame", "role", "aligned", "denial", "preference", "closing", JUDGED))
"""Rules whose conflicts only a person decides, or a relation that the namespace names in ``newest_wins``."""

_PERHAPS: Final[Mapping[str, str]] = {
    "object": "give different values, and perhaps both are true",
    "polarity": "seem to exclude each other, and perhaps both are true",
}
"""The same for conflicts that a weak or doubtful rule found."""

_DECIDED: Final[Mapping[str, str]] = {"object": "give different values"}
"""The same for such conflicts after a policy or a person decided them."""

TASK_DONE: Final = "The later of the two seems to say that the task of the earlier one is done."
"""Why a task and a later statement are a question."""

NO_SIDE: Final = "though nothing says which of the two is later"
"""Clause of a proposal that takes a side without a reason; people are shown both sides instead."""

LATER_SIDES: Final = ("because it is true since ", "because it was recorded ")
"""Beginnings of the clause of a proposal in which the row that stays is the later one by its date."""

SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "relationships": ("source_entity_id", "target_entity_id", "relationship_type", "description", "properties"),
    "memory_facts": ("subject", "predicate", "object", "fact_text"),
    "memories": ("kind", "subject", "current_version_id"),
}
"""Table → the columns that make up the text of its rows."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict between rows ``a`` < ``b``.

    The texts of ``also_a`` and ``also_b`` equal those of ``a`` and ``b``. ``evidence`` is JSON; of memory it holds only predicates and
    property keys. ``seen`` is the SHA-256 of both texts; ``evidence["said"]`` has the hash of each. A conflict is ``doubtful`` if the
    rule that found it is wrong so often that only a person should decide it.
    """

    table: str
    a: str
    b: str
    reason: str
    seen: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    also_a: tuple[str, ...] = ()
    also_b: tuple[str, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Return whether only a person should decide the conflict."""
        return bool(self.evidence.get("doubtful"))

    @property
    def pattern(self) -> str:
        """Return the name under which its rule is measured (``slowwave.plans.items``), such as "memories: texts"."""
        rule = str(self.evidence.get("rule", ""))
        return f"{self.table}: {rule}"

    def to_json(self) -> dict[str, object]:
        """Return the form that findings hold under ``conflict``."""
        return {
            "table": self.table,
            "row_a_id": self.a,
            "row_b_id": self.b,
            "reason": self.reason,
            "evidence": {**self.evidence, **({"also": self.also()} if self.also_a or self.also_b else {})},
            "seen": self.seen,
        }

    def also(self) -> dict[str, list[str]]:
        """Return the rows with the same text as ``a`` and as ``b``."""
        return {"a": list(self.also_a), "b": list(self.also_b)}


def said_hash(table: str, row: Mapping[str, object]) -> str:
    """Return the SHA-256 of a row's text: its columns in ``SAID``."""
    return hashlib.sha256(canonical_json([table, *(row[c] for c in SAID[table])]).encode()).hexdigest()


def seen_hash(said: Sequence[str]) -> str:
    """Return the SHA-256 of the texts of several rows, in any order."""
    return hashlib.sha256(canonical_json(sorted(said)).encode()).hexdigest()


# Questions of review items: a code, by which questions are grouped, and one short sentence. Both are stored with the item.
#
# A person is asked whether rows are the same, whether a value may be lost, which of two sides is right, or whether something may be
# removed. The question whether rows are the same is asked only if that is in doubt: an item that a planner had decided, and that would
# lose a value, asks only about the value. The sentence names rows and lost values and quotes no other text of memory; secrets are
# redacted. Neither code nor sentence is part of an item's id or subject, by which rejections are matched.

SAME: Final[Mapping[str, str]] = {"memory_facts": "state the same", "memories": "state the same"}
"""Table → what merged rows have in common; rows of other tables are the same entity."""

_LONGEST: Final = 300
_TERMS: Final = 5

Code = Literal["same", "value_lost", "which_is_right", "done", "secret", "shorter", "delete", "change"]
"""The codes of questions, in this order: are the rows the same, may a value be lost, which of two sides is right, is a task done, does
something have to be kept from searches, is a shorter text good, may rows be removed, may anything else be changed. Items store "done" as
"which_is_right", see ``slowwave.plans.ledger.code_of``.
"""

CODES: Final[tuple[Code, ...]] = get_args(Code)

HEADINGS: Final[Mapping[str, str]] = {
    "same": "Same thing?",
    "value_lost": "May this value be lost?",
    "which_is_right": "Which is right?",
    "done": "Is this task done?",
    "secret": "Is this a secret, or an order to a model?",
    "shorter": "Is the new text good?",
    "delete": "May this go?",
    "change": "May this change?",
}
"""Code → the heading of its questions."""


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """The question that one review item asks."""

    code: Code
    sentence: str


Losses = Mapping[str, Sequence[tuple[str, str]]]
"""Item → (row, term) of what it would lose."""


def questions(items: Iterable[Item], lost: Losses, *, only: frozenset[str] = frozenset()) -> dict[str, ReviewQuestion]:
    """Return review item → question.

    The items in ``only`` were decided by the planner; their whole question is what they would lose.
    """
    return {i.id: question(i, lost.get(i.id, ()), only=i.id in only) for i in items if i.is_question}


def question(item: Item, lost: Sequence[tuple[str, str]] = (), *, only: bool = False) -> ReviewQuestion:
    """Return the question of one item, redacted, with a sentence of at most about 300 characters."""
    from slowwave.text.screening import redact  # its rules take a while to load

    loss = f"would lose {losses(item, lost)}" if lost else ""
    if loss and only:
        return ReviewQuestion("value_lost", redact(f"{loss[0].upper()}{loss[1:]}."))
    code, asked = _asked(item)
    asked = f"{asked} It {loss}." if loss else asked
    message = f"{asked} {doubt}" if (doubt := in_doubt(item)) else asked
    return ReviewQuestion(code, redact(message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"))


def split_question(sentence: str) -> tuple[str, str]:
    """Return the question that begins a stored sentence, and the rest; the question is empty if the sentence asks nothing.

    A question mark within a quotation ends no question.
    """
    for mark in re.finditer(r"\?(?=\s|$)", sentence):
        asked = sentence[: mark.end()]
        if asked.count("“") == asked.count("”"):
            return asked, sentence[mark.end() :].strip()
    return "", sentence


def asks_which(item: Item) -> bool:
    """Return whether an item is about two statements of which one ends."""
    evidence = item.evidence
    return "winner_id" in evidence or ("earlier" in evidence and "later" in evidence)


def is_about_task(item: Item) -> bool:
    """Return whether an item is about a task and a later statement that seems to close it; neither of them is wrong."""
    return item.evidence.get("reason") == "done"


def is_part_of_another(item: Item) -> bool:
    """Return whether a merge joins a text with a longer one that states it as well."""
    return item.evidence.get("pattern") == "part of another"


def reason_in_words(evidence: Mapping[str, object], *, decided: bool = False) -> str:
    """Return what the two rows of a conflict do, in words; empty if the evidence has no reason of a conflict.

    If a weak rule found a conflict that is ``decided``, the words do not doubt that the rows exclude each other.
    """
    reason, found = evidence.get("reason"), evidence.get("conflict")
    if not isinstance(reason, str):
        return ""
    is_weak = isinstance(found, Mapping) and (found.get("rule") in WEAK_RULES or found.get("doubtful"))
    return (is_weak and (_DECIDED if decided else _PERHAPS).get(reason)) or REASONS.get(reason, "")


def in_doubt(item: Item) -> str:
    """Return a sentence on why the planner was in doubt, or an empty string.

    The reason of a contradiction is a code, which is replaced by words.
    """
    reason = item.evidence.get("reason")
    if not isinstance(reason, str):
        return ""
    if is_about_task(item):
        return TASK_DONE
    words = reason_in_words(item.evidence, decided=not item.is_question) if "winner_id" in item.evidence else ""
    return f"They {words}." if words else reason


def losses(item: Item, lost: Sequence[tuple[str, str]]) -> str:
    """Return what would be lost, row by row, with the first few terms of each: "12.50 EUR and Tuesday of row 17"."""
    rows: dict[str, list[str]] = defaultdict(list)
    for row, term in lost:
        rows[row].append(term)
    parts: list[str] = []
    for row, terms in rows.items():
        parts.append(f"{_terms(terms)} of row {_named(item.mutation, row)}")
    return "; ".join(parts)


def _terms(terms: Sequence[str]) -> str:
    shown = sorted(terms)[:_TERMS]
    more = f" and {len(terms) - len(shown)} more" if len(terms) > len(shown) else ""
    return f"{', '.join(in_words(term)[:60] for term in shown)}{more}"


def _named(mutation: Mutation, id_: str) -> str:
    rows = (*mutation.rows, *mutation.absorb, *((mutation.keep,) if mutation.keep else ()))
    return next((row.external_id for row in rows if row.id == id_ and row.external_id), id_[:8])


def _asked(item: Item) -> tuple[Code, str]:
    mutation, evidence = item.mutation, item.evidence
    states = {w.value for w in mutation.writes if w.cell.column == "state"}
    if mutation.keep:
        return "same", f"Are these {_SAME_ASKED.get(mutation.table, 'rows one thing')}?"
    if asks_which(item):
        two = HEADINGS["done"] if is_about_task(item) else "Which of the two is right?"
        return "which_is_right", two if "winner_id" in evidence else "Has the later one replaced the earlier one?"
    if "unsupported" in evidence:
        rewords = mutation.kind == "new_version"
        return (
            ("change", "Should the memory take the words of its source?")
            if rewords
            else ("delete", "Should this memory end?")
        )
    if "ended" in evidence:
        return "change", "Should the sentence be marked with the later statement?"
    if mutation.deletes:
        return "delete", "May these rows be deleted?"
    if "quarantined" in states:
        return "secret", _asked_to_hide(item)
    if "archived" in states:
        return "change", "Should searches stop returning this? It stays stored."
    if mutation.kind == "write_claims":
        return "change", "May the new statement end the earlier one?"
    if any(i.values.get("reason") == REDACTION for i in mutation.inserts):
        return "secret", "Should the marked passages be removed? The rest of the text stays."
    gone = evidence.get("lost")  # a deep pass records what its text leaves out
    if isinstance(gone, Sequence) and not isinstance(gone, str) and gone:
        return "value_lost", f"The new text would lose {_terms([str(term) for term in gone])}. May it?"
    if "observations" in evidence:
        return "shorter", "May one memory with their number and days stand for these observations?"
    if mutation.kind in ("new_version", "insert_summary"):
        return "shorter", "Is the new text good?"
    if mutation.kind == "invalidate_rows":
        return "delete", "May this row go?"
    return "change", "May this be changed?"


def _asked_to_hide(item: Item) -> str:
    """Return the question for the kind of text that was found in a memory, a secret before others."""
    rules = item.evidence.get("rules")
    found = " ".join(map(str, rules)) if isinstance(rules, Sequence) and not isinstance(rules, str) else ""
    return next((asked for kind, asked in _FOUND_ASKED.items() if f"{kind} (" in found), _UNSAFE_ASKED)


_FOUND_ASKED: Final = {
    "secret": "Does this hold a secret, so that searches must not return it?",
    "injection": "Is this an order to a model, so that searches must not return it?",
    "hidden": "Does this hide text from people, so that searches must not return it?",
}
"""Kind of finding (``slowwave.text.findings``) → the question about a memory that holds one."""

_UNSAFE_ASKED: Final = "Is this unsafe, so that searches must not return it?"

_SAME_ASKED: Final = {"memory_facts": "facts the same", "memories": "memories the same"}
