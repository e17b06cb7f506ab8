"""Records: entries of structured files that say themselves what they are about, by a family or by a registered schema.

Only such entries become claims without a model: a family with a title and a summary, or one of four schemas of exports. Anything else that
a structured file holds is kept as evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, get_args

from slowwave.claims.subject_ref import Family
from slowwave.texts.frontmatter import UnreadableFile

AtomKind = Literal[
    "project_update", "decision", "person_fact", "concept_claim", "preference", "goal", "open_question", "followup",
    "timeline_event",
]  # fmt: skip
ATOM_KINDS: Final[tuple[AtomKind, ...]] = get_args(AtomKind)

SCHEMAS: Final[Mapping[str, Family]] = {
    "dory.project_export.v1": "project",
    "dory.person_export.v1": "person",
    "dory.decision_export.v1": "decision",
    "dory.concept_export.v1": "concept",
}
"""The registered schemas and the family of what each exports."""

_TYPED: Final[Mapping[str, Family]] = {
    "project": "project",
    "person": "person",
    "decision": "decision",
    "concept": "concept",
}
OF_FAMILY: Final[Mapping[Family, AtomKind]] = {
    "project": "project_update",
    "person": "person_fact",
    "decision": "decision",
    "concept": "concept_claim",
    "core": "person_fact",
}
"""What a plain statement about a subject of a family is."""

_LISTS: Final[Mapping[str, AtomKind | None]] = {
    "facts": None,  # of its family
    "claims": None,
    "updates": "project_update",
    "preferences": "preference",
    "goals": "goal",
    "decisions": "decision",
    "open_questions": "open_question",
    "followups": "followup",
    "open_work": "followup",
    "timeline": "timeline_event",
}
"""Lists of statements that a record may have, and what each holds."""

_TEXTS: Final[Mapping[str, AtomKind | None]] = {
    "summary": None,
    "current_state": "project_update",
    "decision": "decision",
    "rationale": "decision",
}
_DAYS: Final = ("date", "updated", "updated_at", "created", "created_at", "as_of")
LONGEST_STATEMENT: Final = 600


@dataclass(frozen=True, slots=True)
class RecordStatement:
    """One statement of a record; ``at`` is since when it holds, None where the record does not say."""

    kind: AtomKind
    text: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class TypedRecord:
    """What an entry says about one subject; ``line`` is where the file's entry begins, as far as that is known."""

    family: Family
    title: str
    aliases: tuple[str, ...]
    statements: tuple[RecordStatement, ...]
    schema: str = ""
    line: int = 1


def records_of(value: Any) -> list[TypedRecord]:
    """The typed entries of a JSON, YAML or TOML value: itself, or each of a list. Empty where there is none.

    Raises ``UnreadableFile`` for an entry that names a registered schema and does not keep to it.
    """
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in entries):
        return []
    found = [record for entry in entries if (record := _record(entry)) is not None]
    return found if len(found) == len(entries) else []


def _record(entry: Mapping[str, Any]) -> TypedRecord | None:
    schema = entry.get("schema")
    family: Family | None = SCHEMAS.get(schema) if isinstance(schema, str) else None
    if family is None and not isinstance(
        schema, str
    ):  # a schema that nobody registered is evidence, whatever else it says
        family = _TYPED.get(str(entry.get("family")))
    if family is None:
        return None
    title, summary = _text(entry.get("title") or entry.get("name")), _text(entry.get("summary"))
    if not title or not summary:
        if isinstance(schema, str):
            missing = "title" if not title else "summary"
            raise UnreadableFile(f"it says that it is a {schema} and has no {missing}", 1)
        return None
    day = next((at for name in _DAYS if (at := instant_of(entry.get(name))) is not None), None)
    statements = tuple(dict.fromkeys(_statements(entry, family, day)))
    return TypedRecord(
        family, title[:200], tuple(_words(entry.get("aliases"))), statements, schema if isinstance(schema, str) else ""
    )


def _statements(entry: Mapping[str, Any], family: Family, day: datetime | None) -> Iterator[RecordStatement]:
    for name, kind in _TEXTS.items():
        if text := _text(entry.get(name)):
            yield RecordStatement(kind or OF_FAMILY[family], text[:LONGEST_STATEMENT], day)
    for name, kind in _LISTS.items():
        for part in entry[name] if isinstance(entry.get(name), list) else ():
            told = part if isinstance(part, Mapping) else {"text": part}
            text = _text(told.get("text") or told.get("statement") or told.get("summary"))
            at = next((found for key in _DAYS if (found := instant_of(told.get(key))) is not None), day)
            if text:
                yield RecordStatement(kind or OF_FAMILY[family], text[:LONGEST_STATEMENT], at)


def instant_of(value: object) -> datetime | None:
    """A day or an instant as files write it, in UTC; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(found, datetime):
        return None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        return None


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _words(value: object) -> Sequence[str]:
    parts = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(text[:200] for part in parts if (text := _text(part))))[:20]
