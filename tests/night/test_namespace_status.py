"""How namespaces stand is what became of their plans, told by one query however many there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import Cursor

from slowwave.night.executor import apply_approval
from slowwave.night.status import NamespaceStatus, read_namespace_status, words
from slowwave.night.undo import undo_run
from slowwave.plans.states import latest_plan, run_states
from slowwave.store.connect import Store
from slowwave.store.logins import close_idle
from tests.memories import ask, remember
from tests.nights import new_world, write_a_plan
from tests.permitting import approve

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def standing(store: Store, slug: str) -> NamespaceStatus:
    with store.connect("reader") as connection:
        (one,) = read_namespace_status(connection, slug, NOW)
        assert one.plan_hash == (latest_plan(connection, slug) or "")
    return one


def became(store: Store, run: str) -> str:
    with store.connect("reader") as connection:
        return run_states(connection, [run]).get(run, "")


def test_a_namespace_from_its_plan_to_the_undo(store: Store) -> None:
    """Each step has its word, and the runs of history say the same."""
    world = new_world(store)
    assert standing(store, world.slug).word == "no night yet"
    _, plan = write_a_plan(store, world)
    ((night,),) = ask(store, "SELECT run_id::text FROM night.plans")
    one = standing(store, world.slug)
    assert (one.word, one.questions, one.to_approve) == ("needs a person", 1, len(plan.items) - 1)
    assert sum(one.operations.values()) == len(plan.items)
    first = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert (standing(store, world.slug).word, standing(store, world.slug).state) == (
        "approved, not applied",
        "partly_approved",
    )
    run = apply_approval(store, first.id).run_id
    assert (standing(store, world.slug).word, became(store, str(night))) == ("needs a person", "partly_applied")
    second = approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True)
    other = apply_approval(store, second.id).run_id
    one = standing(store, world.slug)
    assert (one.word, one.to_approve, one.questions) == ("applied", 0, 0)
    assert one.last_apply is not None
    undo_run(store, other)
    assert (standing(store, world.slug).word, became(store, other), became(store, run)) == (
        "partly undone",
        "undone",
        "",
    )
    undo_run(store, run)
    assert (standing(store, world.slug).word, became(store, str(night))) == ("undone", "undone")


def test_what_failed_and_what_is_under_way_is_said_first(store: Store) -> None:
    """A probe, a crashed night, a run at work, and one whose process is gone."""
    world = new_world(store)
    write_a_plan(store, world, needs_force=["Recall@10 fell by 0.2."])
    one = standing(store, world.slug)
    assert (one.word, one.failed) == ("probe failed", ("Recall@10 fell by 0.2.",))
    started = (
        "INSERT INTO night.runs (id, namespace_id, mode, state, heartbeat_at) "
        "VALUES (gen_random_uuid(), %s, %s, %s, now() - %s::interval)"
    )
    ask(store, started, world.namespace_id, "apply", "applying", "1 second")
    assert standing(store, world.slug).word == "applying"
    ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '1 day' WHERE mode = 'apply'")
    assert standing(store, world.slug).word == "apply stuck"
    ask(store, "UPDATE night.runs SET state = 'cancelled' WHERE mode = 'apply'")
    ask(store, started, world.namespace_id, "plan", "planning", "1 second")
    ask(store, "UPDATE night.runs SET state = 'crashed' WHERE state = 'planning'")
    assert standing(store, world.slug).word == "night failed"


def test_the_next_night_is_when_the_schedule_asks_or_what_keeps_it(store: Store) -> None:
    """03:00 UTC if something changed and the gates are open by then; else the word."""
    remember(store, "acme", memories=[{"id": "m", "kind": "episodic"}])
    assert standing(store, "acme").next_night == "after 4 more records"
    remember(store, "acme", memories=[{"id": f"m{n}", "kind": "episodic"} for n in range(5)])
    assert standing(store, "acme").next_night == datetime(2026, 11, 24, 3, tzinfo=UTC)
    night = (
        "INSERT INTO night.runs (id, namespace_id, mode, state, started_at, heartbeat_at, finished_at) "
        "SELECT gen_random_uuid(), id, 'plan', 'completed', %s::timestamptz, now(), %s::timestamptz FROM memory.namespaces "
        "WHERE slug = 'acme'"
    )
    ask(store, night, NOW - timedelta(hours=1), NOW - timedelta(hours=1))
    assert standing(store, "acme").next_night == datetime(2026, 11, 25, 3, tzinfo=UTC), "too soon after the last night"
    write_settings = "UPDATE memory.namespaces SET settings = settings || %s::jsonb WHERE slug = 'acme'"
    ask(store, write_settings, '{"enabled": false}')
    assert standing(store, "acme").next_night == "off"
    ask(store, write_settings, '{"enabled": true}')
    ask(store, "UPDATE memory.namespaces SET read_only = true")
    assert standing(store, "acme").next_night == "read-only"
    world = new_world(store)
    write_a_plan(store, world)
    ask(store, "DELETE FROM memory.changes WHERE recorded_at > now()")
    assert standing(store, world.slug).next_night == "unchanged"


def test_many_namespaces_are_one_query(store: Store) -> None:
    """And as many lines, by name; no more statements than for one."""
    for n in range(12):
        remember(store, f"space-{n:02}", memories=[])
    close_idle()
    with store.connect("reader") as connection:
        sent: list[str] = []

        class Counting(Cursor[Any]):
            def execute(self, query: Any, *rest: Any, **more: Any) -> Any:
                sent.append(str(query))
                return super().execute(query, *rest, **more)

        connection.cursor_factory = Counting
        found = read_namespace_status(connection)
        assert len(sent) == 1
    close_idle()
    assert [one.namespace for one in found] == [f"space-{n:02}" for n in range(12)]
    assert words(found) == {"no night yet": 12}
