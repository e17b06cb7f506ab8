"""``backfill_tags``: memories get the concept tags of their text; existing tags are never removed.

The planner adds the concepts of subject and text to the tags of active memories (nexo 3.3).

With the scope ``promoted`` it covers the memories of the long-term ring, promoted ones, and those that would be promoted tonight; with
``all`` it covers every memory. A text that contains a secret gets no tags. The item depends on the subject, on the version from which it
was derived, and on the memory being active. Cost: a pass over the memories and two over each text in scope.

The planner adds tags and retires nothing, so it decides without a measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import Value
from slowwave.changes.rows import set_columns
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import BackfillTagsOptions
from slowwave.operations.planners.promote_memories import promote_memories
from slowwave.plans.items import Decision, Item
from slowwave.plans.report import Report
from slowwave.snapshots.memories import active_memories
from slowwave.text.concepts import concept, concept_tags

OPERATION: Final = "backfill_tags"
_LONG_TERM: Final = "longterm"


def backfill_tags(inputs: Inputs) -> Proposal:
    """Propose concept tags from subject and text for promoted memories, or for all; existing tags stay."""
    snapshot = inputs.snapshot
    memories = active_memories(snapshot)
    chosen = _in_scope(inputs, memories)
    numbers: dict[str, int | float] = {
        "active memories": len(memories),
        "in scope": len(chosen),
        "without text": 0,
        "nothing to add": 0,
        "tags that are no list": 0,
        "blocked by screening": 0,
    }
    values: dict[str, dict[str, Value]] = {}
    added: dict[str, list[str]] = {}
    columns = ("id", "subject", "text", "tags", "current_version_id", "state")
    for id_, subject, text, cell, version, state in zip(*(chosen[c].to_pylist() for c in columns), strict=True):
        own = _listed(cell)
        if not text:
            numbers["without text"] += 1
        elif own is None:
            numbers["tags that are no list"] += 1
        elif not (new := _missing(own, concept_tags(text, subject))):
            numbers["nothing to add"] += 1
        elif _holds_secret(f"{subject}\n{text}"):
            numbers["blocked by screening"] += 1
        else:
            tags = json.dumps([*own, *new], ensure_ascii=False)
            values[id_] = {"tags": tags, "subject": subject, "current_version_id": version, "state": state}
            added[id_] = new
    mutations = set_columns(snapshot, "set_attributes", "memories", values)
    items = [Item(OPERATION, Decision.TAG, m, {"added": added[m.rows[0].id]}) for m in mutations]
    numbers |= {"tags that would be added": sum(map(len, added.values())), "items": len(items)}
    headline = f"{len(items):,} of {len(chosen):,} memories in scope would get tags."
    return Proposal(tuple(items), Report(OPERATION, headline, numbers=numbers))


def _in_scope(inputs: Inputs, memories: pa.Table) -> pa.Table:
    if inputs.settings.options("backfill_tags", BackfillTagsOptions).scope == "all":
        return memories
    known = set(inputs.snapshot.live("promotions")["memory_id"].to_pylist())
    if inputs.settings.switch("promote_memories") is not False:  # so that the night after has nothing to tag
        tonight = (i for i in promote_memories(inputs).items if i.decision == Decision.PROMOTE)
        known.update(item.mutation.rows[0].id for item in tonight)
    promoted = pc.is_in(memories["id"], value_set=pa.array(sorted(known), pa.string()))
    return memories.filter(pc.or_(pc.equal(memories["ring"], _LONG_TERM), promoted))


def _listed(cell: str) -> list[object] | None:
    """Parse the tags of a memory; return None if the cell holds something else."""
    try:
        found: object = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return list(found) if isinstance(found, list) else None


def _holds_secret(text: str) -> bool:
    """Return whether a tag could contain a secret from the text, or a part of one that hidden characters split."""
    from slowwave.text.findings import hidden
    from slowwave.text.secrets import secrets  # its rules take a while to load

    return bool(secrets(text)) or (not text.isascii() and any(f.severity != "low" for f in hidden(text)))


def _missing(own: list[object], tags: tuple[str, ...]) -> list[str]:
    """Return the tags that are new; a tag that is present in another spelling is not new."""
    known = {tag.casefold() for tag in own if isinstance(tag, str)} | {concept(t) for t in own if isinstance(t, str)}
    return [tag for tag in tags if tag not in known]
