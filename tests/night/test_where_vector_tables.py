"""Plans on tables of texts and vectors, by their built-in bindings, from the night to the undo, with what their clients find."""

from __future__ import annotations

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings.clients import KEY, digest_of, run_as_owner
from tests.bindings.vector_tables import ANNA, BEN, TABLES, fill
from tests.permitting import approve

TEA = "Anna prefers tea over coffee"


@pytest.mark.parametrize("shape", list(TABLES))
def test_its_client_finds_what_should_be_there_before_between_and_after(store: Store, shape: str) -> None:
    """The duplicate is found once and the secret no more; what the client adds and deletes stays so; undo gives every row back."""
    table = TABLES[shape](store)
    kind = table.kind
    fill(table)
    before = digest_of(store, table.name)
    found = connect_store(store, kind, parameters=table.parameters, grant=True)
    assert found.rows is not None
    assert (found.rows.rows, found.rows.without_namespace, found.namespaces) == (114, 0, 2)
    assert found.version == ("langchain-postgres 0.0, PGVector" if kind == "langchain" else "")
    assert let_write(store, kind, grant=True) == []
    (slug,) = [name for name in namespaces(store) if name.endswith(f"-{ANNA}")]
    night = run_night(store, slug)
    assert night.plan is not None
    teas = sorted(t for t in table.find(TEA, ANNA, 10) if t.startswith(TEA))
    assert teas == [TEA, f"{TEA}."]
    assert any(KEY in text for text in table.find("The billing API key", ANNA, 3))
    others = table.find(TEA, BEN, 100)
    approval = approve(
        store, slug, night.plan.plan_hash, approver="mara", force=True, note="a test", include_review=True
    )
    result = apply_approval(store, approval.id)
    assert result.counts["applied"] == len(night.plan.items)
    assert len([t for t in table.find(TEA, ANNA, 10) if t.startswith(TEA)]) == 1
    assert not any(KEY in text for text in table.find("The billing API key", ANNA, 100))
    bees = table.add(["Anna keeps bees"], ANNA)
    assert table.find("Anna keeps bees", ANNA, 1) == ["Anna keeps bees"]
    table.delete(bees)
    assert "Anna keeps bees" not in table.find("Anna keeps bees", ANNA, 100)
    undo_run(store, result.run_id)
    assert digest_of(store, table.name) == before
    assert sorted(t for t in table.find(TEA, ANNA, 10) if t.startswith(TEA)) == teas
    assert table.find(TEA, BEN, 100) == others


@pytest.mark.parametrize("shape", list(TABLES))
def test_a_column_more_is_refused_by_its_name(store: Store, shape: str) -> None:
    """Whether the table is one that is known or one's own: what was connected is what may be written."""
    table = TABLES[shape](store)
    kind = table.kind
    fill(table, 10)
    connect_store(store, kind, parameters=table.parameters, grant=True)
    run_as_owner(store, f"ALTER TABLE {table.name} ADD COLUMN mood text")
    with pytest.raises(Refused, match="mood text, which is new"):
        let_write(store, kind, grant=True)
