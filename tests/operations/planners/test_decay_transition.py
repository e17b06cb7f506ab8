"""``decay_transition``: stage by stage a memory is told shorter, each text a version, and at last it is archived."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from slowwave.changes.simulate import simulate
from slowwave.models.endpoint import Answer
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.proof import not_rejected
from slowwave.night.undo import undo_run
from slowwave.operations import PLANNERS, Proposal, permits, run_planner
from slowwave.plans.items import Item
from slowwave.plans.probes.texts import specifics_probe
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.text.tokens import count
from tests.memories import ago, ask, remember, unit
from tests.permitting import approve
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

archive_stale = PLANNERS["archive_stale"]
decay_transition = PLANNERS["decay_transition"]

pytestmark = pytest.mark.usefixtures("every_rule_decides")
"""Which patterns may decide is tested in ``tests/plans/test_decides_alone.py``."""

Row = dict[str, object]
HENS = "Rita Falk keeps 12 hens in Port Vale."
TALK = "The hens were in the yard and the sun was warm and all of them were quite happy there. "
LONG = f"{HENS} {TALK * 30}She does not sell eggs."
BUSY = " ".join(f"Crate {n} of Anna Lund weighs {n * 7} kg." for n in range(1, 60))


def memory(name: str, text: str = HENS, days: float = 8, **more: object) -> Row:
    began = TAKEN_AT - timedelta(days=days)
    row = {"id": uid(name), "external_id": name, "kind": "semantic", "valid_from": began, "recorded_at": began}
    return {**row, "current_version_id": uid(f"text of {name}"), "text": text, **more}


LOGGED: list[Row] = [{"query": "anything", "occurred_at": TAKEN_AT - timedelta(days=d)} for d in (400, 0)]
"""Recalls that found nothing: recalls are logged for longer than any memory of these tests is there."""


def world(*memories: Row, settings: Mapping[str, object] | None = None, **tables: list[Row]) -> Snapshot:
    return make_snapshot(
        settings=settings,
        memories=[{k: v for k, v in m.items() if k != "text"} for m in memories],
        memory_versions=[
            {
                **{"id": m["current_version_id"], "memory_id": m["id"], "content": m["text"]},
                "recorded_at": m["recorded_at"],
            }
            for m in memories
        ],
        vectors={"memory_vectors": {str(m["id"]): (1.0, 0.0) for m in memories}},
        **{**tables, "recall_events": [*tables.get("recall_events", ()), *LOGGED]},
    )


def plan(snapshot: Snapshot, **more: Any) -> Proposal:
    return decay_transition(replace(make_inputs(snapshot), **more))


def row_of(snapshot: Snapshot, name: str) -> dict[str, Any]:
    rows = active_memories(snapshot).to_pylist()
    return next(r for r in rows if r["id"] == uid(name))


def test_a_full_text_becomes_a_compressed_one_and_the_old_one_stays() -> None:
    """The new text fits its stage, is made of sentences of the old one, and is a version; a second night plans nothing."""
    assert count(LONG) > 500
    snapshot = world(memory("m", LONG))
    found = plan(snapshot)
    (item,) = found.items
    assert (item.decision, item.risk, item.evidence["drops"]) == ("shorten", "low", [])
    assert Item.from_json(item.to_json()) == item
    later = simulate(snapshot, found.items)
    row = row_of(later, "m")
    assert row["stage"] == "compressed"
    assert count(row["text"]) <= 250
    assert "12 hens" in row["text"]
    assert "does not sell eggs" in row["text"]
    versions = later.table("memory_versions").to_pylist()
    assert sorted((v["ordinal"], v["reason"], v["content"] == LONG) for v in versions) == [
        (1, "import", True),
        (2, "decay:compressed", False),
    ]
    assert specifics_probe(snapshot, later, found.items).passed
    assert plan(later).items == ()


def test_a_text_that_is_short_enough_stays_and_its_stage_begins_now() -> None:
    """So that years of age do not run through all stages in as many nights."""
    snapshot = world(memory("m", HENS, days=4_000))
    found = plan(snapshot)
    (item,) = found.items
    assert (item.decision, item.risk) == ("advance", "low")
    later = simulate(snapshot, found.items)
    assert (row_of(later, "m")["stage"], row_of(later, "m")["text"]) == ("compressed", HENS)
    assert plan(later).items == ()
    month = replace(later, taken_at=TAKEN_AT + timedelta(days=31))
    assert plan(month).report.numbers["compressed due"] == 1


def test_what_a_shorter_text_drops_is_said_and_goes_to_a_person() -> None:
    """Fifty-nine crates do not fit 50 tokens: the evidence names what is gone, and the plan's probe sends it to review."""
    snapshot = world(memory("m", BUSY, days=200, stage="summary"))
    found = plan(snapshot)
    (item,) = found.items
    assert (item.decision, item.risk) == ("shorten", "medium")
    assert "399 kg" in str(item.evidence["drops"]) or int(str(item.evidence["dropped"])) > 20
    assert found.report.numbers["that drop a specific"] == 1
    probe = specifics_probe(snapshot, simulate(snapshot, found.items), found.items)
    assert probe.items_losing() == {item.id}


def test_what_a_living_source_says_is_not_lost() -> None:
    """The chunk that the memory came from still tells all crates."""
    chunk = {"id": uid("k"), "content": BUSY}
    snapshot = world(memory("m", BUSY, days=200, stage="summary", source_chunk_ids=[uid("k")]), chunks=[chunk])
    found = plan(snapshot)
    assert specifics_probe(snapshot, simulate(snapshot, found.items), found.items).passed


def test_what_answered_a_recall_is_kept_first() -> None:
    """Of fifty-nine crates and a bus, fifty tokens keep the bus where the log of recalls says that this memory was asked for it."""
    bus = "The bus home leaves from the mill at noon."
    told = memory("m", f"{BUSY} {bus}", days=200, stage="summary")
    event = {"id": uid("e"), "query": "when does the bus leave", "occurred_at": TAKEN_AT, "hit_ids": [uid("m")]}
    for found, events in ((True, [event]), (False, []), (False, [{**event, "hit_ids": [uid("other")]}])):
        (item,) = plan(world(told, recall_events=events)).items
        assert (bus in str(item.evidence["text"])) == found


def test_an_essence_is_archived_and_nothing_is_deleted() -> None:
    """It leaves recall with all of its versions in place; Plugged.in deletes the row."""
    snapshot = world(memory("m", days=366, stage="essence"))
    found = plan(snapshot)
    (item,) = found.items
    assert (item.decision, item.mutation.kind, item.risk) == ("forget", "set_state", "medium")
    later = simulate(snapshot, found.items)
    (row,) = later.table("memories").to_pylist()
    assert (row["state"], row["stage"], row["invalidated_at"]) == ("archived", "forgotten", None)
    assert len(later.table("memory_versions")) == 1
    assert plan(later).items == ()


def test_a_text_without_a_short_sentence_stays_whole() -> None:
    """It is never cut within a clause."""
    found = plan(world(memory("m", "word " * 2_000)))
    (item,) = found.items
    assert (item.decision, found.report.numbers["could not be shortened"]) == ("advance", 1)
    assert item.evidence["tokens_after"] == item.evidence["tokens_before"]


@pytest.mark.parametrize(
    "more", [{"pinned": True}, {"ring": "shocks"}, {"kind": "procedural"}, {"days": 6.9}, {"access_count": 21}]
)
def test_who_is_exempt_or_not_due_is_left_alone(more: Row) -> None:
    """Reads make a stage three times as long."""
    assert plan(world(memory("m", LONG, **more))).items == ()  # pyright: ignore[reportArgumentType]


def test_relative_dates_are_fixed_before_their_company_goes() -> None:
    """Decay comes before ``absolutize_dates``, which would else wait for another night with less to go by."""
    snapshot = world(memory("m", f"Yesterday Rita Falk bought 12 hens. {TALK * 30}"))
    (item,) = plan(snapshot).items
    day = (TAKEN_AT - timedelta(days=9)).date().isoformat()
    assert day in str(item.evidence["text"])
    assert count(str(item.evidence["text"])) <= 250


def test_a_row_that_names_no_zone_there_is_gets_that_of_the_settings() -> None:
    """Attributes are an agent's, and no night falls for them."""
    snapshot = world(memory("m", f"Yesterday it rained. {TALK * 30}", attributes={"timezone": "Moon/Base"}))
    assert len(plan(snapshot).items) == 1


def test_a_model_may_word_it_and_may_not_invent() -> None:
    """Its text is held against the memory; one with an invented number leaves the sentences the word."""

    class Scribe:
        model = "scribe"
        text = "Rita Falk keeps 12 hens in Port Vale and does not sell eggs."

        def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
            (shown,) = json.loads(user.split("\n")[1])["memories"]
            return Answer(json.dumps({"text": self.text, "cited": [shown["number"]]}), 40)

    scribe = Scribe()
    (item,) = plan(world(memory("m", LONG)), consolidator=scribe).items
    assert (item.evidence["text"], item.evidence["writer"], item.risk, item.tokens) == (
        *(scribe.text, "scribe", "medium", 40),
    )
    scribe.text = "Rita Falk keeps 14 hens."
    (item,) = plan(world(memory("m", LONG)), consolidator=scribe).items
    assert (item.evidence["writer"], item.evidence["problem"]) == ("extractive", "says what no cited memory says")


def test_without_the_model_that_the_settings_name_texts_wait_and_short_ones_go_on() -> None:
    """As when a plan is looked at again."""
    named = {"consolidation_model": "scribe", "writer_endpoint": "http://localhost:1"}
    found = plan(world(memory("long", LONG), memory("short"), settings=named))
    assert [(i.decision, i.mutation.rows[0].external_id) for i in found.items] == [("advance", "short")]
    assert found.report.numbers["no writer at hand"] == 1


def test_a_shorter_text_gets_its_own_vector_and_an_unchanged_one_keeps_its() -> None:
    """Only what changed is embedded, all at once."""
    calls: list[list[str]] = []

    def embed(texts: Any) -> np.ndarray:
        calls.append(list(texts))
        return np.tile(np.array([0.0, 1.0], np.float32), (len(texts), 1))

    snapshot = world(memory("long", LONG), memory("short"))
    found = plan(snapshot, embed=embed)
    assert [len(c) for c in calls] == [1]
    vectors = simulate(snapshot, found.items).vectors["memory_vectors"]
    of = dict(zip(vectors.ids.to_pylist(), vectors.matrix.tolist(), strict=True))
    assert (of[uid("long")], of[uid("short")]) == ([0.0, 1.0], [1.0, 0.0])


def test_a_rejected_step_does_not_come_back_until_the_text_changes() -> None:
    """Story 13."""
    (item,) = plan(world(memory("m", LONG))).items
    rejection = {
        **{"operation": "decay_transition", "subject": item.subject(), "row_ids": [uid("m")]},
        **{"reason": "no", "rejected_by": "rita"},
    }
    same = world(memory("m", LONG), rejections=[rejection])
    assert not_rejected(same, plan(same).items) == []
    changed = world(memory("m", LONG, current_version_id=uid("other")), rejections=[rejection])
    assert len(not_rejected(changed, plan(changed).items)) == 1


def test_what_is_archived_tonight_is_not_told_shorter_as_well() -> None:
    """Where both run, by the settings or because they were asked for, nothing is deferred; whose archiving was rejected ages on."""
    rows = (memory("m", LONG, 30), memory("read", LONG, 30, access_count=1))
    snapshot = world(*rows)
    assert {i.mutation.rows[0].external_id for i in plan(snapshot).items} == {"m", "read"}
    both = frozenset(("archive_stale", "decay_transition"))
    asked = plan(snapshot, ops=both)
    assert [i.mutation.rows[0].external_id for i in asked.items] == ["read"]
    assert (asked.report.numbers["due"], asked.report.numbers["archived by archive_stale"]) == (2, 1)
    assert len(plan(snapshot, ops=frozenset(("decay_transition",))).items) == 2
    switched = world(*rows, settings={"operations": {"archive_stale": {"enabled": True}}})
    assert [i.mutation.rows[0].external_id for i in plan(switched).items] == ["read"]
    items = [*archive_stale(make_inputs(snapshot)).items, *asked.items]
    sealed = seal(Header(uid("namespace"), "n", "s", "f"), items, permits())
    assert (len(sealed.items), sealed.deferred) == (2, {})

    (archive,) = archive_stale(make_inputs(snapshot)).items
    rejection = {
        **{"operation": "archive_stale", "subject": archive.subject(), "row_ids": [uid("m")]},
        **{"reason": "no", "rejected_by": "rita"},
    }
    kept = world(*rows, rejections=[rejection])
    assert {i.mutation.rows[0].external_id for i in plan(kept, ops=both).items} == {"m", "read"}


def test_a_planner_is_told_what_else_runs() -> None:
    """``run_planner`` passes on what the night was asked for."""
    inputs = make_inputs(world(memory("m", LONG, 30)))
    both = frozenset(("archive_stale", "decay_transition"))
    assert run_planner(decay_transition, inputs, both).items == ()
    assert len(run_planner(decay_transition, inputs, both - {"archive_stale"}).items) == 1


def test_a_night_of_decay_on_a_store_and_back(store: Store) -> None:
    """Plan, approve, apply, a second night without news, and undo to the first digest."""
    slug = "hens-decay"
    rows = (("long", LONG, 8, "full"), ("short", HENS, 9, "full"), ("old", HENS, 800, "essence"))
    remember(
        store,
        slug,
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(d), "current_version_id": f"v{n}", "stage": stage}
            for n, _, d, stage in rows
        ],
        memory_versions=[
            {"id": f"v{n}", "memory_id": n, "content": text, "recorded_at": ago(d)} for n, text, d, _ in rows
        ],
        memory_vectors=[{"id": n, "vector": unit(1.0, 0.2)} for n, *_ in rows],
    )
    before = digest(store, slug)
    night = run_night(store, slug, ops="decay_transition")
    assert night.plan is not None
    assert sorted(i.decision for i in night.plan.items) == ["advance", "forget", "shorten"]
    approval = approve(store, slug, night.plan.plan_hash, approver="rita", channel="test", force=True, note="test")
    run = apply_approval(store, approval.id)
    assert run.counts["applied"] == 3
    found = ask(store, "SELECT stage, state, count(*) FROM memory.memories GROUP BY 1, 2 ORDER BY 1, 2")
    assert found == [("compressed", "active", 2), ("forgotten", "archived", 1)]
    reasons = ask(store, "SELECT reason, count(*) FROM memory.memory_versions GROUP BY 1 ORDER BY 1")
    assert reasons == [("decay:compressed", 2), ("import", 3)]
    assert run_night(store, slug, ops="decay_transition").new_items == 0
    undo_run(store, run.run_id)
    assert digest(store, slug) == before


def test_a_step_rests_on_what_exempts_a_memory_and_not_on_counters() -> None:
    """Pinned, marked as a shock or moved since the plan, a memory is neither told shorter nor archived by it."""
    found = plan(world(memory("m", LONG), memory("short"), memory("old", days=800, stage="essence")))
    assert sorted(i.decision for i in found.items) == ["advance", "forget", "shorten"]
    for item in found.items:
        cells = {c.column for c, _ in item.mutation.seen()} | {w.cell.column for w in item.mutation.writes}
        assert {"attributes", "current_version_id", "kind", "pinned", "ring", "state", "valid_from"} <= cells
        assert not cells & {"access_count", "reinforcement_count"}


def test_a_rejected_step_is_remembered_however_its_vector_is_rounded() -> None:
    """An embedder answers a little differently from batch to batch; what was refused are the words."""

    def embed(x: float) -> Any:
        return lambda texts: np.tile(np.array([x, 1.0], np.float32), (len(texts), 1))

    one, two = (plan(world(memory("m", LONG)), embed=embed(x)).items[0] for x in (0.5, 0.50001))
    assert (one.id == two.id, one.subject() == two.subject()) == (False, True)


@pytest.mark.parametrize("success", ["9" * 400, "-" + "9" * 400, '"0.1"', "null", "[]"])
def test_a_success_of_any_form_stops_nothing(success: str) -> None:
    """JSON of Postgres holds numbers that no float does."""
    assert plan(world(memory("m", days=8, attributes=f'{{"success": {success}}}'))).report.numbers["live memories"] == 1
