"""A policy that a person accepted decides what is of its kind on later nights, up to its limit, and stops when something is taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.proposal import seal_proposal
from slowwave.night.runs import Night
from slowwave.night.undo import undo_run
from slowwave.operations import Inputs, Proposal
from slowwave.plans import policies
from slowwave.plans.gate import Approval, countersign, set_rule
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permits
from slowwave.plans.policies import Decisions, Policy, Verdict, read_policies, revoke_policy
from slowwave.plans.report import Report
from slowwave.plans.review.card import surroundings
from slowwave.plans.review.drafts import reconsider
from slowwave.plans.review.rules import accept_rule
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.surfaces.review_page.desk import Desk
from tests.memories import ask, behind_triggers
from tests.nights import new_world, write_a_plan
from tests.permitting import accept_operations, decide_by_policies
from tests.plans.review.reviews import Review, alike_by_initial, asking_of_a_kind
from tests.plans.review.test_rules import TEN, answer, likeliest, rules


def accepted(store: Store, per_night: int | None = None, verdict: Verdict = "yes") -> tuple[Review, Policy]:
    """A policy of mara's, of ten answers to the least likely questions, for a no to the likeliest, and the plan of another night with these
    but for three."""
    review = asking_of_a_kind(store, 14)
    answer(review, likeliest(review)[-TEN:] if verdict == "yes" else likeliest(review)[:TEN], verdict)
    (rule,) = rules(review)
    policy = accept_rule(store, review.stored(), rule.key, accepted_by="mara", per_night=per_night)
    items = alike_by_initial(export_snapshot(store, review.slug))
    items = items[3:] if verdict == "yes" else items[:-3]
    return replace(review, plan=write_a_plan(store, review.world, items=items)[1]), policy


def by_policy(review: Review) -> list[Approval]:
    return list(decide_by_policies(review.store, review.slug, review.hash).approvals)


def test_the_next_night_approves_the_likeliest_up_to_the_limit_and_says_by_what(store: Store) -> None:
    """Three, named after mara and the day; a second time that night none; applied as any approval is."""
    review, policy = accepted(store)
    (approval,) = by_policy(review)
    assert sorted(approval.item_ids) == sorted(likeliest(review)[: policy.per_night])
    assert by_policy(review) == [], "it is used up for this night"
    (signed,), _ = Desk(store).signed(review.hash)
    assert signed.approver == policy.name == f"policy of mara of {policy.recorded_at:%Y-%m-%d}"
    assert "10 of 10 like it were answered yes" in signed.note
    run = apply_approval(store, approval.id)
    assert run.counts["applied"] == policy.per_night
    undo_run(store, run.run_id, items=[approval.item_ids[0]])
    with store.connect("reader") as connection:
        (now,) = read_policies(connection, review.slug)
    assert (now.decided, now.undone, now.stands) == (3, 1, False)
    assert "taken back" in now.state


def test_a_night_signs_by_itself_and_leaves_out_what_contradicts(store: Store) -> None:
    """Whatever seals a plan asks the policies; the pairs whose phones differ wait for a person, the likeliest of all as well."""
    review, policy = accepted(store, per_night=1_000)

    def propose(inputs: Inputs) -> Proposal:
        first, *rest = alike_by_initial(inputs.snapshot, conflict=1)[:3]
        return Proposal((replace(first, probability=0.9), *rest), Report("dedupe_entities", "pairs"))

    night = seal_proposal(store, review.slug, "dedupe_entities", propose, of="another night")
    assert night.plan is not None
    assert night.state == "partly_approved"
    ((named, by),) = ask(store, "SELECT item_ids::text[], policy_id::text FROM night.approvals")
    assert by == policy.id
    waiting = {i.id for i in night.plan.items} - set(named)  # type: ignore[call-overload]
    assert [i.probability for i in night.plan.items if i.id in waiting] == [0.9]


def test_a_night_with_nothing_new_decides_what_still_waits(store: Store) -> None:
    """The rule is accepted after the night that asked. The next one asks for three of it again: signed in the plan where they wait, as many
    as the limit allows and the likeliest first; the third waits for another night. Of a dry-run's plan nothing is signed."""
    review = asking_of_a_kind(store, 14)
    answer(review, likeliest(review)[-TEN:])
    (rule,) = rules(review)
    policy = accept_rule(store, review.stored(), rule.key, accepted_by="mara", per_night=2)
    found = alike_by_initial(export_snapshot(store, review.slug))[3:6]

    def night() -> Night:
        return seal_proposal(
            *(store, review.slug, "dedupe_entities"),
            lambda _: Proposal(tuple(found), Report("dedupe_entities", "pairs")),
            of="another night",
        )

    behind_triggers(store, "UPDATE night.runs SET parameters = parameters || '{\"dry_run\": true}'")
    assert (night().state, review.rows("approvals")) == ("empty", 0)
    behind_triggers(store, "UPDATE night.runs SET parameters = parameters - 'dry_run'")
    again = night()
    assert (again.state, again.new_items, again.carried_items) == ("empty", 0, 3)
    ((id_, items, of, by),) = ask(
        store, "SELECT id::text, item_ids::text[], plan_hash, policy_id::text FROM night.approvals"
    )
    assert (of, by) == (review.hash, policy.id)
    assert set(items) == {i.id for i in sorted(found, key=lambda i: -i.probability)[:2]}  # type: ignore[call-overload]
    assert apply_approval(store, str(id_)).counts["applied"] == 2
    del found[1:]
    assert (night().state, review.rows("approvals")) == ("empty", 1)


def test_a_no_rejects_the_least_likely_up_to_the_limit_and_goes_with_its_policy(store: Store) -> None:
    """Three, in the policy's name, which no later night proposes; the likeliest are a person's, and so is the very least, of which a draft
    says yes. One that is reconsidered stops the policy, and all come back once it is revoked."""
    review, policy = accepted(store, verdict="no")
    assert (policy.verdict, policy.least, policy.state) == ("no", 0, "rejects")
    other, *least = likeliest(review)[:-5:-1]
    answer(review, [other], by="otto")
    done = decide_by_policies(store, review.slug, review.hash)
    assert (set(done.rejected), done.approvals) == (set(least), ())
    assert {id_ for id_, status in review.statuses().items() if status == "rejected"} == set(least)
    assert decide_by_policies(store, review.slug, review.hash).rejected == (), "it is used up for this night"
    (item,) = (s for s in review.stored().items if s.id == least[0])
    with store.connect("reader") as connection:
        assert surroundings(connection, review.stored(), item).history[0].about == policy.name
    told = ask(store, "SELECT reason, rejected_by, policy_id::text FROM night.rejections")
    assert (
        told == [(f"By the {policy.name}: {policy.says}. 10 of 10 like it were answered no.", "policy", policy.id)] * 3
    )

    def stand() -> int:
        return export_snapshot(store, review.slug).table("rejections").num_rows

    assert stand() == 3
    reconsider(store, review.slug, least[:1], withdrawn_by="otto", reason="one person")
    with store.connect("reader") as connection:
        (now,) = read_policies(connection, review.slug)
    assert (stand(), now.decided, now.undone, now.stands) == (2, 3, 1, False)
    assert now.state == "stopped: something that it rejected was taken back"
    revoke_policy(store, review.slug, policy.id, revoked_by="otto", reason="two families")
    assert (stand(), review.rows("withdrawals")) == (0, 3)
    assert ask(store, "SELECT DISTINCT withdrawn_by, reason FROM night.withdrawals WHERE reason <> 'one person'") == [
        ("otto", "two families")
    ]


def test_a_night_rejects_by_itself_also_what_still_waits_and_contradicts(store: Store) -> None:
    """A night with something new, then one without; neither where more eyes than its author's are asked for."""
    review, policy = accepted(store, per_night=4, verdict="no")
    snapshot = export_snapshot(store, review.slug)
    found, (against, *_) = alike_by_initial(snapshot), alike_by_initial(snapshot, conflict=1)

    def night(*items: Item) -> Night:
        return seal_proposal(
            *(store, review.slug, "dedupe_entities"),
            lambda _: Proposal(items, Report("dedupe_entities", "pairs")),
            of="another night",
        )

    set_rule(store, review.slug, signatures=1, not_author=True, set_by="root")
    assert night(*found[:3]).rejected == 0
    set_rule(store, review.slug, signatures=1, set_by="root")
    again = night(*found[:3])
    assert (again.state, again.new_items, again.rejected) == ("empty", 0, 3)
    new = night(replace(found[-1], probability=0.1, evidence=against.evidence), found[-2])
    assert (new.rejected, new.state, new.to_json()["rejected_items"]) == (1, "awaiting_approval", 1)
    assert new.plan
    of_plan = "SELECT item_id::text, status FROM night.plan_items WHERE plan_hash = %s"
    told = {(found[-1].id, "rejected"), (found[-2].id, "pending")}
    assert set(ask(store, of_plan, new.plan.plan_hash)) == told, "likelier than what was answered no"
    with store.connect("reader") as connection:
        (now,) = read_policies(connection, review.slug)
    assert (now.id, now.decided, now.used) == (policy.id, 4, 4)


def test_what_is_revoked_approves_nothing_and_what_it_approved_is_not_applied(store: Store) -> None:
    """Also what it approved before."""
    review, policy = accepted(store)
    (approval,) = by_policy(review)
    ended = revoke_policy(store, review.slug, policy.id[:8], revoked_by="otto", reason="two families")
    assert (ended.stands, ended.state) == (False, "revoked by otto: two families")
    with pytest.raises(Refused, match="revoked by otto"):
        apply_approval(store, approval.id)
    with pytest.raises(Refused, match="already"):
        revoke_policy(store, review.slug, policy.id, revoked_by="otto", reason="again")
    assert by_policy(review) == []


def test_nothing_is_approved_of_a_plan_that_leans_on_the_share_of_housekeeping(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where the plan is beyond the ordinary caps nor where what is chosen is, with what was approved before."""
    review, _ = accepted(store)
    with monkeypatch.context() as beyond:
        beyond.setattr("slowwave.plans.policies.beyond_ordinary_caps", lambda _: True)
        assert by_policy(review) == []
    with monkeypatch.context() as beyond:
        beyond.setattr("slowwave.plans.gate.beyond_ordinary_caps", lambda probes: "of" in probes)
        assert by_policy(review) == []
    assert len(by_policy(review)) == 1


def test_apply_looks_at_each_item_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An approval in a policy's name of what is of another kind is refused, whoever wrote it."""
    review, _ = accepted(store)
    (approval,) = by_policy(review)
    monkeypatch.setattr("slowwave.plans.policies.kinds_of", lambda *_: ())
    with pytest.raises(Refused, match="may not approve 3 of the items"):
        apply_approval(store, approval.id)


def test_accepted_policy_approves_nothing_that_operation_may_not_do(store: Store) -> None:
    """The permits hold for questions that a policy answers as well."""
    review, _ = accepted(store)
    decided = policies.decide_by_policies(store, review.slug, review.hash, Permits({}))
    assert not decided.approvals
    assert by_policy(review), "with the permits of all planners it approves"


def test_a_policy_signs_as_whoever_accepted_it(store: Store) -> None:
    """Where two have to sign, mara does not sign beside her own policy, and where authors may not, another has to."""
    review, policy = accepted(store)
    set_rule(store, review.slug, signatures=2, set_by="root")
    (approval,) = by_policy(review)
    assert approval.missing == 1
    with pytest.raises(Refused, match=f"Signed by {policy.name}"):
        apply_approval(store, approval.id)
    set_rule(store, review.slug, signatures=1, not_author=True, set_by="root")
    with pytest.raises(Refused, match="one more signature"):
        apply_approval(store, approval.id)
    countersign(store, review.slug, review.hash, signed_by="mara")
    assert ask(store, "SELECT night.signatures_missing(id) FROM night.approvals") == [(1,)]
    countersign(store, review.slug, review.hash, signed_by="otto")
    assert apply_approval(store, approval.id).counts["applied"] == 3


def test_policy_for_low_risk_changes_approves_them_and_stops_when_one_is_undone(store: Store) -> None:
    """No question, no other operation, no plan that failed a probe, and not what waits from earlier nights."""
    world = new_world(store)
    policy = accept_operations(store, world.slug, ["archive_stale", "dedupe_entities"], accepted_by="mara")
    _, plan = write_a_plan(store, world)
    low = {i.id for i in plan.items if i.operation in policy.low_risk and i.decision != "review"}
    assert decide_by_policies(store, world.slug, plan.plan_hash, only=low) == Decisions()
    (approval,) = decide_by_policies(store, world.slug, plan.plan_hash).approvals
    assert set(approval.item_ids) == low
    assert "review" in {i.decision for i in plan.items if i.id not in low}
    ((note,),) = ask(store, "SELECT note FROM night.approvals")
    assert note == f"By the {policy.name}: Low-risk changes by archive_stale, dedupe_entities."
    run = apply_approval(store, approval.id)
    undo_run(store, run.run_id, items=[approval.item_ids[0]])
    with store.connect("reader") as connection:
        (now,) = read_policies(connection, world.slug)
    assert (now.decided, now.undone, now.stands) == (len(low), 1, False)
    forced, other = new_world(store, 8), new_world(store, 9)
    for each, failed in ((forced, ["Recall@10 would fall."]), (other, [])):
        accept_operations(store, each.slug, ["archive_stale"], accepted_by="mara", per_night=1)
        _, plan = write_a_plan(store, each, needs_force=failed)
        approved = decide_by_policies(store, each.slug, plan.plan_hash).approvals
        assert [len(one.item_ids) for one in approved] == ([] if failed else [1])
    with pytest.raises(Refused, match="forget makes no low-risk change"):
        accept_operations(store, other.slug, ["forget"], accepted_by="mara")
