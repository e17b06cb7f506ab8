"""A rejection that is withdrawn comes back in the next night, and both stay on record."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.plans.gate import reject
from slowwave.plans.review.drafts import NewDraft, reconsider, save_drafts
from slowwave.store.connect import Store
from slowwave.store.logins import ROLES
from slowwave.surfaces.demo.world import NAMESPACES
from tests.memories import ask
from tests.permitting import sign
from tests.plans.review.reviews import asking


def test_over_two_nights_what_was_rejected_stays_away_until_it_is_reconsidered(demo: Store) -> None:
    """A merge is rejected in review; the next night does not propose it, and the one after the withdrawal does, though nothing changed."""
    namespace = NAMESPACES[0]
    first = run_night(demo, namespace).plan
    assert first is not None
    merges = [i for i in first.items if i.operation == "dedupe_entities"]
    gone = next(i for i in merges if i.decision == "merge")
    save_drafts(demo, namespace, first.plan_hash, [NewDraft(gone.id, "no", "two people")], reviewer="mara")
    assert sign(demo, namespace, first.plan_hash, reviewer="mara", include_decided=False).rejected == 1
    second = run_night(demo, namespace, force=True).plan
    assert second is not None
    assert gone.id not in {i.id for i in second.items}
    assert run_night(demo, namespace).skipped, "nothing has changed since"
    done = reconsider(demo, namespace, [gone.id[:8]], withdrawn_by="jon", reason="one person after all")
    assert (done.items, done.withdrawn) == ((gone.id,), 1)
    third = run_night(demo, namespace)
    assert not third.skipped
    assert third.plan is not None
    assert gone.id in {i.id for i in third.plan.items}
    kept = "SELECT r.rejected_by, w.withdrawn_by, w.reason FROM night.rejections r JOIN night.withdrawals w ON w.rejection_id = r.id"
    assert ask(demo, kept) == [("mara", "jon", "one person after all")]


def test_what_cannot_be_withdrawn_is_refused_and_nothing_is(store: Store) -> None:
    review = asking(store)
    reject(store, review.slug, review.hash, rejected_by="mara", reason="no", items=review.asked[:2])

    def again(*items: str, by: str = "jon", reason: str = "why not") -> object:
        return reconsider(store, review.slug, items, withdrawn_by=by, reason=reason)

    for told, attempt in (
        ("is no item that was rejected", lambda: again(review.asked[0], review.asked[2])),
        ("is no item that was rejected", lambda: again(review.asked[0][:3])),
        ("at least one", lambda: again()),
        ("needs a reason", lambda: again(review.asked[0], reason=" ")),
        ("A policy", lambda: again(review.asked[0], by="policy")),
        ("must be named", lambda: again(review.asked[0], by="")),
    ):
        with pytest.raises(Refused, match=told):
            attempt()
    assert review.rows("withdrawals") == 0
    assert again(*review.asked[:2])
    with pytest.raises(Refused, match="withdrawn already"):
        again(review.asked[0])
    assert review.rows("withdrawals") == 2
    assert review.statuses()[review.asked[0]] == "rejected", "where it was rejected it stays so"


def test_only_the_approver_withdraws_and_nobody_takes_that_back(store: Store) -> None:
    review = asking(store)
    reject(store, review.slug, review.hash, rejected_by="mara", reason="no", items=review.asked[:1])
    insert = (
        "INSERT INTO night.withdrawals (rejection_id, namespace_id, withdrawn_by, reason) "
        f"SELECT id, namespace_id, 'jon', 'x' FROM night.rejections WHERE namespace_id = '{review.world.namespace_id}'"
    )
    for role in ROLES:
        with psycopg.connect(store.logins[role], autocommit=True) as attacker:
            attempts = ["UPDATE night.withdrawals SET reason = 'y'", "DELETE FROM night.withdrawals"]
            for attempt in attempts if role == "approver" else [insert, *attempts]:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    attacker.execute(attempt.encode())
    reconsider(store, review.slug, review.asked[:1], withdrawn_by="jon", reason="x")
    with store.connect("owner") as owner, pytest.raises(psycopg.Error, match="append-only"):
        owner.execute("DELETE FROM night.withdrawals")
