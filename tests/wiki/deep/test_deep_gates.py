"""The gates of a deep pass, each by its name, in their order; what somebody asks for passes those of cadence alone (nexo 3.4, 3.7)."""

from __future__ import annotations

import json

from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_settings
from slowwave.wiki.deep.run import deep_gate, run_deep
from tests.memories import ago, ask, behind_triggers, remember
from tests.wiki.deep.players import script
from tests.wiki.deep.worlds import SLUG, entry, world


def closed(store: Store, *, force: bool = False) -> str:
    """The gate's name, or an empty string."""
    with store.connect("reader") as connection:
        settings = namespace_settings(connection, SLUG)
    found = deep_gate(store, SLUG, settings, force=force)
    assert found is None or (found.sentence.startswith(f"{SLUG} ") and found.sentence.endswith("."))
    return found.gate if found else ""


def option(store: Store, **values: object) -> None:
    for name, value in values.items():
        path = ["operations", "deep_pass", name]
        ask(store, "UPDATE memory.namespaces SET settings = jsonb_set(settings, %s, %s)", path, json.dumps(value))


def test_3_7_deep_each_gate_says_its_name_in_order(store: Store) -> None:
    """From all closed to all open; each closes what the former let through."""
    remember(store, SLUG, settings={"enabled": False, "operations": {"deep_pass": {}}})
    assert closed(store) == closed(store, force=True) == "disabled"
    ask(store, "UPDATE memory.namespaces SET settings = settings || '{\"enabled\": true}', read_only = true")
    assert (closed(store), closed(store, force=True)) == ("disabled", "no_model"), "off by default"
    option(store, enabled=True)
    assert closed(store) == "no_model"
    option(store, model="player")
    assert closed(store) == closed(store, force=True) == "read_only"
    ask(store, "UPDATE memory.namespaces SET read_only = false")
    assert closed(store) == closed(store, force=True) == "nothing_to_read"
    world(store, sessions=[f"Talk {n}." for n in range(4)])
    assert (closed(store), closed(store, force=True)) == ("too_few_sessions", "")
    option(store, min_sessions=4)
    assert closed(store) == ""


def test_3_7_deep_a_pass_that_came_to_its_end_holds_back_the_next(store: Store) -> None:
    """Hours, sessions that are new since, and a plan that nobody has decided."""
    world(store, sessions=[f"Talk {n}." for n in range(5)], enabled=True)
    assert closed(store) == ""
    with script() as (model, _):
        assert run_deep(store, SLUG, model=model).closed is None
    assert (closed(store), closed(store, force=True)) == ("too_soon", "")
    behind_triggers(store, "UPDATE night.runs SET started_at = started_at - interval '2 hours'")
    assert closed(store) == "too_soon"
    option(store, min_hours=1)
    assert closed(store) == "too_few_sessions"
    behind_triggers(store, "UPDATE night.runs SET started_at = started_at - interval '25 hours'")
    assert (closed(store), closed(store, force=True)) == ("too_few_sessions", "")
    ask(store, "UPDATE memory.documents SET recorded_at = now() - interval '1 hour' WHERE plane = 'sessions'")
    assert closed(store) == ""
    with script([("edit", {"file": "memories/ferry.md", "old": entry("pier again"), "new": ""})]) as (model, _):
        assert run_deep(store, SLUG, model=model).night is not None
    assert (closed(store), closed(store, force=True)) == ("undecided", "")


def test_3_4_deep_a_pass_that_failed_counts_as_tried_and_not_as_done(store: Store) -> None:
    """nexo keeps the stamp in a process, and winds the lock back by hand: here neither a restart nor a failure loses anything."""
    world(store, sessions=[f"Talk {n}." for n in range(5)], enabled=True)
    ask(
        store,
        "INSERT INTO night.runs (id, namespace_id, mode, state, started_at, finished_at) SELECT gen_random_uuid(), id, 'deep', 'crashed', "
        "now() - interval '5 minutes', now() FROM memory.namespaces",
    )
    assert (closed(store), closed(store, force=True)) == ("scanned", "")
    option(store, scan_minutes=1)
    assert closed(store) == ""
    option(store, scan_minutes=10)
    behind_triggers(store, "UPDATE night.runs SET started_at = now() - interval '11 minutes'")
    assert closed(store) == "", "the sessions before it are still new"


def test_deep_a_session_under_way_is_not_counted_yet(store: Store) -> None:
    """Sessions as pages, and those that memories name."""
    world(store, sessions=[f"Talk {n}." for n in range(3)], enabled=True)
    ask(
        store,
        'UPDATE memory.documents SET recorded_at = now(), metadata = \'{"frontmatter": {"status": "active"}}\' WHERE id = '
        "(SELECT min(id::text)::uuid FROM memory.documents WHERE plane = 'sessions')",
    )
    option(store, min_sessions=3)
    assert closed(store) == "too_few_sessions"
    remember(store, SLUG, memories=[{"id": "x", "kind": "episodic", "session_id": "s", "recorded_at": ago(1)}])
    assert closed(store) == ""


def test_deep_a_week_has_its_own_budget(store: Store) -> None:
    """Tokens of deep passes alone count, and those of the last seven days."""
    world(store, sessions=[f"Talk {n}." for n in range(5)], enabled=True, max_tokens_per_week=1_000)
    ask(
        store,
        "INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens, recorded_at) "
        "SELECT gen_random_uuid(), n.id, gen_random_uuid(), u.operation, 'm', 900, 100, now() - u.age FROM memory.namespaces n, "
        "(VALUES ('consolidate_clusters', interval '1 hour'), ('deep_pass', interval '8 days')) u (operation, age)",
    )
    assert closed(store) == ""
    ask(store, "UPDATE night.llm_usage SET recorded_at = now() WHERE operation = 'deep_pass'")
    assert closed(store) == closed(store, force=True) == "budget_spent"
