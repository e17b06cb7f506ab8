"""What people have decided about merges, as labelled pairs: they teach the weights of the next night.

A pair is labelled with its rows as the plan showed them, not as they are: a survivor has taken over what the absorbed row said,
and would agree with it in everything. Merges that a policy approved or rejected count like those of people: a night after them would
else learn from what is left alone, in which hardly anything matches, or everything does. Pairs of which the plan was in doubt are
answers besides: a person was asked about each, so they tell how far scores are to be believed, which a merge that was sure beforehand
does not. What must not come back belongs to ``slowwave.operations.planners.rejections``.
"""

from __future__ import annotations

import json
from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.matching.evidence import Labelled
from slowwave.snapshots.snapshot import Snapshot


def labelled_pairs(snapshot: Snapshot, operation: str) -> Labelled:
    """The decisions about the operation's merges. Of several about the same two rows the newest counts.

    Applied: every absorbed row is the same as the survivor. Rejected or undone: the two rows are not; of more than two nobody said
    which was the wrong one, so they teach nothing. A row's id is that of the item and its own, as it may have been seen twice.
    """
    table = snapshot.table("decisions")
    mine = table.filter(pc.equal(table["operation"], operation)).sort_by(
        [("recorded_at", "ascending"), ("id", "ascending")]
    )
    newest: dict[tuple[str, ...], tuple[str, str, str, bool, bool]] = {}
    rows: dict[str, dict[str, str]] = {}
    for item in mine.to_pylist():
        seen: dict[str, dict[str, str]] = defaultdict(dict)
        for row, column, value in json.loads(item["seen"]):
            seen[row][column] = value
        same, keep = item["status"] == "applied", str(item["keep_id"])
        others = sorted(seen.keys() - {keep})
        if keep not in seen or (len(others) > 1 and not same):
            continue
        for other in others:
            newest[tuple(sorted((keep, other)))] = (
                *(str(item["id"]), keep, other, same),
                item["decision"] == "review",
            )
        rows |= {f"{item['id']}/{row}": {"id": f"{item['id']}/{row}", **fields} for row, fields in seen.items()}
    pairs = sorted((f"{item}/{a}", f"{item}/{b}", same) for item, a, b, same, _ in newest.values())
    asked = frozenset((f"{item}/{a}", f"{item}/{b}") for item, a, b, _, doubt in newest.values() if doubt)
    used = sorted({id_ for a, b, _ in pairs for id_ in (a, b)})
    columns = ("id", "entity_type", "name", "attributes")
    return Labelled(
        pa.table({c: pa.array([rows[id_].get(c) for id_ in used], pa.string()) for c in columns}), tuple(pairs), asked
    )
