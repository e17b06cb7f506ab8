"""Nights end to end on the demo: found against planted, applied, nothing left for a second night, and taken back."""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime

import pytest

from slowwave.errors import SettingsError
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.plan_page import page_of
from slowwave.night.runs import Night, unchanged
from slowwave.night.undo import undo_run
from slowwave.operations import AUDITS
from slowwave.plans.event_chain import verify_chain
from slowwave.plans.gate import reject
from slowwave.plans.ledger import read_plan
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.cli.demo import score_night
from slowwave.surfaces.demo import NAMESPACES
from tests.memories import ago, ask, behind_triggers, remember
from tests.nights import new_world
from tests.permitting import approve

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_demo_is_found_planned_applied_once_and_taken_back(demo: Store, namespace: str) -> None:
    """The whole promise, on three namespaces with an answer key; the pages that tell of a night follow the one after."""
    now = datetime.now(UTC)
    before = digest(demo, namespace)
    night = run_night(demo, namespace, now=now)
    _expect_found(night)
    assert night.plan is not None
    assert night.probes is not None
    assert night.probes.needs_force == ()
    assert night.new_items == len(night.plan.items) > 100
    told = {name: ID.findall(str(report.table)) for name, report in night.reports.items()}
    assert {name for name, ids in told.items() if ids} == set(), "the page of an audit tells rows by what they say"
    approval = approve(demo, namespace, night.plan.plan_hash, approver="me", include_review=True)
    result = apply_approval(demo, approval.id)
    late = len(night.plan.deferred)
    assert result.counts == {
        "applied": night.new_items,
        "skipped_stale": 0,
        "failed": 0,
        "deferred": late,
        "noop": 0,
    }
    second = run_night(demo, namespace, now=now)
    assert second.plan is not None
    deferred = {row for i in night.plan.deferred_items for row in i.mutation.row_ids()}
    pages = [
        i for i in second.plan.items if i.operation == "compile_pages"
    ]  # as of before the apply, nothing was promoted
    assert {row for i in second.plan.items if i not in pages for row in i.mutation.row_ids()} <= deferred
    if namespace == NAMESPACES[0]:  # the same code for all three, and a night of seconds
        later = run_night(demo, namespace)
        assert later.plan is not None
        assert {i.operation for i in later.plan.items} <= {"compile_pages", *(i.operation for i in second.plan.items)}
    assert undo_run(demo, result.run_id).items == approval.item_ids
    assert digest(demo, namespace) == before
    with demo.connect("reader") as connection:
        row = connection.execute("SELECT id::text FROM memory.namespaces WHERE slug = %s", (namespace,)).fetchone()
        assert verify_chain(connection, str(row[0]) if row else "") == (2 * night.new_items, None)


def _expect_found(night: Night) -> None:
    scores = {str(s["problem"]): s for s in score_night(night)}
    assert scores["merge traps"]["false"] == 0
    for problem in ("duplicates", "dead references", "orphans", "schema drift"):
        found, planted = scores[problem]["found"], scores[problem]["planted"]
        assert isinstance(found, int)
        assert isinstance(planted, int)
        assert found >= 0.95 * planted > 0, problem
        assert scores[problem]["false"] == 0, problem


def _contested(store: Store, namespace: str) -> set[str]:
    """Two new rows of one name and address, but of different sites: a question for a person."""
    ids = [str(uuid.uuid4()) for _ in range(2)]
    with store.connect("owner") as connection:
        donor = connection.execute(
            "SELECT v.id, e.namespace_id, e.entity_type FROM memory.entity_vectors v JOIN memory.entities e ON e.id = v.id "
            "JOIN memory.namespaces n ON n.id = e.namespace_id WHERE n.slug = %s ORDER BY v.id LIMIT 1",
            (namespace,),
        ).fetchone()
        assert donor is not None
        for id_, site in zip(ids, ("one", "two"), strict=True):
            attributes = json.dumps({"email": "tally@ledger.example", "url": f"https://ledger-{site}.example"})
            connection.execute(
                "INSERT INTO memory.entities (id, namespace_id, entity_type, name, attributes) VALUES (%s, %s, %s, %s, %s)",
                (id_, donor[1], donor[2], "Tally Ledger", attributes),
            )
            connection.execute(
                "INSERT INTO memory.entity_vectors (id, model, namespace_id, vector) "
                "SELECT %s, model, namespace_id, vector FROM memory.entity_vectors WHERE id = %s",
                (id_, donor[0]),
            )
    return set(ids)


def test_what_was_rejected_stays_away_until_its_rows_change(demo: Store) -> None:
    """A person says no to a merge and to a doubtful pair; a new night says nothing of them, until a name changes."""
    namespace = NAMESPACES[0]
    doubtful = _contested(demo, namespace)
    night = run_night(demo, namespace, ops="dedupe_entities")
    assert night.plan is not None
    merge = next(i for i in night.plan.items if i.operation == "dedupe_entities" and i.decision == "merge")
    review = next(i for i in night.plan.items if set(i.mutation.row_ids()) == doubtful)
    assert review.decision == "review"
    ids = [merge.id, review.id]
    reject(demo, namespace, night.plan.plan_hash, rejected_by="me", reason="two different things", items=ids)
    again = run_night(demo, namespace, ops="dedupe_entities")
    assert again.plan is not None
    assert {i.operation for i in again.plan.items} == {"dedupe_entities"}, "of others it says what it said"
    rows = set(merge.mutation.row_ids())
    for refused in (rows, doubtful):
        assert not any(refused <= set(i.mutation.row_ids()) for i in again.plan.items)
    with demo.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.entities SET description = description || ' Again.' WHERE id = ANY(%s::uuid[])",
            (list(rows),),
        )
    still = run_night(demo, namespace, ops="dedupe_entities")
    assert still.plan is not None
    assert not any(rows <= set(i.mutation.row_ids()) for i in still.plan.items), (
        "a description is not what the no was about"
    )


def test_a_night_with_an_impossible_setting_crashes_in_words_and_leaves_nothing(demo: Store) -> None:
    """The run says why; no plan is written; the next night with a good setting works."""
    namespace = NAMESPACES[0]
    with demo.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.namespaces SET settings = settings || '{\"recall_window_days\": 0}' WHERE slug = %s",
            (namespace,),
        )
    with pytest.raises(SettingsError, match="recall_window_days"):
        run_night(demo, namespace)
    with demo.connect("reader") as connection:
        assert connection.execute("SELECT state, error LIKE '%%recall_window_days%%' FROM night.runs").fetchall() == [
            ("crashed", True)
        ]
        assert connection.execute("SELECT count(*) FROM night.plans").fetchone() == (0,)
    assert unchanged(demo, NAMESPACES[1]) is None, "a namespace that never had a night is not unchanged"


def test_a_night_of_some_operations_is_no_whole_night(store: Store) -> None:
    """Whoever asked for the orphans alone has not looked at the rest: the next night runs, and knows the figures of the one before."""
    namespace = new_world(store).slug
    run_night(store, namespace)
    assert unchanged(store, namespace)
    assert not run_night(store, namespace, ops="orphans").skipped
    ask(store, "UPDATE memory.entities SET name = name || '.' RETURNING id")
    assert run_night(store, namespace, ops="orphans").plan is not None
    assert unchanged(store, namespace) is None
    whole = run_night(store, namespace)
    assert not whole.skipped
    assert "there is no earlier night" not in whole.reports["schema_drift"].headline


def test_a_night_of_audits_alone_seals_an_empty_plan_and_proves_nothing(store: Store) -> None:
    """There is no future to look at, so none is said to be harmless; a night in which a planner ran proves even an empty plan."""
    namespace = new_world(store).slug
    audited = run_night(store, namespace, ops=list(AUDITS))
    assert audited.probes is not None
    assert (audited.state, audited.probes.results, audited.probes.sentences) == ("empty", {}, ())
    assert "#### What was proven" not in page_of(audited, 7, "none").markdown()
    assert audited.plan is not None
    with store.connect("reader") as connection:
        assert read_plan(connection, audited.plan.plan_hash).probes == {}
    planned = run_night(store, namespace, ops="purge_expired")
    assert planned.probes is not None
    assert planned.state == "empty"
    assert {"recall", "convergence", "isolation"} < planned.probes.results.keys()


def test_a_night_as_of_an_instant_follows_it_and_can_be_repeated(store: Store) -> None:
    """Retention counts to that instant; the same instant is the same plan while it stands, and nothing when it is applied."""
    gone = {"recorded_at": ago(600), "invalidated_at": ago(400)}
    remember(store, "acme", memory_facts=[{"id": "f", "subject": "s", "predicate": "p", "object": "o", **gone}])

    def night(now: datetime) -> Night:
        return run_night(store, "acme", ops="purge_expired", now=now)

    assert night(ago(100)).new_items == 0, "300 days had passed then"
    first, again = night(ago(10)), night(ago(10))
    assert first.plan
    assert again.plan
    assert first.new_items == again.new_items == 1
    assert again.plan.plan_hash == first.plan.plan_hash != night(ago(9)).plan.plan_hash  # type: ignore[union-attr]
    assert ask(store, "SELECT count(*) FROM night.snapshots WHERE taken_at < now() - interval '1 day'") == [(0,)]
    third = night(ago(10))
    assert third.plan
    assert third.plan.plan_hash == first.plan.plan_hash, "plans of other instants stand beside it"
    reject(store, "acme", third.plan.plan_hash, rejected_by="me", reason="not yet")
    assert night(ago(10)).new_items == 0
    behind_triggers(store, "DELETE FROM night.rejections")
    fourth = night(ago(8))
    assert fourth.plan
    approval = approve(store, "acme", fourth.plan.plan_hash, approver="me")
    assert apply_approval(store, approval.id).counts["applied"] == 1
    empty = [night(ago(8)).plan for _ in range(2)]
    assert empty[0]
    assert empty[1]
    assert (empty[0].items, empty[0].plan_hash) == ((), empty[1].plan_hash)


def test_a_night_as_of_an_instant_is_never_unchanged_and_no_last_night(store: Store) -> None:
    """Nobody has looked at that instant before, and nobody has looked at today through it."""
    remember(store, "acme")
    run_night(store, "acme")
    assert run_night(store, "acme").skipped
    assert run_night(store, "acme", now=ago(-30)).skipped == ""
    ask(store, "INSERT INTO memory.documents (id, namespace_id) SELECT gen_random_uuid(), id FROM memory.namespaces")
    run_night(store, "acme", now=ago(-30))
    assert run_night(store, "acme").skipped == ""
    ((parameters,),) = ask(store, "SELECT DISTINCT parameters FROM night.runs WHERE parameters <> '{}'")
    assert parameters == {"now": ago(-30).isoformat()}
