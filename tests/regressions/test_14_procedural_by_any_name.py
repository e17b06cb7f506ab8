"""Line 14: a memory of the ring ``procedural`` or the kind ``procedures`` never decayed and yet faded: two modules had two definitions of
what is procedural. There is one, for decay, for relevance and for archiving.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.operations import AUDITS, PLANNERS
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

archive_stale = PLANNERS["archive_stale"]
decay_transition = PLANNERS["decay_transition"]
relevance = AUDITS["relevance"]


@pytest.mark.parametrize("policy", ["stale", "natural_selection"])
@pytest.mark.parametrize("column", ["ring", "kind"])
@pytest.mark.parametrize("name", ["procedural", "procedures"])
def test_what_is_procedural_neither_decays_nor_fades(column: str, name: str, policy: str) -> None:
    began = TAKEN_AT - timedelta(days=400)
    row = {
        "id": uid("m"),
        "kind": "semantic",
        "valid_from": began,
        "recorded_at": began,
        "current_version_id": uid("v"),
    }
    version = {"id": uid("v"), "memory_id": uid("m"), "content": "Bleed the pump, then start it.", "recorded_at": began}
    snapshot = make_snapshot(
        settings={"operations": {"archive_stale": {"policy": policy}}},
        memories=[{**row, column: name}],
        memory_versions=[version],
    )
    inputs = make_inputs(snapshot)
    assert decay_transition(inputs).items == ()
    assert archive_stale(inputs).items == ()
    assert relevance(inputs).numbers["exempt as procedural"] == 1
