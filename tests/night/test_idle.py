"""Items with nothing to do."""

from __future__ import annotations

from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import filter_references, set_columns
from slowwave.night.executor import already_so, changes_nothing, only_sets
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.snapshots import uid


def _states(store: Store, **states: str) -> list[Mutation]:
    snapshot = export_snapshot(store, "acme")
    made = set_columns(snapshot, "set_state", "memories", {uid(n): {"state": s} for n, s in states.items()})
    return sorted(made, key=lambda m: list(map(uid, states)).index(m.row_ids()[0]))


def test_only_an_item_that_sets_cells_can_have_nothing_to_do(store: Store) -> None:
    """Removing references is set as well; the value that the plan saw already is no change."""
    remember(
        store, "acme", memories=[{"id": name, "kind": "semantic", "source_chunk_ids": ["gone"]} for name in ("a", "b")]
    )
    change, none = _states(store, a="archived", b="active")
    assert (only_sets(change), changes_nothing(change)) == (True, False)
    assert (only_sets(none), changes_nothing(none)) == (True, True)
    (cleaned, _) = filter_references(export_snapshot(store, "acme"), "memories", [uid("a"), uid("b")])
    assert not changes_nothing(cleaned)


def test_what_somebody_did_meanwhile_is_already_so(store: Store) -> None:
    """Item by item, by the values in the database and within the namespace."""
    namespace = remember(store, "acme", memories=[{"id": name, "kind": "semantic"} for name in ("a", "b")])
    items = [Item("archive_stale", "archive", m) for m in _states(store, a="archived", b="archived")]
    sealed = seal(Header(namespace, "acme", "s", "f"), items, permits()).items
    ask(store, "UPDATE memory.memories SET state = 'archived' WHERE id = %s", uid("a"))
    with store.connect("applier") as connection, connection.transaction():
        found = already_so(connection, namespace, sealed)
        assert already_so(connection, namespace, ()) == frozenset()
    assert found == {i.id for i in sealed if i.mutation.row_ids() == (uid("a"),)}
