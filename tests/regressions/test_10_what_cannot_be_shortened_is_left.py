"""Line 10: a long list was told by the two or three items that fitted, and a text of one long sentence by its first clauses, which said
something else. What cannot be told well in so few words stays as it is: its stage goes on, and the night after plans nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

decay_transition = PLANNERS["decay_transition"]

STOCK = "In the cellar:\n" + "\n".join(f"- shelf {n}: {n * 3} jars of plums from {1990 + n}" for n in range(1, 90))
LOG = "| Day | Litres |\n| --- | --- |\n" + "\n".join(
    f"| 2024-{m:02}-{n:02} | {n * 11} |" for m in range(1, 5) for n in range(1, 29)
)
CLAUSES = (
    "The gate may be opened by the crew, "
    + "which is counted twice and written down by the watch, " * 40
    + "unless it is night."
)
LETTER = "```\n" + "\n".join(f"open {n}\nclose {n}" for n in range(200)) + "\n```"
DATA = '{"doors": [' + ", ".join(f'{{"number": {n}, "open": {str(n % 2 == 0).lower()}}}' for n in range(120)) + "]}"


@pytest.mark.parametrize("text", [STOCK, LOG, CLAUSES, LETTER, DATA], ids=["list", "table", "sentence", "code", "data"])
def test_it_stays_and_its_stages_pass(text: str) -> None:
    began = TAKEN_AT - timedelta(days=10)
    row = {
        "id": uid("m"),
        "kind": "semantic",
        "valid_from": began,
        "recorded_at": began,
        "current_version_id": uid("v"),
    }
    version = {"id": uid("v"), "memory_id": uid("m"), "content": text, "recorded_at": began}
    snapshot = make_snapshot(memories=[row], memory_versions=[version])
    for days in (0, 31, 122):
        snapshot = replace(snapshot, taken_at=TAKEN_AT + timedelta(days=days))
        found = decay_transition(make_inputs(snapshot))
        (item,) = found.items
        assert (item.decision, found.report.numbers["could not be shortened"]) == ("advance", 1)
        snapshot = simulate(snapshot, found.items)
        assert decay_transition(make_inputs(snapshot)).items == ()
    assert {v["content"] for v in snapshot.table("memory_versions").to_pylist()} == {text}
