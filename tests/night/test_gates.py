"""Gates: each by its name, the cheapest first, and a sentence that says what would open it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slowwave.night.night import run_night
from slowwave.night.status import LONGEST_WEEKLY_WAIT_DAYS, Closed, NightDue, due, gate
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_settings
from tests.dreamers import dead_run
from tests.memories import ago, ask, behind_triggers, remember

SLUG = "acme"


def new_memories(store: Store, first: int, count: int, **columns: Any) -> None:
    """Memories as an agent writes them, recorded now unless a column says otherwise."""
    rows = range(first, first + count)
    remember(
        store,
        SLUG,
        memories=[
            {"id": f"m{n}", "kind": "episodic", "current_version_id": f"v{n}", "session_id": f"s{n}", **columns}
            for n in rows
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": f"m{n}", "content": f"Note {n}."} for n in rows],
    )


def closed(store: Store, **how: bool) -> str:
    """The gate's name, or an empty string."""
    with store.connect("reader") as connection:
        settings = namespace_settings(connection, SLUG)
    found = gate(store, SLUG, settings, **how)
    assert found is None or (found.sentence.startswith(f"{SLUG} ") and found.sentence.endswith("."))
    return found.gate if found else ""


def change(store: Store, **settings: object) -> None:
    ask(store, "UPDATE memory.namespaces SET settings = settings || %s", json.dumps(settings))


def age_runs(store: Store, hours: float) -> None:
    behind_triggers(store, "UPDATE night.runs SET started_at = started_at - make_interval(secs => %s)", hours * 3600)


def test_the_first_night_needs_records_and_is_never_too_soon(store: Store) -> None:
    """Four memories are too few, five are enough (mnemo 2.3)."""
    new_memories(store, 0, 4)
    assert closed(store) == "too_few_new_records"
    new_memories(store, 4, 1)
    assert closed(store) == ""


def test_a_namespace_of_entities_and_facts_alone_has_nights(store: Store) -> None:
    """Not every agent writes memories: what a night works on counts."""
    remember(
        store,
        SLUG,
        entities=[{"id": f"e{n}", "entity_type": "tool", "name": f"T{n}"} for n in range(3)],
        memory_facts=[{"id": f"f{n}", "subject": "s", "predicate": "p", "object": str(n)} for n in range(2)],
    )
    assert closed(store) == ""


def test_the_gates_in_their_order(store: Store) -> None:
    """Each closes what the former let through: disabled, read-only, unchanged, too soon, too few."""
    new_memories(store, 0, 6)
    run_night(store, SLUG)
    assert closed(store) == "unchanged"
    assert closed(store, force=True) == "unchanged", "the same night once more helps nobody"
    new_memories(store, 6, 4)
    assert (closed(store), closed(store, force=True)) == ("too_soon", "")
    age_runs(store, 25)
    ask(store, "UPDATE memory.memories SET recorded_at = now() - interval '26 hours' WHERE session_id < 's6'")
    assert (closed(store), closed(store, force=True)) == ("too_few_new_records", "")
    new_memories(store, 10, 1)
    assert closed(store) == ""
    ask(store, "UPDATE memory.namespaces SET read_only = true")
    assert (closed(store), closed(store, force=True)) == ("read_only", "read_only")
    change(store, enabled=False)
    assert (closed(store), closed(store, force=True)) == ("disabled", "disabled")


def test_the_mode_always_knows_no_cadence(store: Store) -> None:
    """But what is unchanged stays unchanged, and what is switched off is off (mnemo 2.2)."""
    new_memories(store, 0, 1)
    change(store, reflection_mode="always")
    assert (closed(store), closed(store, weekly=True)) == ("", "")
    run_night(store, SLUG)
    assert closed(store) == "unchanged"
    new_memories(store, 1, 1)
    assert closed(store) == ""


def test_a_daily_schedule_is_not_held_back_by_the_minutes_that_a_night_takes_to_begin(store: Store) -> None:
    """The run of a tick at 03:00 begins at 03:00:40; the next tick is not a day later, and yet the next night."""
    new_memories(store, 0, 6)
    run_night(store, SLUG)
    new_memories(store, 6, 5)
    age_runs(store, 23.4)
    assert closed(store) == "too_soon"
    age_runs(store, 0.2)
    assert closed(store) == ""


def test_instants_are_compared_whatever_zone_a_session_of_the_database_speaks(store: Store) -> None:
    """mnemo compared text, and mixed offsets mis-ordered."""
    new_memories(store, 0, 6)
    run_night(store, SLUG)
    new_memories(store, 6, 5)
    database = store.owner.rsplit("/", 1)[1].partition("?")[0]
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        ask(store, f"ALTER DATABASE {database} SET timezone = '{zone}'")
        assert closed(store) == "too_soon"


def test_a_night_of_a_clock_that_was_wrong_holds_nothing_back(store: Store) -> None:
    """A run that began next year is no reason to wait until then; the last one before now counts."""
    new_memories(store, 0, 6)
    run_night(store, SLUG)
    age_runs(store, -24 * 365)
    new_memories(store, 6, 5)
    assert closed(store) == ""
    run_night(store, SLUG)
    new_memories(store, 11, 5)
    assert closed(store) == "too_soon"


def test_a_night_of_some_operations_or_of_another_instant_is_no_night(store: Store) -> None:
    """Nor is one that crashed; a whole one with a reason is."""
    new_memories(store, 0, 6)
    run_night(store, SLUG, ops="census")
    run_night(store, SLUG, now=ago(3))
    dead_run(store, SLUG, "plan", "crashed", 0)
    assert closed(store) == ""
    run = dead_run(store, SLUG, "plan", "completed", 0)
    ask(store, 'UPDATE night.runs SET parameters = \'{"reason": "said so"}\' WHERE id = %s', run)
    assert closed(store) == "too_soon"


def test_the_weekly_operations_need_sessions(store: Store) -> None:
    """Four sessions are too few, five are enough; whoever names none counts by days; after four weeks age is reason enough."""
    new_memories(store, 0, 8, session_id="one")
    assert due(store, SLUG, weekly=True) == NightDue(night=True, closed=_few(1))
    new_memories(store, 8, 3)
    assert due(store, SLUG, weekly=True) == NightDue(night=True, closed=_few(4))
    new_memories(store, 11, 1)
    assert due(store, SLUG, weekly=True) == NightDue(night=True, weekly=True)
    ask(store, "UPDATE memory.memories SET session_id = NULL")
    assert closed(store, weekly=True) == "too_few_sessions"
    ask(store, "UPDATE memory.memories SET recorded_at = now() - make_interval(days => floor(random() * 2)::int * 0 + ordinal) FROM "
        "(SELECT id, (row_number() OVER (ORDER BY id))::int AS ordinal FROM memory.memories) o WHERE o.id = memories.id")  # fmt: skip
    assert closed(store, weekly=True) == ""
    ask(store, "UPDATE memory.memories SET recorded_at = now()")
    ask(store, "UPDATE memory.namespaces SET recorded_at = now() - make_interval(days => %s)", LONGEST_WEEKLY_WAIT_DAYS)
    assert closed(store, weekly=True) == ""


def test_a_weekly_night_counts_from_the_last_weekly_night(store: Store) -> None:
    """The plain nights between them have not digested the sessions; an unchanged namespace still grows older."""
    new_memories(store, 0, 6)
    run_night(store, SLUG)
    age_runs(store, 25)
    assert (closed(store), closed(store, weekly=True)) == ("unchanged", "")
    ask(store, "UPDATE night.runs SET parameters = '{\"weekly\": true}'")
    ask(store, "UPDATE memory.memories SET recorded_at = now() - interval '2 days'")
    assert closed(store, weekly=True) == "too_few_sessions"
    assert due(store, SLUG, weekly=True).night is False


def test_a_budget_that_is_spent_closes_the_weekly_night_alone(store: Store) -> None:
    """Without a model there is nothing to spend on; the plain night goes on in either case."""
    new_memories(store, 0, 6)
    ask(
        store,
        "INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens) "
        "SELECT gen_random_uuid(), id, gen_random_uuid(), 'x', 'm', 700, 300 FROM memory.namespaces",
    )
    change(store, llm_max_tokens_per_namespace_per_day=1000)
    assert closed(store, weekly=True) == ""
    change(store, consolidation_model="m")
    assert (closed(store, weekly=True), closed(store)) == ("budget_spent", "")
    found = due(store, SLUG, weekly=True)
    assert (found.night, found.weekly) == (True, False)
    assert found.closed is not None
    assert "1,000 of 1,000 tokens" in found.closed.sentence


@pytest.mark.parametrize(("seconds", "expected"), [(1, "locked"), (10_000, "")])
def test_a_namespace_that_a_living_run_holds_is_locked(store: Store, seconds: float, expected: str) -> None:
    """One whose heart has stopped holds nothing."""
    new_memories(store, 0, 6)
    dead_run(store, SLUG, "apply", "applying", seconds)
    assert closed(store) == expected


def test_settings_that_are_not_valid_hold_nothing_back(store: Store) -> None:
    """The run is opened and ends with the sentence that names the setting."""
    remember(store, SLUG, {"gate_min_hours": "often"})
    assert due(store, SLUG) == NightDue(night=True)


def _few(sessions: int) -> Closed:
    few = f"{SLUG} has {sessions} new sessions since its last weekly night, and gate_min_sessions is 5."
    return Closed("too_few_sessions", few)
