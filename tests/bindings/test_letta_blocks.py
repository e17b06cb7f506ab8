"""Memory blocks of Letta's server are audited where they lie, and nothing is ever written to them."""

from __future__ import annotations

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings.clients import KEY, digest_of, run_as_owner
from tests.bindings.letta import BLOCKS


def test_blocks_are_audited_and_never_written(store: Store) -> None:
    """A key and a "yesterday" are found; what Letta deleted is retired; writing is refused with the way there is."""
    run_as_owner(
        store,
        BLOCKS,
        "INSERT INTO block (id, organization_id, label, value, is_deleted) VALUES "
        "('block-1', 'org-1', 'human', 'Anna met Clara yesterday.', false), "
        "('block-2', 'org-1', 'human', 'Anna met Clara yesterday', false), "
        "('block-3', 'org-1', 'persona', 'Anna met Clara yesterday.', false), "
        f"('block-4', 'org-1', 'persona', 'The key is {KEY}', false), "
        "('block-5', 'org-1', 'persona', 'Gone', true)",
    )
    before = digest_of(store, "block")
    found = connect_store(store, "letta_blocks", grant=True)
    assert found.version == "letta 0.16"
    assert found.rows is not None
    assert (found.rows.rows, found.rows.retired) == (5, 1)
    (name,) = [n for n in namespaces(store) if n.startswith("letta-blocks-")]
    night = run_night(store, name)
    assert night.state == "empty"
    assert night.reports["safety_scan"].findings
    assert night.reports["relative_dates"].numbers["relative dates"] == 3
    assert night.proposals["absolutize_dates"].numbers["items"] == 3, "as it would propose"
    assert night.reports["neighbour_graph"].skipped == "no_vectors", "blocks have none"
    with pytest.raises(Refused, match="through Letta's API"):
        let_write(store, "letta_blocks", grant=True)
    assert digest_of(store, "block") == before
