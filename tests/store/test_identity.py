"""Which database this is."""

from __future__ import annotations

import re

import pytest

from slowwave.errors import StoreError
from slowwave.store import server
from slowwave.store.connect import Store, identity
from tests.dreamers import copied
from tests.memories import ask


def test_a_database_keeps_its_identity_and_a_copy_has_another(
    store: Store, postgres: server.Server, database: str
) -> None:
    """The copy has the same id in its table; by the id alone they would be one."""
    own = identity(store)
    assert re.fullmatch("[0-9a-f]{16}", own)
    with copied(postgres, database) as copy:
        ids = "SELECT id FROM night.store"
        assert ask(copy, ids) == ask(store, ids)
        assert identity(copy) != own
    assert identity(store) == own


def test_a_store_without_its_id_is_told(store: Store) -> None:
    """Its files could be anybody's."""
    ask(store, "DELETE FROM night.store")
    with pytest.raises(StoreError, match="lost its id"):
        identity(store)
    with pytest.raises(Exception, match="permission denied"), store.connect("planner") as connection:
        connection.execute("INSERT INTO night.store (id) VALUES (gen_random_uuid())")
