"""The summary of a community told both halves of a contradiction that stood open in the ledger: that Anna reports to Bo, and that Bo
reports to Anna. Neither is told until somebody has decided.

Line 12: one memory consolidated from two that contradict each other; the same in the texts of communities.
"""

from __future__ import annotations

from itertools import combinations

from slowwave.operations import PLANNERS
from tests.snapshots import make_inputs, make_snapshot, uid

community_summaries = PLANNERS["community_summaries"]

PEOPLE = ("Anna Ruiz", "Bo Lind", "Elin Falk", "Mara Reyes", "Otto Beck")


def told(*, recorded: bool, resolved: bool = False) -> str:
    """What a night says of five colleagues, two of whom report to each other."""
    edges = [
        *((f"{a}-{b}", a, "WORKS_WITH", b, 1.0) for a, b in combinations(PEOPLE, 2) if (a, b) != PEOPLE[:2]),
        ("up", "Anna Ruiz", "REPORTS_TO", "Bo Lind", 1.5),
        ("down", "Bo Lind", "REPORTS_TO", "Anna Ruiz", 1.4),
    ]
    a, b = sorted((uid("up"), uid("down")))
    conflict = {
        "id": uid("conflict"),
        "table_name": "relationships",
        "row_a_id": a,
        "row_b_id": b,
        "reason": "reversed",
        "resolved_at": make_snapshot().taken_at if resolved else None,
    }
    snapshot = make_snapshot(
        entities=[{"id": uid(n), "name": n, "entity_type": "person"} for n in PEOPLE],
        relationships=[
            {
                "id": uid(name),
                "source_entity_id": uid(source),
                "target_entity_id": uid(target),
                "relationship_type": kind,
                "weight": weight,
            }
            for name, source, kind, target, weight in edges
        ],
        conflicts=[conflict] if recorded else [],
    )
    (item,) = community_summaries(make_inputs(snapshot)).items
    return str(item.evidence)


def test_neither_half_of_an_open_conflict_is_told() -> None:
    """What else ties the members is."""
    assert "reports to" in told(recorded=False)
    assert "reports to" not in told(recorded=True)
    assert "works with" in told(recorded=True)
    assert "reports to" in told(recorded=True, resolved=True)
