"""``normalize_schema``: types get the names to which the operator maps them; entities that become the same are merged.

The planner renames the types of live rows by the operator's mappings (khora 8.8), in one step and not transitively.

Type names are compared exactly, as ``schema_drift`` shows them. If an entity gets the folded name and type of another live one, it is
merged with that under the new type. After a rejected merge, in an unresolved conflict, or if the declared identities of the two differ,
it is only renamed, and one with differing attributes goes to review. Relationships are only renamed: parallel edges are folded when they
are read. Time: linear in live rows.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.merges import Merge, merge_rows, survivor_first
from slowwave.changes.rows import TYPES, rename_type
from slowwave.matching.identity import DIFFERENT, Identity
from slowwave.matching.names import fold_all
from slowwave.matching.options import DedupeEntitiesOptions
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import NormalizeSchemaOptions
from slowwave.operations.rejections import open_conflicts, rejected_pairs, rejected_subjects
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings

OPERATION: Final = "normalize_schema"

Side = Literal["entities", "relationships"]

_MEMBER: Final = ("name", "attributes", "mention_count", "pinned", "valid_from", "recorded_at")
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class _Merged:
    """Entities with one name and, once renamed, one type; ``differing`` are attributes in which they disagree."""

    ids: tuple[str, ...]
    entity_type: str
    names: tuple[str, ...]
    before: tuple[str, ...]
    differing: tuple[str, ...]


def normalize_schema(inputs: Inputs) -> Proposal:
    """Propose to rename types of live entities and relationships by the mappings in the settings, exactly as written."""
    snapshot, settings = inputs.snapshot, inputs.settings
    mappings = {side: mapping(settings, side) for side in TYPES}
    if not any(mappings.values()):
        headline = "Nothing to do: no mapping of types is set (SLOWWAVE_OPERATIONS__NORMALIZE_SCHEMA__MAPPING)."
        return Proposal((), Report(OPERATION, headline, {"items": 0}, skipped="insufficient_input"))
    entities, edges = (_renamed(snapshot, side, mappings[side]) for side in ("entities", "relationships"))
    identity = settings.options("dedupe_entities", DedupeEntitiesOptions).identity
    merges, apart = _merges(snapshot, mappings["entities"], entities, identity)
    # The rows of a rejected merge are renamed all the same, so the planner has to know which merges the night will leave out.
    refused = rejected_subjects(snapshot, OPERATION)
    items = [i for i in _merge_items(snapshot, merges) if not refused or i.subject() not in refused]
    merging = {id_ for item in items for id_ in item.mutation.row_ids()}
    items += _rename_items(snapshot, "entities", {i: t for i, t in entities.items() if i not in merging})
    items += _rename_items(snapshot, "relationships", edges)
    return Proposal(tuple(items), _report(snapshot, mappings, items, apart))


def mapping(settings: Settings, side: str) -> dict[str, str]:
    """Map old to new types of one side: the common mapping, overlaid by its own; identities and empty names are left out."""
    options = settings.options("normalize_schema", NormalizeSchemaOptions)
    own = options.entity_types if side == "entities" else options.relationship_types
    return {old: new for old, new in {**options.mapping, **own}.items() if new.strip() and old != new}


def _renamed(snapshot: Snapshot, side: Side, types: Mapping[str, str]) -> dict[str, str]:
    """Map each live row that gets a new type to that type."""
    live, column = snapshot.live(side), TYPES[side]
    found = live.filter(pc.is_in(live[column], value_set=pa.array(sorted(types), pa.string())))
    return {i: types[t] for i, t in zip(found["id"].to_pylist(), found[column].to_pylist(), strict=True)}


def _merges(
    snapshot: Snapshot, types: Mapping[str, str], renamed: Mapping[str, str], identity: Mapping[str, Sequence[str]]
) -> tuple[list[_Merged], list[_Merged]]:
    """Return the groups that become one entity, and those that stay separate.

    Rows that already have the same type are not merged here: ``dedupe_entities`` decides whether they are one.
    """
    live = snapshot.live("entities").select(["id", "entity_type", *_MEMBER])
    coming = live.filter(pc.is_in(live["entity_type"], value_set=pa.array([*types, *types.values()], pa.string())))
    keys = fold_all(coming["name"].combine_chunks()).to_pylist()
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for key, row in zip(keys, coming.to_pylist(), strict=True):
        groups[key, renamed.get(row["id"], row["entity_type"])].append(row)
    cannot_link = rejected_pairs(snapshot, "dedupe_entities") | open_conflicts(snapshot, "entities")
    merged: list[_Merged] = []
    apart: list[_Merged] = []
    for (key, entity_type), rows in sorted(groups.items()):
        if not key or len({r["entity_type"] for r in rows}) < 2:
            continue
        ids = survivor_first(rows)
        of = {r["id"]: r for r in rows}
        group = _Merged(
            tuple(ids),
            entity_type,
            tuple(str(of[i]["name"]) for i in ids),
            tuple(str(of[i]["entity_type"]) for i in ids),
            differing([json.loads(r["attributes"]) for r in rows]),
        )
        kept = not cannot_link.isdisjoint(combinations(sorted(ids), 2)) or _differ(rows, entity_type, identity)
        (apart if kept else merged).append(group)
    return merged, apart


def _differ(rows: Sequence[Mapping[str, Any]], entity_type: str, declared: Mapping[str, Sequence[str]]) -> bool:
    """Return whether two of the rows have a different declared identity under the new type."""
    read = Identity.from_rows([entity_type] * len(rows), [row["attributes"] for row in rows], declared)
    return read is not None and DIFFERENT in read.relation(*np.triu_indices(len(rows), 1))


def differing(attributes: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the attributes in which two rows have different values, apart from case and outer spaces."""
    said: dict[str, set[str]] = defaultdict(set)
    for row in attributes:
        for name, value in row.items():
            if value not in (None, "", [], {}):
                said[name].add(json.dumps(value, sort_keys=True).casefold().strip(' "'))
    return tuple(sorted(name for name, values in said.items() if len(values) > 1))


def _merge_items(snapshot: Snapshot, merges: Sequence[_Merged]) -> list[Item]:
    made = merge_rows(snapshot, [Merge(m.ids[0], m.ids[1:], entity_type=m.entity_type) for m in merges])
    items: list[Item] = []
    for merge, mutation in zip(merges, made, strict=True):
        evidence: dict[str, object] = {
            "names": [name for _, name in _in_order(merge)],
            "types_before": [before for before, _ in _in_order(merge)],
            "type_after": merge.entity_type,
        }
        if merge.differing:
            evidence["differing"] = list(merge.differing)
            evidence["reason"] = f"They would have one name and one type, but differ in {', '.join(merge.differing)}."
        else:
            evidence["reason"] = "After the rename they have one name and one type."
        review = bool(merge.differing)
        item = Item(
            OPERATION,
            Decision.REVIEW if review else Decision.MERGE,
            mutation,
            evidence,
            risk="high" if review else "medium",
        )
        items.append(ask_unless_measured(item, "one name after the rename"))
    return items


def _in_order(merge: _Merged) -> list[tuple[str, str]]:
    """Return type and name of each member in the order of the mutation, which sorts the rows that it absorbs."""
    keep, *absorbed = zip(merge.ids, merge.before, merge.names, strict=True)
    return [(before, name) for _, before, name in (keep, *sorted(absorbed))]


def _rename_items(snapshot: Snapshot, side: Side, types: Mapping[str, str]) -> list[Item]:
    return [
        ask_unless_measured(
            Item(
                OPERATION,
                Decision.RENAME,
                mutation,
                {"old_type": mutation.writes[0].seen, "new_type": mutation.writes[0].value},
                risk="medium",
            ),
            "renamed type",
        )
        for mutation in rename_type(snapshot, side, types)
    ]


def _report(
    snapshot: Snapshot, mappings: Mapping[str, Mapping[str, str]], items: Sequence[Item], apart: Sequence[_Merged]
) -> Report:
    renames = [i for i in items if i.decision == Decision.RENAME]
    merges = [i for i in items if i.decision == Decision.MERGE]
    reviews = sum(i.is_question for i in items)
    counts = {side: sum(i.mutation.table == side for i in renames) for side in TYPES}
    headline = (
        f"{counts['entities']:,} entities and {counts['relationships']:,} relationships would be renamed; "
        f"{sum(1 + len(i.mutation.absorb) for i in merges):,} entities would become {len(merges):,}."
    )
    numbers = {
        **{f"live {side}": snapshot.live(side).num_rows for side in TYPES},
        **{f"{side} types mapped": len(mappings[side]) for side in TYPES},
        **{f"{side} renamed": counts[side] for side in TYPES},
        "merges": len(merges),
        "merges for review": reviews,
        "kept apart": len(apart),
        "items": len(items),
    }
    return Report(
        OPERATION,
        headline,
        numbers,
        findings=(*_again(mappings), *_apart(apart)),
        table=tuple(_table(renames)),
        details={"mappings": {side: dict(m) for side, m in mappings.items()}},
    )


def _table(renames: Sequence[Item]) -> list[dict[str, object]]:
    """Return the ten most frequent renames."""
    counts = Counter((i.mutation.table, str(i.evidence["old_type"]), str(i.evidence["new_type"])) for i in renames)
    return [{"of": side, "from": old, "to": new, "rows": n} for (side, old, new), n in counts.most_common(10)]


def _again(mappings: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """Return findings about types that are both mapped and mapped to: their rows are renamed again the night after."""
    return [
        Finding(
            f"The {TYPES[side]} “{name}” is mapped to another and others are mapped to it: a rename is one step, so rows that get it "
            "tonight would be renamed again the night after. Take the mapping out once it is applied.",
            severity="warning",
            details={"table": side, "type": name},
        )
        for side, types in mappings.items()
        for name in sorted(set(types) & set(types.values()))
    ]


def _apart(groups: Sequence[_Merged]) -> list[Finding]:
    return [
        Finding(
            f"{len(g.ids)} entities would have the name “{g.names[0]}” and the type “{g.entity_type}”, and stay apart: a person rejected "
            "their merge, a conflict between them is open, or the values that the settings declare to identify the type differ.",
            rows=g.ids,
        )
        for g in groups[:_SHOWN]
    ]
