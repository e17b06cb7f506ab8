"""The finding about an approval that could not be applied."""

from __future__ import annotations

from slowwave.plans.waiting import give_up
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.snapshots import uid


def test_it_is_written_once_for_an_approval(store: Store) -> None:
    """It says how often it was tried, and what to run; another approval gets its own."""
    namespace = remember(store, "acme")
    written = [give_up(store, uid(name), "acme", 3) for name in ("one", "one", "two")]
    assert written == [True, False, True]
    found = ask(store, "SELECT namespace_id::text, operation, severity, details, message FROM night.findings")
    assert [row[:3] for row in found] == [(namespace, "apply", "error")] * 2
    assert [row[3] for row in found] == [{"approval_id": uid(name)} for name in ("one", "two")]
    assert "3 attempts" in str(found[0][4])
    assert "`slowwave apply acme`" in str(found[0][4])


def test_a_namespace_that_is_gone_has_no_finding(store: Store) -> None:
    assert not give_up(store, uid("one"), "nowhere", 3)
