"""What a mutation that writes claims may not do, by its cells alone: it makes claims and their subject, and ends or supports claims that
its guards hold; whatever else is a memory it leaves alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from slowwave.mutations.cells import CLAIMS, Value

if TYPE_CHECKING:
    from slowwave.mutations.mutation import Mutation

REF: Final = re.compile(r"(person|project|concept|decision|core):[a-z0-9][a-z0-9-]{0,119}")
"""What the reference of a subject may be."""

_EVENTS: Final = frozenset({"added", "supported", "replaced", "contradicted"})
_NEW: Final = frozenset({"memories", "entities"})


def _about(values: Mapping[str, Value]) -> str:
    """The entity that a claim is about; empty where it names none."""
    told = json.loads(str(values.get("attributes") or "{}"))
    return str(told.get("entity_id") or "") if isinstance(told, dict) else ""


def claim_fault(mutation: Mutation) -> str:
    """The first thing that it may not do, as a sentence; empty where there is none."""
    guards = {(g.table, g.row): dict(zip(g.columns, g.seen, strict=True)) for g in mutation.guards}
    held = {
        row
        for (table, row), seen in guards.items()
        if table == "memories" and seen.get("kind") == "claim" and seen.get("invalidated_at", "") is None
    }
    for write in mutation.writes:
        if write.cell.table == "memories" and write.cell.row not in held:
            return f"may not write memory {write.cell.row}, which it does not hold to be a claim that stands"
        if write.cell.column == "valid_to" and not isinstance(write.value, str):
            return f"may not open claim {write.cell.row} again"
    subjects = {i.row for i in mutation.inserts if i.table == "entities"}
    weighed = subjects | {row for (table, row), seen in guards.items() if table == "entities" and CLAIMS in seen}
    for insert in mutation.inserts:
        values = insert.values
        if insert.table in _NEW and (values.get("invalidated_at") is not None or values.get("state") != "active"):
            return f"may not make a retired row of {insert.table}"
        if insert.table == "memories" and values.get("kind") != "claim":
            return "may make no memory but claims"
        if insert.table == "memories" and _about(values) not in weighed:
            return f"may say nothing of entity {_about(values)[:64]}, of which it does not hold what is said already"
        if insert.table == "entities" and (
            not insert.row or values.get("source") != "semantic" or not REF.fullmatch(str(values.get("external_id")))
        ):
            return f"may not make a subject {str(values.get('external_id'))[:64]!r}"
        if insert.table == "entity_aliases" and values.get("entity_id") not in subjects:
            return "may name no subject but one that it makes"
        if insert.table == "entity_vectors" and insert.row not in subjects:
            return "may give no subject a vector but one that it makes"
        if insert.table == "memory_versions" and "memory_id" not in insert.refs:
            return "may give no memory a text but one that it makes"
        if insert.table == "memory_vectors" and "id" not in insert.refs:
            return "may give no memory a vector but one that it makes"
        if insert.table == "claim_events":
            named = {values.get(c) for c in ("claim_id", "other_id") if c not in insert.refs} - {None}
            if (
                values.get("event") not in _EVENTS
                or not named <= held
                or not {"claim_id"} <= values.keys() | insert.refs.keys()
            ):
                return "may note an event of no claim but those that it makes or holds"
    return ""
