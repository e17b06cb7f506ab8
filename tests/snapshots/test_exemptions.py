"""One definition of what does not age."""

from __future__ import annotations

import pytest

from slowwave.snapshots.rows import EXEMPT, exemptions
from tests.snapshots import make_snapshot, uid

Row = dict[str, object]


def reasons(row: Row, text: str = "It rained.") -> list[str]:
    memory = {"id": uid("m"), "kind": "semantic", "current_version_id": uid("v"), **row}
    version = {"id": uid("v"), "memory_id": uid("m"), "content": text}
    snapshot = make_snapshot(memories=[memory], memory_versions=[version])
    found = exemptions(snapshot)
    assert tuple(found) == EXEMPT
    return [name for name, mask in found.items() if mask[0]]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"pinned": True, "ring": "shocks"}, "pinned"),
        ({"attributes": {"shock": True}, "kind": "procedural"}, "shock"),
        ({"ring": "procedural", "subject": "persona"}, "procedural"),
        ({"author": "memory_block"}, "instructions"),
        ({"subject": "Custom Instructions"}, "instructions"),
        ({"subject": "refund policy"}, "instructions"),
        ({"kind": "guidelines"}, "instructions"),
    ],
)
def test_the_first_reason_is_named(row: Row, reason: str) -> None:
    assert reasons(row) == [reason]


@pytest.mark.parametrize(
    "row", [{}, {"subject": "policy of the crown"}, {"attributes": {"shock": "true"}}, {"kind": "episodic"}]
)
def test_all_others_age(row: Row) -> None:
    assert reasons(row) == []


def test_the_text_of_rules_is_an_instruction_unless_another_reason_comes_first() -> None:
    rules = "1. Never guess.\n2. Always ask."
    assert reasons({}, rules) == ["instructions"]
    assert reasons({"kind": "procedures"}, rules) == ["procedural"]
