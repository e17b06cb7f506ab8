"""Describe the changes of many items at once, for a list that a person reads before approving them.

The titles and lines are those of ``slowwave plans diff``. They quote memory without secrets; surfaces escape them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.plans.diff import lost_lines, rewordings
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.row_changes import row_changes
from slowwave.plans.row_names import called, named_rows, read_names
from slowwave.plans.selection import heading_of
from slowwave.plans.writings import KINDS, cited, writing
from slowwave.store.connect import Store
from slowwave.texts.losses import losses
from slowwave.texts.quotation import quotable

_TEXTS: Final = """
SELECT id::text, content FROM memory.memory_versions WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, name FROM memory.entities WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, content FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, fact_text FROM memory.memory_facts WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, path FROM memory.documents WHERE id = ANY(%(ids)s::uuid[]) AND version_of IS NULL
"""


@dataclass(frozen=True, slots=True)
class ItemDiff:
    """One item as a list shows it. ``heading`` is the kind under which ``plans show`` lists it; ``lines`` are its changes."""

    id: str
    heading: str
    title: str
    lines: tuple[str, ...]


def item_diffs(store: Store, plan: StoredPlan, items: Sequence[StoredItem]) -> list[ItemDiff]:
    """Describe items of a plan, in the given order. At most three queries, as a reader; cost: linear in cells and texts."""
    found = [stored.item for stored in items]
    wanted = {v for item in found for r in rewordings(item) for v in (r.version, r.by) if v}
    wanted |= {id_ for stored, item in zip(items, found, strict=True) for id_ in cited(item.mutation, stored.status)}
    with store.connect("reader") as connection:
        rows = connection.execute(_TEXTS, {"ids": sorted(wanted)}).fetchall() if wanted else []
        names = read_names(connection, named_rows(found), plan.header.namespace_id)
    texts = {str(id_): str(text) for id_, text in rows}
    return [
        ItemDiff(stored.id, heading_of(stored), called(item, names), _lines(item, names, texts))
        for stored, item in zip(items, found, strict=True)
    ]


def _lines(item: Item, names: Mapping[str, str], texts: Mapping[str, str]) -> tuple[str, ...]:
    if item.mutation.kind in KINDS:
        return tuple(writing(item.mutation, texts))
    lines = list(row_changes(item, names).lines)
    for one in rewordings(item):
        if one.version in texts:
            after = texts.get(one.by, "") if one.by else one.text
            lines += lost_lines(losses(str(quotable(texts[one.version])), str(quotable(after))))
    return tuple(lines)
