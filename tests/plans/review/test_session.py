"""A session: a plan with the plans that came of its answers, signed together, and only as it was shown."""

from __future__ import annotations

import pytest

from slowwave.errors import ProbesFailed, Refused
from slowwave.plans.review.drafts import read_drafts, read_session, session_digest, undo_last
from slowwave.plans.waiting import waiting_approvals
from slowwave.store.connect import Store
from slowwave.surfaces.api.plan import NightPlan
from slowwave.surfaces.review_page.desk import Desk
from tests.memories import ask, behind_triggers
from tests.night.test_answers import towns
from tests.permitting import sign_session
from tests.plans.review.reviews import captains


@pytest.mark.slow
def test_session_is_signed_as_it_was_shown_or_not_at_all(store: Store) -> None:
    """An answer after the list was shown changes its name; then each plan of the session has one approval or rejections of its own."""
    plan = towns(store, "Porto", "Lisbon")
    plan.answer(plan.questions[0], "this", "mara")
    shown = session_digest(read_session(store, "acme", plan.hash))
    made = plan.answer(plan.questions[0], "other", "mara").amended
    assert made
    with pytest.raises(Refused, match="have changed since"):
        sign_session(store, "acme", plan.hash, reviewer="mara", shown=shown)
    assert ask(store, "SELECT count(*) FROM night.review_signatures") == [(0,)]
    again = session_digest(read_session(store, "acme", plan.hash))
    done = sign_session(store, "acme", plan.hash, reviewer="mara", shown=again)
    assert [(s.plan_hash, s.approved, s.rejected) for s in done] == [(plan.hash, 0, 1), (made.plan_hash, 1, 0)]


@pytest.mark.slow
def test_session_is_approved_whole_or_not_at_all_if_one_plan_fails_its_probes(store: Store) -> None:
    """A refusal of the last plan leaves all plans and answers as they were; with force all are approved, and applied in their order."""
    plan = NightPlan("acme", captains(store, 5).plan_hash, store)
    first, *others = plan.questions
    plan.answer(first, "this", "mara")
    made = [amended.plan_hash for item in others if (amended := plan.answer(item, "other", "mara").amended)]
    assert len(made) == 4
    last = made[-1]
    behind_triggers(
        store,
        "UPDATE night.plans SET probes = '{}', summary = '{\"needs_force\": [\"Recall fell.\"]}' WHERE plan_hash = %s",
        last,
    )
    behind_triggers(
        store, "UPDATE night.plans SET seal = night.plan_seal(plan_hash, namespace_id, expires_at, probes, summary)"
    )
    before = _state(store), session_digest(read_session(store, "acme", plan.hash))
    with pytest.raises(
        ProbesFailed, match=rf"^Plan {last[:12]} .*Recall fell.*the 5 plans .* `slowwave plans review acme {last[:12]} "
    ):
        sign_session(store, "acme", plan.hash, reviewer="mara", include_decided=False)
    assert (_state(store), session_digest(read_session(store, "acme", plan.hash))) == before
    for table in ("approvals", "rejections", "review_signatures"):
        assert ask(store, f"SELECT count(*) FROM night.{table}") == [(0,)]

    undo_last(store, "acme", last, reviewer="mara")
    assert read_drafts(store, "acme", last) == {}, "the question can be answered again"
    (stored,) = next(s.open for s in read_session(store, "acme", plan.hash) if s.plan.plan_hash == last)
    NightPlan("acme", last, store).answer(stored.id, "yes", "mara")
    done = sign_session(
        store, "acme", plan.hash, reviewer="mara", include_decided=False, force=True, note="I know them."
    )
    assert [(s.plan_hash, s.approved, s.rejected) for s in done] == [(plan.hash, 1, 4), *((p, 1, 0) for p in made)]
    # The first approval is stored again as the last row, so the order cannot come from where rows are stored.
    behind_triggers(
        store,
        "WITH gone AS (DELETE FROM night.approvals WHERE plan_hash = %s RETURNING *) INSERT INTO night.approvals SELECT * FROM gone",
        plan.hash,
    )
    approvals = [s.approval_id for s in done]
    assert [approval for approval, _ in waiting_approvals(store, "acme")] == approvals
    assert [one.approval_id for one in Desk(store).signed(plan.hash)[0]] == approvals


def _state(store: Store) -> list[tuple[object, ...]]:
    """Return the state of every plan with the status of every item."""
    return ask(
        store,
        "SELECT p.plan_hash, p.state, i.item_id::text, i.status FROM night.plans p JOIN night.plan_items i USING (plan_hash) ORDER BY 1, 3",
    )
