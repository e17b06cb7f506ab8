"""One signature makes one approval and the rejections of what was drafted, or nothing at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import Refused, StoreError
from slowwave.night.executor import apply_approval
from slowwave.plans.gate import reject, revoke
from slowwave.plans.review.drafts import UNEXPLAINED, NewDraft, read_drafts, save_drafts, undo_last
from slowwave.store.connect import Store
from tests.memories import ask
from tests.nights import write_a_plan
from tests.permitting import sign
from tests.plans.review.reviews import Review, asking
from tests.plans.review.test_drafts import say
from tests.waiting import until
from tests.worlds import few


@pytest.fixture
def review(store: Store) -> Review:
    return asking(store)


def _signed(review: Review, reviewer: str = "mara", **more: object):
    return sign(review.store, review.slug, review.hash, reviewer=reviewer, **more)  # type: ignore[arg-type]


def test_one_signature_covers_what_two_reviewers_said_and_what_needs_nobody(review: Review) -> None:
    """One approval, a rejection with its note, what was skipped waits, and one apply run does it."""
    say(review, "mara", _0="yes", _2="skip")
    no = [NewDraft(review.asked[1], "no", "two people")]
    save_drafts(review.store, review.slug, review.hash, no, reviewer="jon")
    done = _signed(review)
    waiting = len(review.asked) - 2
    assert (done.approved, done.rejected, done.left) == (1 + len(review.decided), 1, waiting)
    statuses = review.statuses()
    assert {i for i, s in statuses.items() if s == "approved"} == {review.asked[0], *review.decided}
    assert {i for i, s in statuses.items() if s == "rejected"} == {review.asked[1]}
    assert ask(review.store, "SELECT approver, channel, cardinality(item_ids) FROM night.approvals") == [
        ("mara", "review", 1 + len(review.decided))
    ]
    assert ask(review.store, "SELECT item_id::text, reason, rejected_by FROM night.rejections") == [
        (review.asked[1], "two people", "mara")
    ]
    assert done.approval_id is not None
    assert apply_approval(review.store, done.approval_id).counts["applied"] == done.approved
    assert read_drafts(review.store, review.slug, review.hash) == {}, "they are spent, the skipped one too"


def test_a_no_about_what_needs_nobody_keeps_it_out(review: Review) -> None:
    """So does a skip; and a signature may be under what was drafted alone."""
    drafts = [NewDraft(review.decided[0], "no"), NewDraft(review.asked[0], "yes")]
    save_drafts(review.store, review.slug, review.hash, drafts, reviewer="mara")
    done = _signed(review, include_decided=False)
    assert (done.approved, done.rejected, done.left) == (1, 1, len(review.asked) - 1 + len(review.decided) - 1)
    assert ask(review.store, "SELECT reason FROM night.rejections") == [(UNEXPLAINED,)]


def test_what_is_rejected_alone_makes_no_approval(review: Review) -> None:
    say(review, "mara", _0="no")
    done = _signed(review, include_decided=False)
    assert (done.approval_id, done.approved, done.rejected) == (None, 0, 1)
    assert review.rows("approvals") == 0
    assert review.stored().state == "awaiting_approval"


def test_reviewers_that_contradict_each_other_are_named_and_nothing_is_signed(review: Review) -> None:
    say(review, "mara", _0="yes", _1="yes")
    say(review, "jon", _0="no")
    with pytest.raises(Refused, match=f"{review.asked[0]}: no by jon, but not by mara"):
        _signed(review)
    assert set(review.statuses().values()) == {"pending"}
    say(review, "jon", _0="yes")
    assert _signed(review, include_decided=False).approved == 2


def test_nothing_to_sign_is_refused_and_signing_twice_changes_nothing(review: Review) -> None:
    with pytest.raises(Refused, match="nothing to sign: no question is answered"):
        _signed(review, include_decided=False)
    say(review, "mara", _0="yes")
    _signed(review)
    after = review.statuses()
    for reviewer in ("mara", "jon"):
        with pytest.raises(Refused, match="nothing to sign"):
            _signed(review, reviewer)
    assert (review.statuses(), review.rows("approvals"), review.rows("review_signatures")) == (after, 1, 1)


def test_an_item_that_waits_again_is_asked_about_again(review: Review) -> None:
    """A revoked approval leaves no verdict behind that the next signature would take for its own."""
    say(review, "mara", _0="yes")
    _signed(review, include_decided=False)
    revoke(review.store, review.slug, review.hash, revoked_by="jon", reason="too early")
    assert review.statuses()[review.asked[0]] == "pending"
    assert read_drafts(review.store, review.slug, review.hash) == {}
    with pytest.raises(Refused, match="nothing to sign"):
        _signed(review, include_decided=False)


def test_a_plan_that_is_over_is_not_signed(review: Review) -> None:
    """Superseded, rejected, expired; nor by a policy's name."""
    say(review, "mara", _0="yes")
    with pytest.raises(Refused, match="A policy"):
        _signed(review, "policy")
    write_a_plan(review.store, review.world, items=[i for i in review.plan.items if i.id in review.decided])
    with pytest.raises(Refused, match="superseded"):
        _signed(review)
    gone = asking(review.store, 300)
    say(gone, "mara", _0="yes")
    reject(gone.store, gone.slug, gone.hash, rejected_by="jon", reason="no")
    with pytest.raises(Refused, match="was rejected"):
        _signed(gone)
    late = asking(review.store, 500)
    say(late, "mara", _0="yes")
    with late.store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("UPDATE night.plans SET expires_at = now() WHERE plan_hash = %s", (late.hash,))
    with pytest.raises(Refused, match="expired"):
        _signed(late)


def test_a_signature_that_is_cut_off_leaves_nothing(review: Review) -> None:
    """The connection is killed after approval and rejections are written: none of them is there, and the drafts stand."""
    say(review, "mara", _0="yes", _1="no")
    with review.store.connect("owner") as owner:
        owner.execute(
            "CREATE FUNCTION night.cut_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$"
        )
        owner.execute(
            "CREATE TRIGGER zz_cut_off BEFORE INSERT ON night.review_signatures FOR EACH ROW EXECUTE FUNCTION night.cut_off()"
        )
    with pytest.raises((psycopg.OperationalError, StoreError)):
        _signed(review)
    assert set(review.statuses().values()) == {"pending"}
    assert (review.rows("approvals"), review.rows("rejections"), review.rows("review_signatures")) == (0, 0, 0)
    assert len(read_drafts(review.store, review.slug, review.hash)) == 2
    with review.store.connect("owner") as owner:
        owner.execute("DROP TRIGGER zz_cut_off ON night.review_signatures")
    assert _signed(review).rejected == 1


def test_a_draft_under_way_is_waited_for_and_reviewers_do_not_wait_for_each_other(review: Review) -> None:
    """One reviewer is in the middle of saving: another saves beside them, and a signature counts both."""
    with ThreadPoolExecutor(1) as pool:
        with review.store.connect("approver") as slow, slow.transaction():
            slow.execute("SELECT 1 FROM night.plans WHERE plan_hash = %s FOR SHARE", (review.hash,))
            slow.execute(
                "INSERT INTO night.review_drafts (namespace_id, plan_hash, item_id, verdict, reviewer) VALUES (%s, %s, %s, 'no', 'jon')",
                (review.world.namespace_id, review.hash, review.asked[1]),
            )
            say(review, "mara", _0="yes")
            signing = pool.submit(_signed, review)
            until(lambda: ask(review.store, "SELECT 1 FROM pg_locks WHERE NOT granted"))
            assert not signing.done()
        done = signing.result(120)
    assert (done.approved, done.rejected) == (1 + len(review.decided), 1)


def test_of_two_that_sign_at_once_one_signs(review: Review) -> None:
    say(review, "mara", _0="yes", _1="no")

    def signed(reviewer: str) -> str:
        try:
            return str(_signed(review, reviewer).rejected)
        except Refused as problem:
            return str(problem)

    with ThreadPoolExecutor(2) as pool:
        told = sorted(pool.map(signed, ("mara", "jon")))
    assert told[0] == "1"
    assert "nothing to sign" in told[1]
    assert (review.rows("approvals"), review.rows("rejections"), review.rows("review_signatures")) == (1, 1, 1)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(("mara", "jon")),
        st.sampled_from(("yes", "no", "yes", "no", "skip", "none", "undo")),
        st.sampled_from((0, 0, 1, 2)),
    ),
    max_size=12,
)


@few
@given(steps=_STEPS, decided=st.booleans())
def test_any_drafts_and_one_signature_leave_what_the_latest_verdicts_say(
    store: Store, steps: list[tuple[str, str, int]], decided: bool
) -> None:
    """Of each reviewer the latest that was not taken back; a contradiction signs nothing, and signing twice changes nothing."""
    review = asking(store)
    saved: dict[str, list[tuple[int, str]]] = {"mara": [], "jon": []}
    for reviewer, step, place in steps:
        if step == "undo":
            found = undo_last(store, review.slug, review.hash, reviewer=reviewer)
            expected = [review.asked[saved[reviewer].pop()[0]]] if saved[reviewer] else []
            assert list(found) == expected
        else:
            say(review, reviewer, **{f"_{place}": step})
            saved[reviewer].append((place, step))
    latest = [dict(entries) for entries in saved.values()]
    verdicts = {n: {of[n] for of in latest if n in of} - {"none", "skip"} for n in range(3)}
    wanted = dict.fromkeys(review.statuses(), "pending")
    for n, found in verdicts.items():
        if found:
            wanted[review.asked[n]] = "approved" if found == {"yes"} else "rejected"
    wanted |= dict.fromkeys(review.decided if decided else (), "approved")
    refused = any(len(found) > 1 for found in verdicts.values()) or set(wanted.values()) == {"pending"}
    if refused:
        with pytest.raises(Refused):
            _signed(review, include_decided=decided)
        assert set(review.statuses().values()) == {"pending"}
        return
    _signed(review, include_decided=decided)
    assert review.statuses() == wanted
    with pytest.raises(Refused, match="nothing to sign"):
        _signed(review, "jon", include_decided=decided)
    assert review.statuses() == wanted
    assert review.rows("approvals") == ("approved" in wanted.values())
    assert review.rows("rejections") == sum(status == "rejected" for status in wanted.values())
