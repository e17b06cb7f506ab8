"""Review items from before they had a code: those that wait get theirs from what they would do, and from their sentence."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from alembic import command
from psycopg.types.json import Jsonb
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from slowwave.store import migrate as migrations
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import migrate
from slowwave.store.server import create_database
from tests.memories import ask

NAMESPACE = str(uuid.uuid4())
OLD = f"""
INSERT INTO memory.namespaces (id, slug) VALUES ('{NAMESPACE}', 'old');
INSERT INTO night.plans (plan_hash, namespace_id, run_id, snapshot_id, settings_fingerprint, state, expires_at)
VALUES ('plan', '{NAMESPACE}', gen_random_uuid(), 's', 'f', 'awaiting_approval', now() + interval '7 days');
"""
ITEMS = [
    ("dedupe_entities", "merge_rows", {}, "Are these rows one thing?", "review", "same"),
    ("dedupe_entities", "merge_rows", {}, "Would lose 5 of row 7.", "review", "value_lost"),
    ("dedupe_entities", "merge_rows", {}, "", "merge", ""),
    ("supersede_facts", "invalidate_rows", {"earlier": "a", "later": "b"}, "Has it?", "review", "which_is_right"),
    ("resolve_conflicts", "invalidate_rows", {"winner_id": "a"}, "Which?", "review", "which_is_right"),
    ("redact_or_quarantine", "set_state", {}, "Should this leave recall?", "review", "secret"),
    ("prune_edges", "invalidate_rows", {}, "May this row go?", "review", "delete"),
    ("normalize_schema", "rename_type", {}, "May this be changed?", "review", "change"),
]


@pytest.fixture
def old(postgres: server.Server) -> Iterator[Store]:
    """A database as the revision before left it, with a plan that waits."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        create_database(postgres.url, name)
        store = Store.embedded_in(postgres.url(name), postgres.home)
        engine = create_engine(store.sqlalchemy_url(), poolclass=NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE SCHEMA night")
            config = migrations._config()
            config.attributes["connection"] = connection
            command.upgrade(config, "0030")
        with psycopg.connect(postgres.url(name), autocommit=True) as owner:
            owner.execute(OLD.encode())
            for n, (operation, kind, evidence, reason, decision, _) in enumerate(ITEMS):
                owner.execute(
                    "INSERT INTO night.plan_items (plan_hash, item_id, namespace_id, ordinal, operation, decision, risk, reason, mutation, "
                    "evidence) VALUES ('plan', gen_random_uuid(), %s, %s, %s, %s, 'high', %s, %s, %s)",
                    (NAMESPACE, n, operation, decision, reason, Jsonb({"kind": kind}), Jsonb({"evidence": evidence})),
                )
        yield store
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_what_waits_gets_the_code_of_its_question(old: Store) -> None:
    """What is decided by the plan itself asks nothing."""
    migrate(old)
    found = [code for (code,) in ask(old, "SELECT question FROM night.plan_items ORDER BY ordinal")]
    assert found == [code for *_, code in ITEMS], json.dumps(found)
