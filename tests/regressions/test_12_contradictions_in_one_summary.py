"""A night consolidated memories that contradict each other into one: a patient had hyperkalemia and hypokalemia in one summary, and a copy
of a memory whose conflict stood open in the ledger was summed up with what it contradicts.

Line 12: one memory consolidated from two that contradict each other.
"""

from __future__ import annotations

from itertools import combinations

from slowwave.operations import PLANNERS, Proposal
from tests.snapshots import make_inputs, make_snapshot, uid

consolidate_clusters = PLANNERS["consolidate_clusters"]

WARD = "Ray Falk is a patient on ward 7 of the Port Vale clinic and sees Dr Lind."
TEXTS = {
    "high": f"{WARD} His labs showed hyperkalemia this spring.",
    "low": f"{WARD} His labs showed hypokalemia this spring.",
    "bed": f"{WARD} His bed stands by the window.",
    "diet": f"{WARD} He eats no salt.",
}


def night(texts: dict[str, str], *, pinned: str = "", **tables: list[dict[str, object]]) -> Proposal:
    """The planner over memories of one vector, by name and text; a pinned one stays as it is."""
    snapshot = make_snapshot(
        memories=[
            {"id": uid(n), "external_id": n, "kind": "semantic", "subject": "Ray", "current_version_id": uid(f"v {n}")}
            | {"pinned": n == pinned}
            for n in texts
        ],
        memory_versions=[{"id": uid(f"v {n}"), "memory_id": uid(n), "content": t} for n, t in texts.items()],
        vectors={"memory_vectors": {uid(n): (1.0, 0.0) for n in texts}},
        **tables,
    )
    return consolidate_clusters(make_inputs(snapshot))


def together(found: Proposal) -> set[frozenset[str | None]]:
    """Pairs of memories that stand in one summary."""
    return {
        frozenset(pair)
        for item in found.items
        for pair in combinations(sorted(str(r.external_id) for r in item.mutation.rows), 2)
    }


def test_opposites_of_one_stem_stand_in_no_summary_together() -> None:
    """The cluster is split, the rest of it is summed up, and the report counts the pair."""
    found = night(TEXTS)
    assert together(found)
    assert frozenset(("high", "low")) not in together(found)
    numbers = found.report.numbers
    assert numbers["pairs that contradict each other"] + numbers["pairs that a rejection or conflict forbids"] == 1


def test_copies_of_what_is_in_conflict_are_in_conflict() -> None:
    """The ledger names one of two copies and the other behind it: that one meets the memory that they contradict no more than the first."""
    texts = {
        "near": f"{WARD} The bed stands by the window.",
        "copy": f"{WARD} The bed stands by the window!",
        "far": f"{WARD} His bed was carried to the attic for good.",
        "diet": TEXTS["diet"],
        "high": TEXTS["high"],
    }
    conflict = {
        "id": uid("conflict"),
        "table_name": "memories",
        "row_a_id": uid("far"),
        "row_b_id": uid("near"),
        "reason": "object",
        "evidence": {"also": {"b": [uid("copy")]}},
        "resolution": "detected",
    }
    assert frozenset(("copy", "far")) in together(night(texts, pinned="near"))
    kept = together(night(texts, pinned="near", conflicts=[conflict]))
    assert kept
    assert frozenset(("copy", "far")) not in kept


def test_a_summary_does_not_take_in_what_contradicts_its_sources() -> None:
    """Summaries count by what they say."""
    found = night({**TEXTS, "told": f"{WARD} His labs showed hypokalemia this spring. His bed stands by the window."})
    assert frozenset(("high", "told")) not in together(found)
