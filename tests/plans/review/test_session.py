"""A session: a plan with the plans that came of its answers, signed together, and only as it was shown."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.plans.review.drafts import read_session, session_digest
from slowwave.store.connect import Store
from tests.memories import ask
from tests.night.test_answers import towns
from tests.permitting import sign_session


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
