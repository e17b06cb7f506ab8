"""Which rules may decide without a question, and the measurements that allow it.

A planner asks ``decides_alone`` with its operation and the pattern that found the change. The answer is yes only if the precision of the
pattern, measured on labelled texts that were not used to write it, has a 95 % lower bound of at least ``REQUIRED`` for its kind of change.
Otherwise the planner makes a question (``review``) of it. A pattern that is not in ``PATTERNS`` asks. ``python -m benchmarks.decisions``
measures the patterns; docs/decisions.md shows the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Change = Literal["meaning", "merge", "date", "mechanical", "chosen"]
"""Meaning: retires, ends, quarantines, shortens or replaces words. Merge: of entities, facts or equal texts. Date: written next to its
phrase. Mechanical: follows from the rows and the limits of the settings alone, such as a reference to a row that does not exist. Chosen: a
person set for the namespace that such changes are decided."""

REQUIRED: Final[Mapping[Change, float]] = {
    "meaning": 0.99,
    "merge": 0.97,
    "date": 0.97,
    "mechanical": 0.0,
    "chosen": 0.0,
}
"""Kind of change → the lower bound of its precision from which a pattern decides alone: .99 takes 381 decisions without an error."""

_Z: Final = 1.959963984540054  # of a two-sided interval of 95 %


class Pattern(NamedTuple):
    """A pattern of an operation and its measurement: ``decisions`` on the kept-back half of ``data``, of which ``errors`` were wrong.

    ``data`` of a mechanical or chosen pattern is the reason why it needs no measurement.
    """

    operation: str
    name: str
    change: Change
    decisions: int = 0
    errors: int = 0
    data: str = ""

    @property
    def lower_bound(self) -> float:
        """The lower end of the 95 % interval of the precision (Wilson 1927); 0 without a measurement."""
        return lower_bound(self.decisions, self.errors)

    @property
    def decides_alone(self) -> bool:
        """Whether the measurement allows decisions without a question."""
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
    Pattern("topic_memories", "summary", "meaning"),
    # merges
    Pattern(
        "dedupe_entities",
        "names and attributes",
        "merge",
        8567,
        10,
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
    Pattern("dedupe_memories", "equal words", "merge", 214, 8, "the same sentences respelled or mistyped"),
    Pattern("dedupe_memories", "event that says more", "merge", 82, 7, "the same sentences as events"),
    Pattern(
        "normalize_schema",
        "one name after the rename",
        "merge",
        251,
        0,
        "both sets above: groups of one name without another attribute",
    ),
    # conflicts: benchmarks.decisions, kept-back half
    Pattern("mark_ended_statements", "another value", "meaning", 2, 0, "changed_facts notes"),
    Pattern("mark_ended_statements", "mention", "meaning", 6, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: description", "meaning", 4, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: figures", "meaning", 3, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: over", "meaning", 10, 1, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: relation lives in", "meaning", 1, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: relation works for", "meaning", 1, 0, "changed_facts notes"),
    Pattern(
        "resolve_conflicts", "memories: texts", "meaning", 3, 0, "FEVER Symmetric, development set; changed_facts notes"
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
"""Every pattern that may decide, with its measurement. One line per operation and pattern."""

_BY_NAME: Final[Mapping[tuple[str, str], Pattern]] = {(p.operation, p.name): p for p in PATTERNS}


def decides_alone(operation: str, pattern: str) -> bool:
    """Return whether a pattern of an operation may change rows without a question; False for one that is not declared."""
    found = _BY_NAME.get((operation, pattern))
    return found is not None and found.decides_alone


def why_asked(operation: str, pattern: str) -> str:
    """Return the sentence that tells an operator why a pattern asks although it is sure; empty for one that decides alone."""
    found = _BY_NAME.get((operation, pattern))
    if found is not None and found.decides_alone:
        return ""
    if found is None or not found.decisions:
        return f"The rule “{pattern}” is not measured well enough to decide without you."
    return (
        f"The rule “{pattern}” was right in {found.decisions - found.errors:,} of {found.decisions:,} measured cases; to decide without "
        f"you, the lower bound of its precision must be {REQUIRED[found.change]:.2f}, and it is {found.lower_bound:.3f}."
    )
