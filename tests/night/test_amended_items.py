"""A reviewer takes a member out of a merge, or words a text anew: what was made waits, is signed, applied and undone like anything else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.rows import NewVersion, new_versions
from slowwave.errors import Refused
from slowwave.night import answers as amended_items
from slowwave.night.answers import Amended, edit, split
from slowwave.night.executor import apply_approval
from slowwave.night.proposal import seal_proposal
from slowwave.night.undo import undo_run
from slowwave.operations import permits
from slowwave.operations.rejections import rejected_pairs
from slowwave.plans.gate import reject, set_rule
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredPlan, read_plan, write_plan
from slowwave.plans.questions import questions
from slowwave.plans.review.drafts import (
    NewDraft,
    plan_with_open,
    read_drafts,
    read_session,
    reconsider,
    save_drafts,
    undo_last,
)
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import ask, behind_triggers, remember
from tests.permitting import approve, sign, sign_session
from tests.snapshots import uid
from tests.toy import key

NAMES = ("Mara Reyes", "M. Reyes", "Mara Reyes (Porto)", "Marta Reis")


@pytest.fixture
def acme(store: Store) -> Store:
    """Four people whom a plan would merge, and a memory that it would reword."""
    people(store)
    return store


def people(store: Store) -> None:
    """Four people whom a plan would merge, and a memory that it would reword."""
    namespace = remember(
        store,
        "acme",
        entities=[
            {"id": name, "name": name, "entity_type": "person", "attributes": {name: "x"} if n % 2 else {}}
            for n, name in enumerate(NAMES)
        ],
        relationships=[
            {"id": "knows", "source_entity_id": NAMES[3], "target_entity_id": NAMES[1], "relationship_type": "KNOWS"}
        ],
        memories=[{"id": "m", "kind": "semantic", "state": "active", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "m", "ordinal": 1, "content": "We met yesterday by the crane."}],
    )
    snapshot = export_snapshot(store, "acme")
    keep, *absorb = (uid(name) for name in NAMES)
    (merge,) = merge_rows(snapshot, [Merge(keep, tuple(absorb))])
    by_id = {uid(name): name for name in NAMES}
    assert merge.keep
    pairs = [{"names": [NAMES[0], name], "probability": p} for name, p in zip(NAMES[1:], (0.9, 0.8, 0.4), strict=True)]
    evidence = {"names": [by_id[row.id] for row in (merge.keep, *merge.absorb)], "pairs": pairs}
    (reword,) = new_versions(snapshot, [NewVersion(uid("m"), "We met on 2026-04-14.", "absolutize_dates")])
    items = [
        Item("dedupe_entities", "review", merge, evidence, "high", probability=0.4),
        Item("absolutize_dates", "review", reword, {"was": "yesterday"}, "medium"),
    ]
    plan = seal(Header(namespace, "acme", snapshot.snapshot_id, "f"), items, permits())
    with store.connect("planner") as connection:
        run = open_plan_run(connection, "acme")
    write_plan(
        store, replace(plan, questions=questions(plan.items, {})), run_id=run, expiry_days=7, probes={}, summary={}
    )


def waiting(store: Store, hash_: str = "") -> StoredPlan:
    found = hash_ or str(ask(store, "SELECT plan_hash FROM night.plans ORDER BY recorded_at LIMIT 1")[0][0])
    with store.connect("reader") as connection:
        return read_plan(connection, found)


def item_of(plan: StoredPlan, operation: str) -> str:
    return next(s.id for s in plan.items if s.operation == operation)


def applied_and_undone(store: Store, made: Amended, seen: str) -> list[tuple[object, ...]]:
    """What a query sees while the amended item is applied; undone, memory is what it was."""
    before = digest(store, "acme")
    signed = approve(store, "acme", made.plan_hash, approver="jon", items=[made.item], force=True, note="as seen")
    run = apply_approval(store, signed.id).run_id
    found = ask(store, seen)
    assert digest(store, "acme") != before
    undo_run(store, run, namespace="acme")
    assert digest(store, "acme") == before
    return found


def test_a_member_is_taken_out_and_only_its_pairs_are_remembered(acme: Store) -> None:
    """The one that would have survived leaves; the three others are merged, and none of them with it, in later nights too."""
    plan = waiting(acme)
    merge = item_of(plan, "dedupe_entities")
    made = split(acme, "acme", plan.plan_hash, merge, out=[uid(NAMES[0]), uid(NAMES[3])], by="mara")
    assert {s.id: s.status for s in waiting(acme).items}[merge] == "pending", "nothing follows before a signature"
    for reviewer in ("mara", "jon"):
        save_drafts(acme, "acme", plan.plan_hash, [NewDraft(merge, "no", "two of them")], reviewer=reviewer)
    assert read_drafts(acme, "acme", plan.plan_hash)[merge].amended == made.plan_hash, (
        "a no that is said again keeps it"
    )
    sign(acme, "acme", plan.plan_hash, reviewer="mara", include_decided=False)
    assert {s.id: s.status for s in waiting(acme).items}[merge] == "rejected"
    (new,) = waiting(acme, made.plan_hash).items
    assert (new.id, new.decision, new.status, new.question) == (made.item, "review", "pending", "same")
    assert sorted(new.item.mutation.row_ids()) == sorted(uid(name) for name in NAMES[1:3])
    assert sorted(new.item.evidence["names"]) == sorted(NAMES[1:3])  # type: ignore[call-overload]
    assert new.item.evidence["split by"] == "mara"
    pairs = rejected_pairs(export_snapshot(acme, "acme"), "dedupe_entities")
    expected = [(a, b) for a in NAMES[1:3] for b in (NAMES[0], NAMES[3])]
    assert pairs == {(min(uid(a), uid(b)), max(uid(a), uid(b))) for a, b in expected}
    gone = "SELECT name FROM memory.entities WHERE invalidated_at IS NOT NULL"
    ((name,),) = applied_and_undone(acme, made, gone)
    assert name in NAMES[1:3]
    reconsider(acme, "acme", [merge], withdrawn_by="jon", reason="one family")
    left = rejected_pairs(export_snapshot(acme, "acme"), "dedupe_entities")
    assert not left & pairs, "a withdrawal takes back every pair of the split"


def test_who_took_a_member_out_does_not_sign_what_is_left_where_authors_may_not(acme: Store) -> None:
    """The plan is hers, so somebody else signs it; what a night planned she may sign."""
    set_rule(acme, "acme", signatures=1, not_author=True, set_by="root")
    plan = waiting(acme)
    merge = item_of(plan, "dedupe_entities")
    made = split(acme, "acme", plan.plan_hash, merge, out=[uid(NAMES[3])], by="mara")
    with pytest.raises(Refused, match="somebody else has to sign"):
        approve(acme, "acme", made.plan_hash, approver="Mara", items=[made.item], force=True, note="mine")
    assert not approve(acme, "acme", made.plan_hash, approver="jon", items=[made.item], force=True, note="seen").missing
    assert not approve(acme, "acme", plan.plan_hash, approver="mara", items=[item_of(plan, "absolutize_dates")]).missing


def test_a_text_is_worded_anew_and_says_whose_words_have_no_source(acme: Store) -> None:
    plan = waiting(acme)
    reword = item_of(plan, "absolutize_dates")
    made = edit(acme, "acme", plan.plan_hash, reword, text="We met by the crane, in Porto.\n", by="mara")
    draft = read_drafts(acme, "acme", plan.plan_hash)[reword]
    assert (draft.verdict, draft.amended, draft.note) == ("no", made.plan_hash, "Superseded by the words of mara.")
    sign(acme, "acme", plan.plan_hash, reviewer="mara", include_decided=False)
    assert {s.id: s.status for s in waiting(acme).items}[reword] == "rejected"
    ((kept,),) = ask(acme, "SELECT subject FROM night.rejections")
    assert kept == next(s for s in plan.items if s.id == reword).item.subject(), "a text is rejected whole"
    (new,) = waiting(acme, made.plan_hash).items
    assert (new.item.evidence["edited by"], new.item.evidence["words without a source"]) == ("mara", ["in", "porto"])
    assert new.question == "shorter"
    said = "SELECT v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id"
    assert applied_and_undone(acme, made, said) == [("We met by the crane, in Porto.",)]


@pytest.mark.parametrize("again", [True, False])
def test_edited_text_is_signed_after_a_later_night_superseded_its_plan(acme: Store, *, again: bool) -> None:
    """The draft follows if the later plan has the item again; otherwise the edited text is approved alone."""
    plan = waiting(acme)
    made = edit(acme, "acme", plan.plan_hash, item_of(plan, "absolutize_dates"), text="We met in Porto.", by="mara")
    assert [s.plan.plan_hash for s in read_session(acme, "acme", made.plan_hash)] == [plan.plan_hash, made.plan_hash]
    behind_triggers(acme, "UPDATE night.plans SET state = 'superseded' WHERE plan_hash = %s", plan.plan_hash)
    later = ""
    if again:
        items = [s.item for s in plan.items if s.operation == "absolutize_dates"]
        sealed = seal(Header(plan.header.namespace_id, "acme", plan.header.snapshot_id, "g"), items, permits())
        with acme.connect("planner") as connection:
            run = open_plan_run(connection, "acme")
        write_plan(acme, replace(sealed, questions={}), run_id=run, expiry_days=7, probes={}, summary={})
        later = sealed.plan_hash
    session = [s.plan.plan_hash for s in read_session(acme, "acme", made.plan_hash)]
    assert session == ([later] if again else []) + [made.plan_hash]
    assert plan_with_open(acme, "acme", made.plan_hash) is None
    signed = sign_session(acme, "acme", made.plan_hash, reviewer="mara", force=True, note="as seen")
    assert [(one.approved, one.rejected) for one in signed] == ([(0, 1)] if again else []) + [(1, 0)]


def test_what_is_taken_back_takes_the_new_plan_with_it(acme: Store) -> None:
    """Unless somebody signed it meanwhile. The same can be made again."""
    plan = waiting(acme)
    merge = item_of(plan, "dedupe_entities")
    made = split(acme, "acme", plan.plan_hash, merge, out=[uid(NAMES[3])], by="mara")
    assert undo_last(acme, "acme", plan.plan_hash, reviewer="jon") == ()
    assert undo_last(acme, "acme", plan.plan_hash, reviewer="mara") == (merge,)
    assert (waiting(acme, made.plan_hash).state, read_drafts(acme, "acme", plan.plan_hash)) == ("rejected", {})
    assert ask(acme, "SELECT count(*) FROM night.rejections") == [(0,)]
    again = split(acme, "acme", plan.plan_hash, merge, out=[uid(NAMES[3])], by="mara")
    approve(acme, "acme", again.plan_hash, approver="jon", items=[again.item], force=True, note="as seen")
    assert undo_last(acme, "acme", plan.plan_hash, reviewer="mara") == (merge,)
    assert waiting(acme, again.plan_hash).state == "approved"


def test_an_item_that_is_decided_while_it_is_amended_leaves_no_plan(
    acme: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = waiting(acme)
    merge = item_of(plan, "dedupe_entities")

    def slow(*args: Any, **named: Any) -> Any:
        night = seal_proposal(*args, **named)
        reject(acme, "acme", plan.plan_hash, rejected_by="jon", reason="no", items=[merge])
        return night

    monkeypatch.setattr(amended_items, "seal_proposal", slow)
    with pytest.raises(Refused, match="is rejected already"):
        split(acme, "acme", plan.plan_hash, merge, out=[uid(NAMES[3])], by="mara")
    assert ask(acme, "SELECT state FROM night.plans WHERE plan_hash <> %s", plan.plan_hash) == [("rejected",)]


def test_a_row_that_changed_since_is_not_amended(acme: Store) -> None:
    """The reviewer saw other words than there are now."""
    plan = waiting(acme)
    behind_triggers(acme, "UPDATE memory.entities SET name = 'Mara R.' WHERE id = %s", uid(NAMES[1]))
    with pytest.raises(Refused, match="says something else since"):
        split(acme, "acme", plan.plan_hash, item_of(plan, "dedupe_entities"), out=[uid(NAMES[3])], by="mara")
    assert ask(acme, "SELECT count(*) FROM night.plan_items WHERE plan_hash <> %s", plan.plan_hash) == [(0,)]
    assert read_drafts(acme, "acme", plan.plan_hash) == {}


def test_an_approver_cannot_name_a_plan_that_was_not_made_of_the_item(acme: Store) -> None:
    """Whoever has the login of an approver writes the draft by hand."""
    plan = waiting(acme)
    merge, reword = item_of(plan, "dedupe_entities"), item_of(plan, "absolutize_dates")
    made = split(acme, "acme", plan.plan_hash, merge, out=[uid(NAMES[3])], by="mara")
    columns = "namespace_id, plan_hash, item_id, verdict, reviewer, amended"
    row = f"INSERT INTO night.review_drafts ({columns}) VALUES (%s, %s, %s, %s, 'eve', %s)"
    for item, verdict, amended, told in (
        (reword, "no", made.plan_hash, "was not made of item"),
        (merge, "no", plan.plan_hash, "was not made of item"),
        (merge, "yes", made.plan_hash, "review_drafts_amended"),
    ):
        with acme.connect("approver") as connection, pytest.raises(psycopg.Error, match=told):
            connection.execute(row, (plan.header.namespace_id, plan.plan_hash, item, verdict, amended))


def test_what_cannot_be_amended_is_refused_and_nothing_is_changed(acme: Store) -> None:
    plan = waiting(acme)
    merge, reword = item_of(plan, "dedupe_entities"), item_of(plan, "absolutize_dates")
    members = [uid(name) for name in NAMES]

    def parted(*out: str, item: str = merge, by: str = "mara") -> object:
        return split(acme, "acme", plan.plan_hash, item, out=out, by=by)

    def worded(text: str, item: str = reword) -> object:
        return edit(acme, "acme", plan.plan_hash, item, text=text, by="mara")

    for told, attempt in (
        ("at least one member", lambda: parted()),
        ("nothing else", lambda: parted(members[0], uid("m"))),
        ("Fewer than two", lambda: parted(*members[:3])),
        ("merges nothing", lambda: parted(members[0], item=reword)),
        ("does not wait", lambda: parted(members[0], item=uid("x"))),
        ("A policy", lambda: parted(members[0], by="policy")),
        ("is empty", lambda: worded(" \n")),
        ("at most", lambda: worded("x" * 20_001)),
        ("that is proposed", lambda: worded("We met on 2026-04-14. ")),
        ("screening refuses", lambda: worded(f"The key is {key()}.")),
        ("no memory a new text", lambda: worded("We met.", item=merge)),
    ):
        with pytest.raises(Refused, match=told):
            attempt()
    assert ask(acme, "SELECT count(*) FROM night.plans") == [(1,)]
    reject(acme, "acme", plan.plan_hash, rejected_by="jon", reason="no", items=[merge])
    with pytest.raises(Refused, match="does not wait"):
        parted(members[0])
