"""The ledger of conflicts on the real database: what a night writes, what a person rules, and what comes back."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from psycopg import errors

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.runs import Night, unchanged
from slowwave.night.undo import undo_run
from slowwave.plans.conflicts import StoredConflict, list_conflicts, resolve_conflict, write_conflicts
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.namespaces import namespace_id
from tests.memories import ago, remember
from tests.permitting import approve
from tests.snapshots import uid

OPS = "contradictions,resolve_conflicts"


def fact(name: str, object_: str, days: float, **more: Any) -> dict[str, Any]:
    row = {"id": name, "subject": "Mara", "predicate": "lives in", "object": object_, "valid_from": ago(days)}
    return {**row, "recorded_at": ago(days), **more}


def settle(store: Store, policy: str = "keep_newest", slug: str = "acme") -> str:
    """Two facts that cannot both be true."""
    facts = [fact("porto", "Porto", 90), fact("lisbon", "Lisbon", 10)]
    remember(store, slug, {"operations": {"resolve_conflicts": {"policy": policy}}}, memory_facts=facts)
    return slug


def sleep(store: Store, slug: str, ops: str | None = OPS) -> Night:
    return run_night(store, slug, ops=ops, force=True)


def only(store: Store, slug: str) -> StoredConflict:
    (conflict,) = list_conflicts(store, slug)
    return conflict


def side(conflict: StoredConflict, name: str) -> Any:
    return "a" if conflict.row_a_id == uid(name) else "b"


def test_a_night_writes_what_its_audit_found(store: Store) -> None:
    """Once, however many nights see it; with what both rows say, for whoever reads the list."""
    slug = settle(store)
    night = sleep(store, slug)
    conflict = only(store, slug)
    assert (conflict.table, conflict.reason, conflict.resolution) == ("memory_facts", "object", "detected")
    assert {conflict.row_a_id, conflict.row_b_id} == {uid("porto"), uid("lisbon")}
    assert {conflict.a, conflict.b} == {"Mara lives in Porto", "Mara lives in Lisbon"}
    with store.connect("reader") as connection:
        row = connection.execute("SELECT run_id::text, length(seen) FROM night.conflicts").fetchone()
    assert row == (night.run_id, 64)
    sleep(store, slug)
    assert only(store, slug).id == conflict.id


def test_a_night_without_the_audit_writes_nothing(store: Store) -> None:
    """Another operation knows nothing about conflicts, and must not close them."""
    slug = settle(store)
    sleep(store, slug, "gc_references")
    assert list_conflicts(store, slug) == []
    sleep(store, slug)
    sleep(store, slug, "gc_references")
    assert only(store, slug).resolution == "detected"


def test_apply_ends_a_conflict_and_undo_opens_it_again(store: Store) -> None:
    """Invalidated with winner and loser when a row is gone; detected again when both are back. The digest is that of before."""
    slug = settle(store)
    before = digest(store, slug)
    night = sleep(store, slug)
    assert night.plan is not None
    approval = approve(store, slug, night.plan.plan_hash, approver="me")
    result = apply_approval(store, approval.id)
    assert result.counts["applied"] == 1
    second = sleep(store, slug)
    assert (second.new_items, second.state) == (0, "empty")
    over = only(store, slug)
    assert (over.resolution, over.winner_id, over.loser_id) == ("invalidated", uid("lisbon"), uid("porto"))
    assert over.resolved_at is not None
    with pytest.raises(Refused, match="was over at the last night"):
        resolve_conflict(store, slug, over.id, verdict="a", by="mara")
    undo_run(store, result.run_id)
    assert digest(store, slug) == before
    sleep(store, slug)
    again = only(store, slug)
    assert (again.id, again.resolution, again.winner_id, again.resolved_by) == (over.id, "detected", None, None)


def test_a_human_verdict_survives_every_night(store: Store) -> None:
    """khora would overwrite it. The older row wins because somebody said so, and stays the winner when it is done."""
    slug = settle(store)
    sleep(store, slug)
    conflict = only(store, slug)
    ruled = resolve_conflict(
        store, slug, conflict.id[:8], verdict=side(conflict, "porto"), by="mara", note="I asked her."
    )
    assert (ruled.resolution, ruled.winner_id, ruled.resolved_by, ruled.note) == (
        "prefer",
        uid("porto"),
        "mara",
        "I asked her.",
    )
    assert unchanged(store, slug) is None, "a verdict is a reason for a night"
    night = sleep(store, slug)
    assert night.plan is not None
    (item,) = night.plan.items
    assert (item.decision, item.mutation.rows[0].id, item.risk) == ("resolve", uid("lisbon"), "low")
    apply_approval(store, approve(store, slug, night.plan.plan_hash, approver="me").id)
    assert sleep(store, slug).new_items == 0
    done = only(store, slug)
    assert replace(done, outcome=None) == replace(ruled, outcome=None)
    assert ruled.outcome is not None
    assert done.outcome is not None
    assert (ruled.outcome.proposed, done.outcome.proposed) == (True, False)
    assert {row.id for c in (ruled.outcome, done.outcome) for row in c.ends} == {uid("lisbon")}


def test_both_may_stand_and_nobody_is_asked_again(store: Store) -> None:
    """Until a row says something else: then it is another conflict, and open."""
    slug = settle(store)
    sleep(store, slug)
    resolve_conflict(store, slug, only(store, slug).id, verdict="both", by="mara")
    assert sleep(store, slug).new_items == 0
    assert only(store, slug).resolution == "kept"
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.memory_facts SET object = 'Faro' WHERE id = %s", (uid("porto"),))
    assert sleep(store, slug).new_items == 1
    reopened = only(store, slug)
    assert (reopened.resolution, reopened.resolved_by, reopened.note) == ("detected", None, "")


def test_rows_that_agree_after_all_are_kept(store: Store) -> None:
    """Somebody corrected one of them; when it is wrong again, the conflict is open again."""
    slug = settle(store, "manual")
    sleep(store, slug)
    for object_, resolution in (("Lisbon", "kept"), ("Porto", "detected")):
        with store.connect("owner") as connection:
            connection.execute("UPDATE memory.memory_facts SET object = %s WHERE id = %s", (object_, uid("porto")))
        sleep(store, slug)
        assert only(store, slug).resolution == resolution
    assert only(store, slug).note == ""


def test_what_else_is_in_the_table_is_left_alone(store: Store) -> None:
    """Conflicts of entities are somebody else's, and so are those of another namespace."""
    slug, other = settle(store), "other"
    remember(store, other)
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO night.conflicts (id, namespace_id, table_name, row_a_id, row_b_id, reason) VALUES "
            "(gen_random_uuid(), %s, 'entities', gen_random_uuid(), gen_random_uuid(), 'names'), "
            "(gen_random_uuid(), %s, 'memory_facts', gen_random_uuid(), gen_random_uuid(), 'number')",
            (uid(slug), uid(other)),
        )
    sleep(store, slug)
    assert {c.reason: c.resolution for c in list_conflicts(store, slug)} == {"names": "detected", "object": "detected"}
    assert only(store, other).resolution == "detected"


@pytest.mark.parametrize(
    ("conflict", "verdict", "by", "told"),
    [
        ("", "a", "mara", "is no conflict"),
        ("zzzz", "a", "mara", "is no conflict"),
        ("%", "a", "mara", "is no conflict"),
        ("", "neither", "mara", "a, b or both"),
        ("", "a", "x; DROP", "needs a name"),
        ("", "a", "judges:a+b", "needs a name"),
        ("", "a", "", "needs a name"),
    ],
)
def test_rulings_that_are_refused(store: Store, conflict: str, verdict: Any, by: str, told: str) -> None:
    """With a sentence that says what to do; nothing is written."""
    slug = settle(store)
    sleep(store, slug)
    with pytest.raises(Refused, match=told):
        resolve_conflict(store, slug, conflict, verdict=verdict, by=by)
    assert only(store, slug).resolution == "detected"


def test_a_conflict_of_another_namespace_cannot_be_ruled_on(store: Store) -> None:
    """By its id from somewhere else."""
    slug = settle(store)
    remember(store, "other")
    sleep(store, slug)
    with pytest.raises(Refused, match="is no conflict of other"):
        resolve_conflict(store, "other", only(store, slug).id, verdict="a", by="mara")


def test_only_the_approver_rules(store: Store) -> None:
    """Readers and appliers cannot; the approver cannot invent a conflict."""
    slug = settle(store)
    sleep(store, slug)
    for role in ("reader", "applier"):
        with store.connect(role) as connection, pytest.raises(errors.InsufficientPrivilege):
            connection.execute("UPDATE night.conflicts SET resolution = 'kept'")
    with store.connect("approver") as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute("UPDATE night.conflicts SET seen = ''")


def test_many_conflicts_are_few_statements(store: Store) -> None:
    """Set-based: no statement a pair."""
    facts = [
        {"id": f"{k}/{n}", "subject": f"Berth {k}", "predicate": f"takes at pump {k}", "object": f"{n + 4}0 tonnes"}
        for k in range(500)
        for n in range(2)
    ]
    remember(store, "many", {"operations": {"resolve_conflicts": {"policy": "manual"}}}, memory_facts=facts)
    sleep(store, "many")
    found = list_conflicts(store, "many")
    assert len(found) == 500
    assert {c.reason for c in found} == {"number"}
    sleep(store, "many")
    assert len(list_conflicts(store, "many")) == 500


def test_each_of_very_many_conflicts_is_looked_up_once(store: Store) -> None:
    """A store full of near copies has tens of thousands: comparing each with each takes minutes where this takes a fraction of a second."""
    facts = [{"id": f"{n}", "subject": f"Berth {n}", "predicate": "is", "object": "free"} for n in range(160)]
    remember(store, "many", memory_facts=facts)
    run_id = sleep(store, "many").run_id
    snapshot = export_snapshot(store, "many")
    ids = [uid(f"{n}") for n in range(160)]
    found = [
        {
            "conflict": {
                "table": "memory_facts",
                "row_a_id": a,
                "row_b_id": b,
                "seen": "",
                "reason": "number",
                "evidence": {},
            }
        }
        for a, b in combinations(sorted(ids), 2)
    ]
    with store.connect("planner") as connection, connection.transaction():
        scope = namespace_id(connection, "many")
        connection.execute("SET LOCAL statement_timeout = '8s'")
        assert write_conflicts(connection, scope, run_id, found, snapshot) == len(found)
        assert write_conflicts(connection, scope, run_id, found[1:], snapshot) == 1
