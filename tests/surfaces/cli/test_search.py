"""``slowwave search`` asks what ``slowwave.Memory`` asks."""

from __future__ import annotations

import json

from slowwave.search.recall_events import logged
from slowwave.store.connect import Store
from tests.memories import remember
from tests.snapshots import uid
from tests.surfaces.cli.conftest import Run


def test_the_command_finds_and_shows(store: Store, run: Run) -> None:
    """As JSON and as a table; what cannot be asked is refused in words."""
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[{"id": "c", "document_id": "d", "content": "the harbour ledger"}],
    )
    code, out, _ = run("search", "acme", "ledgers", "--mode", "keyword", "--json")
    assert code == 0
    (result,) = json.loads(out)["results"]
    assert (result["id"], result["confidence"]) == (uid("c"), "high")
    code, out, _ = run("search", "acme", "ledger", "--mode", "bm25")
    assert (code, "harbour" in out) == (0, True)
    code, out, _ = run("search", "acme", "nothing", "--mode", "exact")
    assert (code, "Nothing in acme matches." in out) == (0, True)
    assert run("search", "acme", "ledger", "--mode", "fuzzy")[0] == 2
    assert run("search", "acme", "ledger", "--since", "someday")[0] == 2
    assert run("search", "nobody", "ledger", "--mode", "bm25")[0] == 2
    logged()
