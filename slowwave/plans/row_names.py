"""What rows are called by people: an entity by its name, a relationship by what it ties, a memory or fact by what it says.

An item names its rows by id, and its evidence some of them in words. Where it does not, the words are read from memory, all of them at
once. They are untrusted, and pass ``quotable``; surfaces escape them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from slowwave.bindings.names import texts_of
from slowwave.errors import SlowwaveError
from slowwave.plans.diff import reworded_line
from slowwave.plans.items import Item
from slowwave.plans.outcome import find_outcome, seen_words
from slowwave.plans.writings import KINDS, about
from slowwave.store.connect import Connection
from slowwave.texts.quotation import quotable, quotable_all

LONGEST: Final = 300
"""Characters of a name. What a memory says is longer at times, and is shown whole where what it loses is told."""

_NAMES: Final = """
SELECT id::text, name FROM memory.entities WHERE id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT r.id::text, concat_ws(' ', s.name, r.relationship_type, t.name) FROM memory.relationships r
  JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id
  WHERE r.id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT id::text, fact_text FROM memory.memory_facts WHERE id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT m.id::text, v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
  WHERE m.id = ANY(%(ids)s::uuid[]) AND m.state <> 'quarantined' UNION ALL
SELECT id::text, coalesce(nullif(path, ''), title) FROM memory.documents WHERE id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT id::text, content FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
"""


def read_names(connection: Connection, ids: Collection[str], namespace_id: str) -> dict[str, str]:
    """Row → what it is called now: in one query, and another where the namespace is of a connected store and rows are left without a name.

    What is quarantined has no name, nor have rows of a store that cannot be read now.
    """
    if not ids:
        return {}
    rows = connection.execute(_NAMES, {"ids": sorted(ids)}).fetchall()
    if left := set(ids).difference(str(id_) for id_, _ in rows):
        with suppress(SlowwaveError):
            rows += texts_of(connection, namespace_id, left).items()
    names = quotable_all([str(name) for _, name in rows])
    return {str(id_): str(name)[:LONGEST] for (id_, _), name in zip(rows, names, strict=True) if name}


def named_rows(items: Iterable[Item]) -> set[str]:
    """The rows whose names tell what the items change: those that they are about, and those that they write."""
    found: set[str] = set()
    for item in items:
        found.update(item.mutation.row_ids())
        found.update(w.cell.row for w in item.mutation.writes)
        found.update(str(w.value) for w in item.mutation.writes if w.cell.column in POINTERS and w.value)
    return found


POINTERS: Final = frozenset(("superseded_by", "merged_into", "source_entity_id", "target_entity_id", "entity_id"))
"""Columns that name another row of memory."""


def own_names(item: Item, names: Mapping[str, str]) -> dict[str, str]:
    """Row of an item → its name: as the plan saw it where its evidence says so, else as it is called now, else its external id."""
    mutation = item.mutation
    rows = (mutation.keep, *mutation.absorb) if mutation.keep else mutation.rows
    found = {**names, **seen_words(item)}
    return found | {row.id: found.get(row.id) or row.external_id or f"{mutation.table} {row.id[:8]}" for row in rows}


def called(item: Item, names: Mapping[str, str], status: str = "") -> str:
    """Return an item in a line: which side stays and which ends where it has two, else its rows by their names.

    A text that is reworded is shown with the words that go and those that come. ``status`` is the item's, see ``outcome``.
    """
    mutation, evidence = item.mutation, item.evidence
    found = find_outcome(item, names, status)
    if mutation.kind in KINDS:
        return f"{about(mutation)}: {found.sentence()}" if found else about(mutation)
    if found:
        return found.sentence()
    if mutation.kind == "new_version" and (before := evidence.get("before")) and (after := evidence.get("after")):
        return reworded_line(*_quoted(before, after))
    own = own_names(item, names)
    if rows := [own[row.id] for row in mutation.rows]:
        return _few(rows)
    return " = ".join(_said(item)) or f"new {mutation.table}"


def _quoted(*texts: object) -> list[str]:
    return [str(quotable(str(text))) for text in texts]


def _few(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


def _said(item: Item) -> tuple[str, ...]:
    """The names that the planner gave, without secrets."""
    said: Any = item.evidence.get("names")
    return tuple(str(quotable(str(name))) for name in said) if isinstance(said, (list, tuple)) else ()
