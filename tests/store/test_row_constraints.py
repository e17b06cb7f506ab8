"""Row constraints: a store may hold older rows that break one, `doctor` names them, and new rows are refused."""

from __future__ import annotations

import uuid

import psycopg
import pytest

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.plans.seal import Header, plan_hash
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.migrate import migrate
from tests.memories import ask, remember

NAMESPACE = str(uuid.uuid4())
PLAN = plan_hash(Header(NAMESPACE, "old", "s", "f"), [])

UNSURE = f"""
INSERT INTO memory.namespaces (id, slug) VALUES ('{NAMESPACE}', 'old');
ALTER TABLE memory.entities DROP CONSTRAINT entities_confidence_is_a_share;
INSERT INTO memory.entities (id, namespace_id, entity_type, name, confidence)
SELECT gen_random_uuid(), '{NAMESPACE}', 'tool', 'n', c FROM unnest(ARRAY[0.5, 1.5, 7]) AS c;
ALTER TABLE memory.entities ADD CONSTRAINT entities_confidence_is_a_share CHECK (confidence BETWEEN 0 AND 1) NOT VALID;
"""

NAMELESS = f"""
INSERT INTO memory.namespaces (id, slug) VALUES ('{NAMESPACE}', 'old');
INSERT INTO night.plans (plan_hash, namespace_id, run_id, snapshot_id, settings_fingerprint, state, expires_at, header, probes, summary)
VALUES ('{PLAN}', '{NAMESPACE}', gen_random_uuid(), 's', 'f', 'awaiting_approval', now() + interval '7 days',
  '{{"namespace_id": "{NAMESPACE}", "namespace": "old", "snapshot_id": "s", "settings_fingerprint": "f"}}', '{{"recall": {{"low": 1e-7}}}}',
  '{{"needs_force": []}}');
ALTER TABLE night.approvals DROP CONSTRAINT approvals_approver, DISABLE TRIGGER checked;
INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at, seal)
SELECT gen_random_uuid(), namespace_id, plan_hash, ' ', 'cli', ARRAY[gen_random_uuid()], now() + interval '7 days', seal FROM night.plans;
ALTER TABLE night.approvals ENABLE TRIGGER checked,
  ADD CONSTRAINT approvals_approver CHECK (approver ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{{1,63}}$') NOT VALID;
"""


def test_older_rows_that_break_a_constraint_are_named_and_can_be_corrected(store: Store) -> None:
    """The doctor counts them, shows how to find them, and prints the statement that validates the constraint afterwards."""
    with store.connect("owner") as owner:
        owner.execute(UNSURE.encode())
    migrate(store)
    (found,) = [d for d in diagnose(store) if "entities_confidence_is_a_share" in d.finding]
    assert not found.problem
    assert "2 rows of memory.entities" in found.finding
    query = found.finding.split(": ", 1)[1].removesuffix(".")
    assert len(ask(store, query)) == 2
    with store.connect("owner") as owner:
        with pytest.raises(psycopg.errors.CheckViolation):
            owner.execute(found.statements[0].encode())
        owner.execute("UPDATE memory.entities SET confidence = 1 WHERE confidence > 1")
        owner.execute(found.statements[0].encode())
    assert not any("constraint" in d.finding for d in diagnose(store))


def test_an_older_approval_without_a_name_is_not_applied(store: Store) -> None:
    """It stays on record, and apply checks the name again."""
    with store.connect("owner") as owner:
        owner.execute(NAMELESS.encode())
    ((approval,),) = ask(store, "SELECT id::text FROM night.approvals WHERE approver = ' '")
    with pytest.raises(Refused, match="names nobody"):
        apply_approval(store, str(approval))
    with store.connect("owner") as owner, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        owner.execute("UPDATE night.approvals SET approver = 'eve'")


def test_a_store_whose_rows_hold_is_validated_at_once(store: Store) -> None:
    """Nobody has to run anything; a constraint that is taken back and made anew is said to be open, without a row that breaks it."""
    assert ask(store, "SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND NOT convalidated") == [(0,)]
    with store.connect("owner") as owner:
        owner.execute("ALTER TABLE memory.relationships DROP CONSTRAINT relationships_weight_is_not_negative")
        owner.execute("ALTER TABLE memory.relationships ADD CONSTRAINT weighed CHECK (weight >= 0) NOT VALID")
    (found,) = diagnose(store)
    assert "no row breaks it" in found.finding
    assert found.statements == ("ALTER TABLE memory.relationships VALIDATE CONSTRAINT weighed",)


@pytest.mark.parametrize(
    ("table", "broken"),
    [
        ("entities", "confidence = 1.5"),
        ("entities", "confidence = 'NaN'"),
        ("entities", "merged_into = id"),
        ("entities", "valid_from = now(), valid_to = now() - interval '1 day'"),
        ("relationships", "weight = -0.1"),
        ("memories", "valid_from = now(), valid_to = now() - interval '1 day'"),
    ],
)
def test_new_rows_and_changes_are_held(store: Store, table: str, broken: str) -> None:
    """By the database, whoever writes."""
    remember(
        store,
        "acme",
        entities=[{"id": n, "entity_type": "tool", "name": n} for n in "ab"],
        relationships=[{"id": "r", "source_entity_id": "a", "target_entity_id": "b", "relationship_type": "X"}],
        memories=[{"id": "m", "kind": "episodic"}],
    )
    with store.connect("owner") as owner, pytest.raises(psycopg.errors.CheckViolation):
        owner.execute(f"UPDATE memory.{table} SET {broken}".encode())
