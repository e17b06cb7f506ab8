"""A database that was in use before the gate moved into it: its plans are sealed as they are, and what was signed stays on record."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from alembic import command
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.plans.seal import Header, plan_hash
from slowwave.store import migrate as migrations
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import migrate
from slowwave.store.server import create_database
from tests.memories import ask

NAMESPACE = str(uuid.uuid4())
PLAN = plan_hash(Header(NAMESPACE, "old", "s", "f"), [])

OLD = f"""
INSERT INTO memory.namespaces (id, slug) VALUES ('{NAMESPACE}', 'old');
INSERT INTO night.plans (plan_hash, namespace_id, run_id, snapshot_id, settings_fingerprint, state, expires_at, header, probes, summary)
VALUES ('{PLAN}', '{NAMESPACE}', gen_random_uuid(), 's', 'f', 'approved', now() + interval '7 days',
  '{{"namespace_id": "{NAMESPACE}", "namespace": "old", "snapshot_id": "s", "settings_fingerprint": "f"}}', '{{"recall": {{"low": 1e-7}}}}',
  '{{"needs_force": []}}');
INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at)
SELECT gen_random_uuid(), namespace_id, plan_hash, name, 'cli', ARRAY[gen_random_uuid()], now() + interval '30 days'
FROM night.plans, (VALUES ('mara'), (' ')) AS n (name);
"""


@pytest.fixture
def old(postgres: server.Server) -> Iterator[Store]:
    """A database as the revision before left it, with a plan that a person and a blank name had signed."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        create_database(postgres.url, name)
        store = Store.embedded_in(postgres.url(name), postgres.home)
        engine = create_engine(store.sqlalchemy_url(), poolclass=NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE SCHEMA night")
            config = migrations._config()
            config.attributes["connection"] = connection
            command.upgrade(config, "0002")
        with psycopg.connect(postgres.url(name), autocommit=True) as owner:
            owner.execute(OLD.encode())
        yield store
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_what_was_planned_and_signed_before_is_sealed_as_it_is(old: Store) -> None:
    """Approvals carry the seal of their plan, what a blank name signed among them; and nobody signs so from now on."""
    migrate(old)
    assert ask(
        old,
        "SELECT DISTINCT a.seal = p.seal AND p.seal = night.plan_seal(p.plan_hash, p.namespace_id, p.expires_at, p.probes, p.summary) "
        "FROM night.approvals a JOIN night.plans p USING (plan_hash)",
    ) == [(True,)]
    assert ask(old, "SELECT approver FROM night.approvals ORDER BY 1") == [(" ",), ("mara",)]
    with old.connect("owner") as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        connection.execute("UPDATE night.approvals SET approver = 'eve'")
    with old.connect("approver") as connection, pytest.raises(psycopg.errors.Error):
        connection.execute(
            "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at) "
            "SELECT gen_random_uuid(), namespace_id, plan_hash, '', 'cli', item_ids, now() FROM night.approvals"
        )


def test_an_approval_from_before_that_names_nobody_is_not_applied(old: Store) -> None:
    """It is looked at again when it is applied."""
    migrate(old)
    ((approval,),) = ask(old, "SELECT id::text FROM night.approvals WHERE approver = ' '")
    with pytest.raises(Refused, match="names nobody"):
        apply_approval(old, str(approval))
