"""What an attacker tries on drafts and signatures who holds a login: only the approver's adds to them, and nobody changes what is there."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.plans.review.drafts import NewDraft, save_drafts
from slowwave.store.connect import Store
from slowwave.store.logins import ROLES
from tests.permitting import sign
from tests.plans.review.reviews import Review, asking

CHANGES = (
    "UPDATE night.review_drafts SET verdict = 'yes'",
    "UPDATE night.review_drafts SET reviewer = 'jon'",
    "DELETE FROM night.review_drafts",
    "TRUNCATE night.review_drafts CASCADE",
    "UPDATE night.review_signatures SET last_draft = 0",
    "DELETE FROM night.review_signatures",
    "TRUNCATE night.review_signatures",
)


@pytest.fixture
def review(store: Store) -> Review:
    """One draft, and a signature under another one."""
    found = asking(store)
    save_drafts(store, found.slug, found.hash, [NewDraft(found.asked[0], "yes")], reviewer="mara")
    sign(store, found.slug, found.hash, reviewer="mara", include_decided=False)
    save_drafts(store, found.slug, found.hash, [NewDraft(found.asked[1], "no")], reviewer="mara")
    return found


def _additions(review: Review) -> tuple[str, str]:
    about = f"'{review.world.namespace_id}', '{review.hash}'"
    return (
        "INSERT INTO night.review_drafts (namespace_id, plan_hash, item_id, verdict, reviewer) "
        f"VALUES ({about}, '{review.asked[2]}', 'yes', 'jon')",
        f"INSERT INTO night.review_signatures (namespace_id, plan_hash, signed_by, rejected) VALUES ({about}, 'jon', 1)",
    )


@pytest.mark.parametrize("role", [role for role in ROLES if role != "approver"])
def test_no_other_login_reads_adds_or_changes(review: Review, role: str) -> None:
    reads = ("SELECT note FROM night.review_drafts", "SELECT signed_by FROM night.review_signatures")
    with psycopg.connect(review.store.logins[role], autocommit=True) as attacker:
        for attempt in (*reads, *_additions(review), *CHANGES):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                attacker.execute(attempt.encode())


@pytest.mark.parametrize("role", ["approver", "owner"])
def test_what_was_said_and_signed_is_changed_by_nobody(review: Review, role: str) -> None:
    """The approver has no right to it, and the triggers hold whoever has."""
    with review.store.connect(role) as connection:  # type: ignore[arg-type]
        for attempt in CHANGES:
            with pytest.raises(psycopg.Error) as told, connection.transaction():
                connection.execute(attempt.encode())
            assert isinstance(told.value, psycopg.errors.InsufficientPrivilege) or "append-only" in str(told.value)


def test_the_approver_s_login_says_nothing_that_is_not_so(review: Review) -> None:
    """By hand, past the library: instants and ids of its own, another's draft taken back, an approval that there is not, a plan that is
    over."""
    about = f"'{review.world.namespace_id}', '{review.hash}', '{review.asked[1]}'"
    draft = "INSERT INTO night.review_drafts (namespace_id, plan_hash, item_id, verdict, reviewer"
    signature = (
        "INSERT INTO night.review_signatures (namespace_id, plan_hash, approval_id, signed_by, approved, rejected"
    )
    plan = f"'{review.world.namespace_id}', '{review.hash}'"
    attempts = (
        f"{draft}, id) VALUES ({about}, 'yes', 'jon', 1000000)",
        f"{draft}, recorded_at) VALUES ({about}, 'yes', 'jon', now() - interval '1 day')",
        f"{draft}, undoes) VALUES ({about}, 'yes', 'jon', (SELECT max(id) FROM night.review_drafts))",
        f"{draft}) VALUES ('{review.world.namespace_id}', '{review.hash}', '{review.asked[0]}', 'no', 'jon')",
        f"{draft}) VALUES ('{review.world.namespace_id}', '{review.hash}', gen_random_uuid(), 'yes', 'jon')",
        f"{draft}) VALUES (gen_random_uuid(), '{review.hash}', '{review.asked[1]}', 'yes', 'jon')",
        f"{draft}) VALUES ({about}, 'perhaps', 'jon')",
        f"{draft}) VALUES ({about}, 'yes', 'Policy')",
        f"{signature}) VALUES ({plan}, gen_random_uuid(), 'jon', 1, 0)",
        f"{signature}) VALUES ({plan}, (SELECT id FROM night.approvals LIMIT 1), 'jon', 1, 0)",
        f"{signature}) VALUES ({plan}, (SELECT id FROM night.approvals LIMIT 1), 'mara', 7, 0)",
        f"{signature}, last_draft) VALUES ({plan}, NULL, 'jon', 0, 1, 9)",
        f"{signature}) VALUES ({plan}, NULL, 'jon', 0, 0)",
    )
    with psycopg.connect(review.store.logins["approver"], autocommit=True) as approver:
        for attempt in attempts:
            with pytest.raises(psycopg.Error):
                approver.execute(attempt.encode())
        approver.execute(_additions(review)[0].encode())
        approver.execute("UPDATE night.plans SET state = 'rejected' WHERE plan_hash = %s", (review.hash,))
        with pytest.raises(psycopg.Error, match="can still be reviewed"):
            approver.execute(_additions(review)[0].encode())
