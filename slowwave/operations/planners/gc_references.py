"""``gc_references``: provenance that names nothing is removed; the rest keeps its order.

The planner cleans every live row that the model ``dead_references`` lists with enough dead ids (khora 8.6, for every kind of row).
"""

from __future__ import annotations

from collections import defaultdict

from slowwave.changes.rows import as_ids, filter_references
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import GcReferencesOptions
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Report


def gc_references(inputs: Inputs) -> Proposal:
    """Propose to remove dead chunk and document ids from the provenance of live rows; every live id stays."""
    dead = inputs.models["dead_references"]
    least = inputs.settings.options("gc_references", GcReferencesOptions).min_dead
    names = ("table_name", "row_id", "dead_ids")
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for table, row, ids in zip(*(dead[n].to_pylist() for n in names), strict=True):
        found[table][row] += ids
    items: list[Item] = []
    for table, rows in sorted(found.items()):
        wanted = [row for row, ids in rows.items() if len(ids) >= least]
        for mutation in filter_references(inputs.snapshot, table, wanted):
            row = mutation.rows[0].id
            before = sum(len(as_ids(w.seen)) for w in mutation.writes)
            after = sum(len(as_ids(w.value)) for w in mutation.writes)
            evidence = {"dead": before - after, "before": before, "after": after, "first_dead": sorted(rows[row])[:5]}
            item = Item("gc_references", Decision.CLEAN, mutation, evidence)
            items.append(ask_unless_measured(item, "dead reference"))
    rows_with = sum(len(rows) for rows in found.values())
    looked = {t: inputs.snapshot.live(t).num_rows for t in ("entities", "relationships", "memories", "memory_facts")}
    headline = f"{len(items):,} of {sum(looked.values()):,} live rows would lose their dead references."
    return Proposal(
        tuple(items),
        Report(
            "gc_references",
            headline,
            numbers={
                **{f"{table} looked at": n for table, n in looked.items()},
                "rows with dead references": rows_with,
                "rows under the least number": rows_with - len(items),
                "dead references": sum(int(str(i.evidence["dead"])) for i in items),
                "items": len(items),
            },
        ),
    )
